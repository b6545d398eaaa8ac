//===- AST.h - the parsed form of a .stg file ------------------------------===//
// One struct per construct of grammar/Stg.g4. Nodes live in an ASTContext's arena, are immutable after parsing and
// hold only pointers and slices into that arena (no destructors run). Every node has the byte range it came from.
// Nothing is resolved here: names are text.
//===----------------------------------------------------------------------===//
#ifndef STG_SYNTAX_AST_H
#define STG_SYNTAX_AST_H

#include "stg/Support/SourceManager.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/Casting.h"
#include <cstdint>
#include <optional>

namespace stg::ast {

/// An identifier as written.
struct Name {
  llvm::StringRef text;
  SourceRange range;
  bool empty() const { return text.empty(); }
};

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

enum class ExprKind : uint8_t {
  Int,
  Float,
  String,
  Bool,
  None,
  Path,
  Call,
  List,
  Tuple,
  Index,
  View,
  Unary,
  Chain,
  Binary,
  Reduce,
  If
};

struct Expr {
  ExprKind kind;
  SourceRange range;
};

/// `1_000`, `8Ki`, `25MB`. `value` is absent when the literal does not fit 63 bits (reported by the parser).
/// A suffix that names no number (`8K`) is reported by the parser as E101 and read as 1024-based.
struct IntLit : Expr {
  std::optional<int64_t> value;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Int; }
};
struct FloatLit : Expr {
  double value;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Float; }
};
/// `value` has its quotes removed and its escapes resolved.
struct StringLit : Expr {
  llvm::StringRef value;
  static bool classof(const Expr *e) { return e->kind == ExprKind::String; }
};
struct BoolLit : Expr {
  bool value;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Bool; }
};
struct NoneLit : Expr {
  static bool classof(const Expr *e) { return e->kind == ExprKind::None; }
};
/// `x`, `m.llama3_8b`.
struct PathExpr : Expr {
  llvm::ArrayRef<Name> parts;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Path; }
};

struct Arg {
  Name name; ///< empty for a bare argument
  const Expr *value;
  bool afterSemicolon; ///< stands after the `;`, i.e. is a static argument
  SourceRange range;
};
/// `attn: gqa(x; H, KV = 8)`. Without a `;` every argument has `afterSemicolon == false`.
struct CallExpr : Expr {
  Name label; ///< empty if unlabelled
  llvm::ArrayRef<Name> callee;
  llvm::ArrayRef<Arg> args;
  bool hasSemicolon;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Call; }
};
/// `[a, b]`, or `[a .. b]` when `rangeEnd` is set (then one element).
struct ListExpr : Expr {
  llvm::ArrayRef<const Expr *> elements;
  const Expr *rangeEnd;
  static bool classof(const Expr *e) { return e->kind == ExprKind::List; }
};
/// `(H, Dh)`: two or more; a single expression in parentheses is that expression.
struct TupleExpr : Expr {
  llvm::ArrayRef<const Expr *> elements;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Tuple; }
};
/// `xs[i]`, `blocks[k].v`.
struct IndexExpr : Expr {
  const Expr *base;
  const Expr *index;
  llvm::ArrayRef<Name> members;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Index; }
};
struct ViewDim {
  llvm::ArrayRef<Name> names; ///< one name, or the factors of `(KV, R)`, major first
  bool composite;
  SourceRange range;
};
struct ViewItem {
  ViewDim from, to;
  SourceRange range;
};
/// `x[S as T, H as (KV, R)]`.
struct ViewExpr : Expr {
  const Expr *base;
  llvm::ArrayRef<ViewItem> items;
  static bool classof(const Expr *e) { return e->kind == ExprKind::View; }
};
enum class UnaryOp : uint8_t { Neg, Not };
struct UnaryExpr : Expr {
  UnaryOp op;
  const Expr *operand;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Unary; }
};
enum class ChainOp : uint8_t { Add, Sub, Mul, Div, FloorDiv, Mod };
struct ChainTerm {
  ChainOp op; ///< how it joins what stands before; the first term has Add or Mul
  SourceRange opRange;
  const Expr *value;
};
/// A flat chain of `+ -`, or of `* / // %`; two or more terms, left to right. Flat, so that 100,000 terms need no
/// deep recursion, and because a sum is one n-ary operator of the language.
struct ChainExpr : Expr {
  llvm::ArrayRef<ChainTerm> terms;
  bool isSum() const { return terms[1].op == ChainOp::Add || terms[1].op == ChainOp::Sub; }
  static bool classof(const Expr *e) { return e->kind == ExprKind::Chain; }
};
enum class BinaryOp : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, In, And, Or };
struct BinaryExpr : Expr {
  BinaryOp op;
  SourceRange opRange;
  const Expr *lhs, *rhs;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Binary; }
};
enum class Reduction : uint8_t { Sum, Mean, Max, Min, Prod, Softmax, Each };
/// `sum(D, F) e`; `each(E) lab: f(x)`.
struct ReduceExpr : Expr {
  Reduction op;
  llvm::ArrayRef<Name> dims;
  bool ellipsis;         ///< `sum(...) e`: over all dims
  SourceRange headRange; ///< `sum(D, F)`
  const Expr *operand;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Reduce; }
};
struct IfExpr : Expr {
  const Expr *cond, *thenValue, *elseValue;
  static bool classof(const Expr *e) { return e->kind == ExprKind::If; }
};

//===----------------------------------------------------------------------===//
// Types and signatures
//===----------------------------------------------------------------------===//

struct DimPart {
  Name name;
  bool optional; ///< `g?`: may be absent (size 1)
};
/// One entry of `[b, ..., (g, r), t?]`.
struct Dim {
  bool ellipsis;
  bool composite;
  llvm::ArrayRef<DimPart> parts; ///< one, or the factors of a composite, major first; none for `...`
  SourceRange range;
};
struct Dims {
  llvm::ArrayRef<Dim> dims;
  SourceRange range;
};
/// A tensor parameter `x[..., D]: i32 ?`.
struct TensorParam {
  Name name;
  Dims dims;
  Name dtype;    ///< empty if not written
  bool optional; ///< may be `none`
  SourceRange range;
};
/// A static parameter `F: dim = 4 * D`.
struct StaticParam {
  Name name;
  Name type;         ///< empty if not written
  const Expr *value; ///< default, or null
  SourceRange range;
};
/// An output `o[b, s, d]: f32`.
struct Out {
  Name name; ///< empty if unnamed
  Dims dims;
  Name dtype;
  SourceRange range;
};

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

enum class StmtKind : uint8_t {
  Let,
  Factor,
  Require,
  Input,
  Weight,
  State,
  Share,
  Repeat,
  Unit,
  If,
  Return,
  Loss,
  Output,
  Assign
};
struct Stmt {
  StmtKind kind;
  SourceRange range;
};
struct Block {
  llvm::ArrayRef<const Stmt *> stmts;
  SourceRange range;
};
struct Bind {
  Name name;
  const Expr *value;
  llvm::ArrayRef<Name> from; ///< `let C = e from (B, S)`
  SourceRange range;
};
struct LetStmt : Stmt {
  llvm::ArrayRef<Bind> binds;
  static bool classof(const Stmt *s) { return s->kind == StmtKind::Let; }
};
struct FactorStmt : Stmt {
  Name dim;
  llvm::ArrayRef<Name> parts; ///< major first
  static bool classof(const Stmt *s) { return s->kind == StmtKind::Factor; }
};
struct RequireStmt : Stmt {
  const Expr *cond;
  const StringLit *message; ///< may be null
  static bool classof(const Stmt *s) { return s->kind == StmtKind::Require; }
};
struct Decl {
  Name name;
  Dims dims;
  Name dtype;
  SourceRange range;
};
/// `input`, `weight` and `state`.
struct DeclStmt : Stmt {
  llvm::ArrayRef<Decl> decls;
  static bool classof(const Stmt *s) {
    return s->kind == StmtKind::Input || s->kind == StmtKind::Weight || s->kind == StmtKind::State;
  }
};
struct ShareStmt : Stmt {
  Name name;
  const Expr *value;
  static bool classof(const Stmt *s) { return s->kind == StmtKind::Share; }
};
struct RepeatStmt : Stmt {
  const Expr *count;
  Name name;
  Name index; ///< empty if not named
  Block body;
  static bool classof(const Stmt *s) { return s->kind == StmtKind::Repeat; }
};
struct UnitStmt : Stmt {
  Name name;
  Block body;
  static bool classof(const Stmt *s) { return s->kind == StmtKind::Unit; }
};
struct IfStmt : Stmt {
  const Expr *cond;
  Block thenBlock;
  bool hasElse;
  Block elseBlock; ///< `else if` is an else block that holds one IfStmt
  static bool classof(const Stmt *s) { return s->kind == StmtKind::If; }
};
struct ReturnStmt : Stmt {
  llvm::ArrayRef<const Expr *> values;
  static bool classof(const Stmt *s) { return s->kind == StmtKind::Return; }
};
struct LossStmt : Stmt {
  const Expr *value;
  static bool classof(const Stmt *s) { return s->kind == StmtKind::Loss; }
};
struct OutputStmt : Stmt {
  llvm::ArrayRef<Name> names;
  static bool classof(const Stmt *s) { return s->kind == StmtKind::Output; }
};
struct Target {
  Name name;
  bool hasDims;
  Dims dims;
  Name dtype;
  SourceRange range;
};
struct AssignStmt : Stmt {
  llvm::ArrayRef<Target> targets;
  const Expr *value;
  static bool classof(const Stmt *s) { return s->kind == StmtKind::Assign; }
};

//===----------------------------------------------------------------------===//
// Op bodies
//===----------------------------------------------------------------------===//

/// `s: halo(k - 1, 0) along p`, `(b, s): carry(c)`.
struct KindOf {
  llvm::ArrayRef<Name> dims;
  Name kind;
  llvm::ArrayRef<const Expr *> args;
  Name along; ///< empty if not written
  SourceRange range;
};

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

struct KeyValue {
  Name key;
  const Expr *value;
  SourceRange range;
};
struct Options {
  bool present;
  llvm::ArrayRef<KeyValue> items;
  SourceRange range;
};
/// `ring`, `two_level(node = 8)`, `interleaved_1f1b(chunks)`.
struct Config {
  Name name;
  llvm::ArrayRef<Arg> args;
  SourceRange range;
};
enum class SelIndex : uint8_t { None, All, One, Range };
/// `blocks[0..4 by 2]`, `*`, `attn[*]`.
struct SelPart {
  Name name; ///< `*` for any
  SelIndex indexKind;
  const Expr *first, *last, *step; ///< null where not written
  SourceRange range;
};
struct Selector {
  llvm::ArrayRef<SelPart> parts;
  SourceRange range;
};
struct Axis {
  Name name;
  bool fill;        ///< `dp = *`
  const Expr *size; ///< null: not written (a parameter of that name) or filled
  SourceRange range;
};
enum class SplitMode : uint8_t { Exact, OrReplicate, Pad, Zigzag };
struct SplitDim {
  Name name;
  bool optional;
  SplitMode mode;
  SourceRange range;
};
enum class StoreWhat : uint8_t { Params, Grads, Optimizer, Gathered };
enum class RecomputeWhat : uint8_t { All, None, Selected };
enum class CutKind : uint8_t { Even, Balanced, List };
struct StageUnit {
  llvm::ArrayRef<Name> path;
  const Expr *count; ///< null: one
  SourceRange range;
};
struct StageGroup {
  llvm::ArrayRef<StageUnit> units;
  const Expr *count; ///< null: one
  SourceRange range;
};
/// One dim of a pinned layout, `B/dp/cp`.
struct LayoutDim {
  Name dim;
  llvm::ArrayRef<Name> axes;
};

enum class PlanItemKind : uint8_t {
  Let,
  Require,
  Include,
  If,
  Mesh,
  Fold,
  Split,
  Keep,
  Pin,
  Run,
  Fuse,
  Zero,
  Store,
  Recompute,
  Offload,
  Microbatch,
  Pipeline,
  Precision
};
struct PlanItem {
  PlanItemKind kind;
  SourceRange range;
};
struct PlanBlock {
  llvm::ArrayRef<const PlanItem *> items;
  SourceRange range;
};
struct PlanLet : PlanItem {
  llvm::ArrayRef<Bind> binds;
  static bool classof(const PlanItem *i) { return i->kind == PlanItemKind::Let; }
};
struct PlanRequire : PlanItem {
  const Expr *cond;
  const StringLit *message;
  static bool classof(const PlanItem *i) { return i->kind == PlanItemKind::Require; }
};
struct PlanInclude : PlanItem {
  const CallExpr *call;
  static bool classof(const PlanItem *i) { return i->kind == PlanItemKind::Include; }
};
struct PlanIf : PlanItem {
  const Expr *cond;
  PlanBlock thenBlock;
  bool hasElse;
  PlanBlock elseBlock;
  static bool classof(const PlanItem *i) { return i->kind == PlanItemKind::If; }
};
struct PlanMesh : PlanItem {
  llvm::ArrayRef<Axis> axes; ///< major to minor
  static bool classof(const PlanItem *i) { return i->kind == PlanItemKind::Mesh; }
};
struct PlanFold : PlanItem {
  Name name;
  llvm::ArrayRef<Name> over;
  llvm::ArrayRef<Axis> axes;
  static bool classof(const PlanItem *i) { return i->kind == PlanItemKind::Fold; }
};
struct PlanSplit : PlanItem {
  llvm::ArrayRef<SplitDim> dims;
  llvm::ArrayRef<Name> axes;
  llvm::ArrayRef<Selector> in;
  static bool classof(const PlanItem *i) { return i->kind == PlanItemKind::Split; }
};
struct PlanKeep : PlanItem {
  llvm::ArrayRef<Name> dims;
  llvm::ArrayRef<Selector> in;
  static bool classof(const PlanItem *i) { return i->kind == PlanItemKind::Keep; }
};
struct PlanPin : PlanItem {
  Selector tensor;
  llvm::ArrayRef<LayoutDim> dims;
  llvm::ArrayRef<Name> partial; ///< axes after `@`
  static bool classof(const PlanItem *i) { return i->kind == PlanItemKind::Pin; }
};
struct PlanRun : PlanItem {
  llvm::ArrayRef<Selector> what;
  Config as;
  static bool classof(const PlanItem *i) { return i->kind == PlanItemKind::Run; }
};
struct PlanFuse : PlanItem {
  llvm::ArrayRef<Selector> what;
  static bool classof(const PlanItem *i) { return i->kind == PlanItemKind::Fuse; }
};
struct PlanZero : PlanItem {
  const IntLit *stage;
  llvm::ArrayRef<Name> axes;
  llvm::ArrayRef<Selector> in;
  Options options;
  static bool classof(const PlanItem *i) { return i->kind == PlanItemKind::Zero; }
};
struct PlanStore : PlanItem {
  StoreWhat what;
  llvm::ArrayRef<Name> axes;
  llvm::ArrayRef<Selector> in;
  Options options;
  static bool classof(const PlanItem *i) { return i->kind == PlanItemKind::Store; }
};
struct PlanRecompute : PlanItem {
  RecomputeWhat what;
  llvm::ArrayRef<Selector> selectors;
  Options options;
  static bool classof(const PlanItem *i) { return i->kind == PlanItemKind::Recompute; }
};
struct PlanOffload : PlanItem {
  llvm::ArrayRef<Name> what;
  Name to;
  llvm::ArrayRef<Selector> in;
  Options options;
  static bool classof(const PlanItem *i) { return i->kind == PlanItemKind::Offload; }
};
struct PlanMicrobatch : PlanItem {
  const Expr *size;
  static bool classof(const PlanItem *i) { return i->kind == PlanItemKind::Microbatch; }
};
struct PlanPipeline : PlanItem {
  Name axis;
  std::optional<Config> schedule;
  SourceRange cutRange; ///< invalid: no `cut`
  CutKind cut;
  llvm::ArrayRef<StageGroup> stages;
  static bool classof(const PlanItem *i) { return i->kind == PlanItemKind::Pipeline; }
};
struct PlanPrecision : PlanItem {
  Options options;
  llvm::ArrayRef<Selector> in;
  static bool classof(const PlanItem *i) { return i->kind == PlanItemKind::Precision; }
};

//===----------------------------------------------------------------------===//
// Workloads
//===----------------------------------------------------------------------===//

enum class WorkItemKind : uint8_t { Let, Model, Plan, Mode, Sweep, Ranks, Routing, Set, Optimizer, Emit };
struct WorkItem {
  WorkItemKind kind;
  SourceRange range;
};
struct WorkLet : WorkItem {
  llvm::ArrayRef<Bind> binds;
  static bool classof(const WorkItem *i) { return i->kind == WorkItemKind::Let; }
};
/// `model m.llama3_8b(B = 8)` or `plan p.megatron`: a CallExpr or a PathExpr.
struct WorkUse : WorkItem {
  const Expr *value;
  static bool classof(const WorkItem *i) { return i->kind == WorkItemKind::Model || i->kind == WorkItemKind::Plan; }
};
enum class RunMode : uint8_t { Forward, Train, Prefill, Decode };
struct WorkMode : WorkItem {
  RunMode mode;
  Options options;
  static bool classof(const WorkItem *i) { return i->kind == WorkItemKind::Mode; }
};
struct SweepVar {
  Name name;
  const Expr *values;
  SourceRange range;
};
struct WorkSweep : WorkItem {
  llvm::ArrayRef<SweepVar> vars;
  const Expr *where; ///< may be null
  static bool classof(const WorkItem *i) { return i->kind == WorkItemKind::Sweep; }
};
struct WorkRanks : WorkItem {
  const Expr *count;
  static bool classof(const WorkItem *i) { return i->kind == WorkItemKind::Ranks; }
};
struct WorkRouting : WorkItem {
  Config config;
  llvm::ArrayRef<Selector> in;
  static bool classof(const WorkItem *i) { return i->kind == WorkItemKind::Routing; }
};
struct WorkSet : WorkItem {
  Selector target;
  const Expr *value;
  static bool classof(const WorkItem *i) { return i->kind == WorkItemKind::Set; }
};
struct WorkOptimizer : WorkItem {
  const Expr *value; ///< CallExpr or PathExpr; null for `none`
  llvm::ArrayRef<Selector> in;
  static bool classof(const WorkItem *i) { return i->kind == WorkItemKind::Optimizer; }
};
struct WorkEmit : WorkItem {
  Name format;
  Options options;
  static bool classof(const WorkItem *i) { return i->kind == WorkItemKind::Emit; }
};

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

enum class ItemKind : uint8_t { Use, Constant, Layer, Op, Optimizer, Model, Plan, Workload };
struct Item {
  ItemKind kind;
  SourceRange range;
  Name name;           ///< empty for `use`
  llvm::StringRef doc; ///< the `##` lines above it, marks removed, joined by newlines
};
/// `use std.{a, b}`, `use std.norm.{rmsnorm}`, `use models.llama3`, `use "x.stg" as m`.
struct UseItem : Item {
  llvm::ArrayRef<Name> path;  ///< empty for a file
  llvm::ArrayRef<Name> picks; ///< what stands in `.{...}`
  const StringLit *file;      ///< null for a path
  Name alias;
  static bool classof(const Item *i) { return i->kind == ItemKind::Use; }
};
struct ConstantItem : Item {
  const Expr *value;
  static bool classof(const Item *i) { return i->kind == ItemKind::Constant; }
};
/// Layers, ops, optimizers and models share a signature.
struct Signature {
  llvm::ArrayRef<TensorParam> tensors;
  llvm::ArrayRef<StaticParam> statics;
  llvm::ArrayRef<Out> outs;
};
struct LayerItem : Item { ///< layer, optimizer, model (the latter two without `outs`)
  Signature signature;
  Block body;
  static bool classof(const Item *i) {
    return i->kind == ItemKind::Layer || i->kind == ItemKind::Optimizer || i->kind == ItemKind::Model;
  }
};
struct OpItem : Item {
  Signature signature;
  llvm::ArrayRef<KindOf> kinds;
  const Expr *flops; ///< contraction FLOPs (multiply-add = 2), null if not written
  const Expr *other; ///< FLOPs outside model contractions (element-wise, recomputed), null if not written
  const Expr *bytes; ///< bytes moved, null: inputs + outputs
  const Expr *where; ///< null if not written
  llvm::ArrayRef<const LetStmt *> lets;
  bool hasSave; ///< `save` written; `save none` is present with no names
  llvm::ArrayRef<Name> save;
  bool hasDefine;
  Block define; ///< reference meaning
  enum class Grad : uint8_t { Missing, None, Block } gradKind;
  llvm::ArrayRef<Name> gradParams; ///< cotangents of the outputs
  Block grad;
  static bool classof(const Item *i) { return i->kind == ItemKind::Op; }
};
struct PlanItemDecl : Item {
  llvm::ArrayRef<StaticParam> statics;
  PlanBlock body;
  static bool classof(const Item *i) { return i->kind == ItemKind::Plan; }
};
struct WorkloadItem : Item {
  llvm::ArrayRef<StaticParam> statics;
  llvm::ArrayRef<const WorkItem *> items;
  static bool classof(const Item *i) { return i->kind == ItemKind::Workload; }
};

struct File {
  FileId id;
  int64_t edition;
  llvm::ArrayRef<const Item *> items;
};

/// Owns the memory of parsed files. Nodes may hold only trivially destructible members.
class ASTContext {
public:
  template <class T> T *make() {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (arena_.Allocate<T>()) T();
  }
  template <class T> llvm::ArrayRef<T> copy(llvm::ArrayRef<T> items) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (items.empty())
      return {};
    T *data = arena_.Allocate<T>(items.size());
    std::uninitialized_copy(items.begin(), items.end(), data);
    return {data, items.size()};
  }
  llvm::StringRef copy(llvm::StringRef text) {
    auto bytes = copy(llvm::ArrayRef<char>(text.data(), text.size()));
    return {bytes.data(), bytes.size()};
  }

private:
  llvm::BumpPtrAllocator arena_;
};

} // namespace stg::ast

#endif
