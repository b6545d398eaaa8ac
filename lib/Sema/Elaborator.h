//===- Elaborator.h - from declarations to units and bodies ----------------===//
// Evaluates a model by walking its statements: static expressions are decided, layers are inlined, tensors become
// values of the open unit (UnitBuilder). The same walk checks a declaration without a caller: then every size is a
// symbol without a value, other statics are unknown, both branches of an undecided `if` are walked, and the IR built on
// the way is thrown away.
//
// The iterations of a `repeat` are walked once per distinct body: what an iteration decides with its number is recorded
// (`Observation`), and a later iteration that decides alike reuses the body (see Repeat.cpp).
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_SEMA_ELABORATOR_H
#define STG_LIB_SEMA_ELABORATOR_H

#include "UnitBuilder.h"
#include "stg/Sema/Elaborate.h"
#include "stg/Sema/Values.h"
#include "llvm/ADT/StringSet.h"
#include <deque>
#include <map>
#include <set>

namespace stg {

/// A `let` that is evaluated when first used: lets of a block may be used before they stand.
struct LazyLet {
  const ast::Bind *bind = nullptr;
  bool running = false;
};
using Variable =
    std::variant<Tensor, StaticValue, Stored, std::shared_ptr<RepeatIterations>, LazyLet, std::vector<Tensor>>;

struct Frame;

struct Scope {
  Scope *parent = nullptr;
  Frame *frame = nullptr;
  llvm::MapVector<llvm::StringRef, Variable> values;
  llvm::MapVector<llvm::StringRef, DimGroup> dims;
  /// The scope of one iteration or `unit`: what is assigned inside and defined outside is carried.
  bool isUnit = false;
  /// Statics here that depend on an iteration number.
  llvm::StringSet<> perIteration;
};

/// One instance of a layer, op, model or optimizer.
struct Frame {
  Frame *caller = nullptr;
  NamedItem item;
  std::string path; ///< inside the unit, with a final dot; empty at the model's level
  SourceRange call; ///< where it is called
  std::string callText;
  llvm::SmallVector<DimGroup, 1> each; ///< leading dims of every weight inside
  std::optional<ElementType> returnElement;
  llvm::StringSet<> factored;       ///< dims that a `factor` of this instance split
  SharedInstance *shared = nullptr; ///< weights come from there
  llvm::StringSet<> guessedDims;    ///< bound by no known tensor (declarations only)
  bool inGrad = false;              ///< its grad block is walked: a cotangent may be `none`
  bool returned = false;
  bool failed = false;                          ///< a fault of the instance was reported; its results are unknown
  std::vector<std::vector<EvalResult>> returns; ///< per `return` walked
  llvm::SmallVector<std::string, 2> overridden; ///< `--set`s that decided a parameter, for messages
  /// Outputs of an op, for `size(y)` and `width(y)` in its costs: types without values.
  llvm::StringMap<TensorType> outputTypes;
};

/// What a statement fixes for the expressions in it.
struct Context {
  Scope *scope = nullptr;
  uint32_t kernel = 0;
  std::string name;                        ///< the target's
  llvm::SmallVector<std::string, 2> names; ///< all targets', if there are several
  std::optional<ElementType> element;      ///< `y: f32 = …`
  size_t firstOp = 0;                      ///< of the statement, in the open unit
  const ast::Target *target = nullptr;     ///< set for the statement's own expression only
  bool inner = false;                      ///< below the statement's own expression: names get a suffix
  /// For an operand of this expression.
  Context below() const {
    Context context = *this;
    context.inner = true;
    context.target = nullptr;
    return context;
  }
};

/// A static decision of an iteration that depends on its number.
struct Observation {
  const ast::Expr *expr;
  llvm::StringRef let; ///< binds this name, if not empty
  StaticValue value;
};
/// Where an input of an iteration's body comes from, so that another iteration can bind its own.
struct InputSource {
  Scope *scope = nullptr; ///< variable `name` of this scope, at the iteration's start
  std::string name;
  const ast::IndexExpr *handle = nullptr; ///< or `blocks[k].v`, k evaluated in the iteration's scope
};

class Elaborator {
public:
  Elaborator(const SourceManager &sources, Diagnostics &diags, Program &program, const ElaborateSettings &settings)
      : sources_(sources), diags_(diags), program_(program), units_(program), settings_(settings) {}

  /// Walks a model with the given arguments into the program. False after an error.
  bool model(NamedItem item, llvm::ArrayRef<StaticArgument> arguments, SourceRange call);
  /// Walks a declaration without a caller, for its messages only.
  void declaration(NamedItem item);
  /// Evaluates a static expression outside any tensor scope (plans, workloads). Names come from `scope`.
  EvalResult evalStatic(const ast::Expr *expr, Scope &scope);
  /// Binds `statics` from `arguments` and defaults in `scope`, as a call does.
  bool bindStatics(llvm::StringRef callee, llvm::ArrayRef<ast::StaticParam> statics,
                   llvm::ArrayRef<StaticArgument> arguments, Scope &scope, SourceRange call);
  std::vector<StaticArgument> evalArguments(llvm::ArrayRef<ast::Arg> args, Scope &scope);
  uint64_t opsMade() const { return opsMade_; }
  /// Reports the overrides that nothing took: E601 for a parameter of the model,
  /// E602 for one of an instance.
  void reportUnusedOverrides(NamedItem model) const;

private:
  void checkUnused();
  /// Counts a call; false, after E256, if there are too many.
  bool mayCall(SourceRange where);

  // --- Names (Names.cpp)
  Variable *findVariable(Scope *scope, llvm::StringRef name, Scope **where = nullptr);
  const DimGroup *findDim(Scope *scope, llvm::StringRef name, Scope **where = nullptr);
  bool requireLet(Scope *scope, Scope *where, llvm::StringRef name);
  void registerLets(const ast::Block &block, Scope &scope);
  std::optional<DimGroup> dimOf(const ast::Name &name, Scope *scope);
  void reportUnknownName(const ast::Name &name, Scope *scope);
  void reportUnknownValue(const ast::Name &name, Scope *scope);
  void reportUnknownDim(const ast::Name &name, Scope *scope);
  std::vector<llvm::StringRef> visibleDims(Scope *scope);
  std::optional<llvm::SmallVector<DimGroup, 6>> dimsOf(const ast::Dims &dims, Scope *scope);
  std::optional<TensorType> typeOf(const ast::Dims &dims, const ast::Name &dtype, TensorClass cls, Scope *scope,
                                   llvm::StringRef path);
  std::optional<ElementType> elementOf(const ast::Name &dtype);
  /// Dims of a type as the language sees them in this scope: parts of a factored dim that stand together are one.
  llvm::SmallVector<DimGroup, 6> grouped(const TensorType &type, Scope *scope);
  std::string describe(const TensorType &type, Scope *scope);
  std::string sourceText(SourceRange range) const { return sources_.text(range).str(); }
  /// `x[B, S, D]` for a name, the expression's text otherwise.
  std::string describeOperand(const ast::Expr *expr, const TensorType &type, Scope *scope);
  DiagnosticBuilder withInstances(DiagnosticBuilder builder, Frame *frame);

  // --- Expressions (Expressions.cpp, Arithmetic.cpp)
  EvalResult eval(const ast::Expr *expr, Context &context);
  /// As eval, remembering what an iteration decided with its number.
  EvalResult decide(const ast::Expr *expr, Context &context);
  EvalResult evalPath(const ast::PathExpr *expr, Context &context);
  EvalResult evalIndex(const ast::IndexExpr *expr, Context &context);
  EvalResult evalView(const ast::ViewExpr *expr, Context &context);
  EvalResult evalUnary(const ast::UnaryExpr *expr, Context &context);
  EvalResult evalChain(const ast::ChainExpr *expr, Context &context);
  EvalResult evalBinary(const ast::BinaryExpr *expr, Context &context);
  EvalResult evalReduce(const ast::ReduceExpr *expr, Context &context);
  EvalResult evalIf(const ast::IfExpr *expr, Context &context);
  /// The tensor as a value of the open unit; `source` says where another iteration would find it.
  Tensor import(const Tensor &tensor, InputSource source);
  EvalResult useVariable(Variable &variable, const ast::Name &name, Scope *where, Context &context);
  /// One tensor, a number becoming a constant. Nothing after a failure (unknown included).
  std::optional<Tensor> tensorOf(EvalResult result, const ast::Expr *expr, Context &context);
  Tensor constantTensor(const StaticValue &value, Context &context, SourceRange where);
  void reportDivisionByZero(SourceRange where);
  void helpWithIndex(DiagnosticBuilder &builder, const Tensor &index);
  /// `c = 7, s = 4`, for the dims that an expression names.
  std::string sizesIn(const ast::Expr *expr, Scope &scope);
  EvalResult staticArithmetic(ast::ChainOp op, const StaticValue &a, const StaticValue &b, SourceRange where);
  EvalResult combine(MapFn fn, llvm::ArrayRef<std::pair<Tensor, const ast::Expr *>> operands, SourceRange where,
                     Context &context);
  EvalResult contract(const ast::ReduceExpr *expr, llvm::ArrayRef<std::pair<Tensor, const ast::Expr *>> operands,
                      llvm::ArrayRef<NameId> reduced, Context &context);
  std::optional<Tensor> reduce(ReduceFn fn, const Tensor &operand, llvm::ArrayRef<NameId> dims, Context &context,
                               SourceRange where, llvm::StringRef name);
  std::optional<Tensor> map(MapFn fn, llvm::ArrayRef<Tensor> operands, Context &context, SourceRange where);
  std::optional<llvm::SmallVector<NameId, 2>> reducedDims(const ast::ReduceExpr *expr, llvm::ArrayRef<Tensor> operands,
                                                          llvm::ArrayRef<const ast::Expr *> exprs, Context &context);
  std::string originOfSize(llvm::StringRef name, DimExpr size, Scope *scope);
  bool checkSizesAgree(llvm::ArrayRef<std::pair<Tensor, const ast::Expr *>> operands, SourceRange where,
                       Context &context);
  bool isTensorExpr(const ast::Expr *expr, Scope *scope);
  bool isNoneExpr(const ast::Expr *expr, Scope *scope);
  /// E258: the static argument `arg` among the tensors of a call without `;`.
  void reportBeforeSemicolon(const ast::CallExpr &call, const ast::Arg &arg, const StaticValue &value,
                             llvm::StringRef callee, Scope *scope);
  ElementType elementFor(const Context &context);
  std::string instancePath(const Frame *frame) const;

  // --- Adding ops
  llvm::SmallVector<Tensor, 2> emit(OpKind kind, llvm::ArrayRef<Tensor> operands, OpFields fields, Context &context,
                                    SourceRange where, std::vector<std::string> names);
  std::string valueName(const Context &context, llvm::StringRef suffix = "");
  NameId scopeInUnit(const Op &op, const Frame *frame);
  Tensor splitFactored(Tensor tensor, Context &context, SourceRange where);
  Tensor mergeForCaller(Tensor tensor, Scope *callee, Scope *caller, Context &context, SourceRange where);
  Tensor reorder(const Tensor &tensor, llvm::ArrayRef<NameId> order, Context &context, SourceRange where);

  // --- Calls (Calls.cpp, Builtins.cpp, OpCalls.cpp)
  EvalResult evalCall(const ast::CallExpr *expr, Context &context, llvm::ArrayRef<DimGroup> each = {});
  std::optional<LayerValue> calleeOf(llvm::ArrayRef<ast::Name> path, Context &context);
  EvalResult callLayer(const LayerValue &layer, const ast::CallExpr *expr, llvm::ArrayRef<EvalResult> tensors,
                       llvm::ArrayRef<const ast::Arg *> tensorArgs, std::vector<StaticArgument> statics,
                       Context &context, llvm::ArrayRef<DimGroup> each);
  EvalResult callOp(const LayerValue &layer, const ast::CallExpr *expr, llvm::ArrayRef<EvalResult> tensors,
                    llvm::ArrayRef<const ast::Arg *> tensorArgs, std::vector<StaticArgument> statics, Context &context);
  EvalResult callBuiltin(Builtin builtin, const ast::CallExpr *expr, Context &context,
                         llvm::ArrayRef<StaticArgument> configured);
  EvalResult callTensorBuiltin(Builtin builtin, const ast::CallExpr *expr, Context &context,
                               llvm::ArrayRef<EvalResult> values, llvm::ArrayRef<const ast::Expr *> exprs);
  /// E237: how the builtin is called.
  EvalResult reportBuiltinArguments(Builtin builtin, const ast::CallExpr *expr, Context &context);
  /// E259: documents and requests make up the positions that there are.
  void checkMaskLengths(const MaskValue &mask, DimExpr s, DimExpr t, SourceRange where, Frame *frame);
  EvalResult gatherRows(const Tensor &data, const Tensor &index, NameId dim, const ast::CallExpr *expr,
                        Context &context);
  EvalResult callMapFn(MapFn fn, const ast::CallExpr *expr, Context &context,
                       llvm::ArrayRef<StaticArgument> configured);
  std::optional<StaticArgument> evalStaticArg(const ast::Arg &arg, Context &context);
  /// Dims of operand i that a parameter's dims matched, in the operand's order: (variable, dim).
  using Matches = std::vector<std::vector<std::pair<std::string, Dim>>>;
  bool bindTensors(const ast::Signature &signature, llvm::StringRef callee, llvm::ArrayRef<EvalResult> tensors,
                   llvm::ArrayRef<const ast::Arg *> tensorArgs, Scope &inner, Context &outer, SourceRange call,
                   Frame &frame, Matches *matches);
  bool bindDims(const ast::TensorParam &param, const Tensor &tensor, Scope &inner, Context &outer,
                llvm::StringRef callee, const ast::Arg *arg, Frame &frame,
                std::vector<std::pair<std::string, Dim>> *matched);
  /// Binds one dim variable; false (reported by the caller) if it stands for something else already.
  bool bindVariable(llvm::StringRef name, const DimGroup &group, Scope &inner);
  void bindUnknownDims(const ast::Dims &dims, Scope &inner);
  TensorType unknownType(const ast::Dims &dims, const ast::Name &dtype, Scope &inner);
  StaticValue unknownStatic(const ast::StaticParam &param, Scope &scope);
  bool bindStatic(const ast::StaticParam &param, const StaticValue &value, Scope &scope, SourceRange where);
  void bindUnknownSignature(const ast::Signature &signature, Scope &scope);
  /// An unknown result of a layer, with the dims that its signature declares.
  Tensor declaredOut(const ast::Out &out, Scope &callee, Context &context);
  EvalResult maskOf(Builtin builtin, llvm::ArrayRef<StaticValue> arguments, SourceRange where);

  // --- Blocks of ops as bodies of their own (OpBlocks.cpp)
  /// A call as its define and grad blocks see it.
  struct OpBlock {
    const ast::OpItem &op;
    Frame &frame;
    Scope &scope;
    llvm::ArrayRef<std::string> variables; ///< per factor, as the op calls it
    llvm::ArrayRef<Tensor> operands;
    llvm::ArrayRef<std::string> names; ///< of the operands
  };
  /// What walking a block changes in the elaborator, kept for afterwards.
  struct BlockWalk;
  llvm::SmallVector<Dim, 8> dimsInside(const OpBlock &block, const CallFields &fields);
  Scope *enterBlock(const OpBlock &block, const CallFields &fields, llvm::ArrayRef<Dim> inside,
                    llvm::ArrayRef<std::pair<std::string, TensorType>> inputs, BlockWalk &walk);
  void leaveBlock(BlockWalk &walk);
  std::optional<Tensor> blockResult(const OpBlock &block, Scope &inner, llvm::StringRef name, const TensorType &wanted,
                                    SourceRange where, llvm::StringRef declared);
  BodyId elaborateDefine(const OpBlock &block, const CallFields &fields);
  void elaborateGrad(const OpBlock &block, CallFields &fields);

  // --- Optimizers (Optimizers.cpp)
  /// Whether any unit has a loss; E216 if not.
  bool findLoss(const ast::Name &model);
  void planOptimizers();
  BodyId optimizerBody(const OptimizerChoice &choice, const TensorType &type, const WeightPrecision &precision);
  bool bindWeight(const OptimizerChoice &choice, const TensorType &type, Scope &scope);
  bool takesWeight(const OptimizerChoice &choice, const TensorType &type);
  struct Misfit {
    std::string path;
    TensorType type;
  };
  void reportMisfits(const OptimizerChoice &choice, llvm::ArrayRef<Misfit> weights);
  void reportNothingTrains();
  /// B of a micro-batch, from that of a step; null after E404.
  DimExpr microBatchOf(DimExpr batch);

  // --- Statements (Statements.cpp, Repeat.cpp)
  void block(const ast::Block &block, Scope &scope);
  void statement(const ast::Stmt *stmt, Scope &scope);
  void letStatement(const ast::LetStmt *stmt, Scope &scope);
  void bindLet(const ast::Bind &bind, Scope &scope);
  void factorStatement(const ast::FactorStmt *stmt, Scope &scope);
  void enumerate(NameId dim, llvm::ArrayRef<ast::Name> from, Scope &scope);
  void requireStatement(const ast::RequireStmt *stmt, Scope &scope);
  bool checkElements(const TensorType &type, SourceRange where, Scope *scope);
  void declStatement(const ast::DeclStmt *stmt, Scope &scope);
  WeightPrecision precisionOf(llvm::StringRef weight) const;
  void shareStatement(const ast::ShareStmt *stmt, Scope &scope);
  void ifStatement(const ast::IfStmt *stmt, Scope &scope);
  void returnStatement(const ast::ReturnStmt *stmt, Scope &scope);
  void lossStatement(const ast::LossStmt *stmt, Scope &scope);
  void outputStatement(const ast::OutputStmt *stmt, Scope &scope);
  void assignStatement(const ast::AssignStmt *stmt, Scope &scope);
  void assign(const ast::Target &target, EvalResult result, Scope &scope, Context &context, const ast::Expr *value);
  void repeatStatement(const ast::RepeatStmt *stmt, Scope &scope);
  void unitStatement(const ast::UnitStmt *stmt, Scope &scope);
  void ensureOpen();
  std::string unitPathHere(llvm::StringRef name, const Scope &scope) const;
  /// Code between units: where it stands, and whether a unit came before it there.
  struct Stretch {
    std::string prefix; ///< of units inside: `groups[2].`
    bool anyInside = false;
    /// Labels of instances and paths of units that are taken here, as `f` and `f'1` differ.
    llvm::StringMap<unsigned> instances, units;
    std::string unitBase, iterationPath; ///< of the surroundings, while a unit is walked
  };
  /// What the surroundings of an iteration were recording.
  struct Recording {
    Scope *iteration;
    bool reusable, touched;
    std::vector<Observation> observations;
    std::vector<InputSource> inputs;
  };
  void closeStretch(llvm::StringRef next);
  Stretch enterUnit(const std::string &path, int64_t index, Scope &scope);
  bool leaveUnit(Stretch outer, const std::string &path, int64_t index);
  Recording startRecording(Scope *iteration);
  void stopRecording(Recording saved);
  bool decidesAlike(llvm::ArrayRef<Observation> observations, Scope &scope);
  bool bindInputs(llvm::ArrayRef<InputSource> sources, UnitId model, Scope &scope, std::vector<ValueOrigin> &inputs);
  void checkCarried(const ast::Block &body, llvm::StringRef unit, Scope *scope, const std::string &name,
                    const Tensor &before, Tensor &after);
  std::vector<std::pair<Scope *, std::pair<std::string, Tensor>>> outerTensors(Scope &scope);
  llvm::StringRef internedName(const std::string &name);

  const SourceManager &sources_;
  Diagnostics &diags_;
  Program &program_;
  UnitBuilder units_;
  const ElaborateSettings &settings_;

  /// Checking a declaration: no caller, nothing is kept.
  bool abstract_ = false;
  Frame *modelFrame_ = nullptr;
  std::vector<std::unique_ptr<Scope>> scopes_;
  std::vector<std::unique_ptr<Frame>> frames_;
  Scope *newScope(Scope *parent, Frame *frame);

  // Repeats. `iteration_` is the scope of the iteration being recorded, if its body may be reused.
  Scope *iteration_ = nullptr;
  bool inGrad_ = false;       ///< in a grad block: what it calls needs no gradient of its own
  bool inCost_ = false;       ///< a cost formula may divide: what counts is the whole
  bool touchedIndex_ = false; ///< an iteration number was read and not yet remembered
  bool reusable_ = true;      ///< of the iteration being recorded
  std::vector<Observation> observations_;
  std::vector<InputSource> inputSources_; ///< per input slot of the open unit
  unsigned unitDepth_ = 0;                ///< repeats and units around us
  bool anyUnit_ = false;                  ///< a repeat or unit was walked
  Stretch stretch_;
  std::string unitBase_;           ///< path of the frame in which the open unit stands: names inside drop it
  std::deque<ast::Bind> defaults_; ///< defaults of dims, evaluated when first used
  /// In an optimizer: what it computes in (the master type), and states that don't say theirs.
  std::optional<WeightPrecision> inOptimizer_;
  uint64_t opsMade_ = 0, calls_ = 0;
  bool tooLarge_ = false;                            ///< E256 was reported: whatever is called now fails silently
  Frame *walking_ = nullptr;                         ///< the innermost instance, for messages of expressions
  std::set<std::pair<FileId, uint32_t>> maskFaults_; ///< places of calls with E259: several costs ask for the pairs
  std::set<std::pair<UnitId, uint32_t>> writtenStates_;
  std::vector<bool> overrideUsed_;
  /// What the instances that an override names could take.
  std::map<size_t, std::set<llvm::StringRef>> overrideParameters_;
  std::map<NameId, const ast::OpItem *> opItems_; ///< ops that are called
  llvm::SmallVector<const ast::Item *, 16> callStack_;
  std::string iterationPath_; ///< `blocks[3].` of the unit being walked, for overrides and messages
};

/// The same names, whatever the iteration.
PathPattern anyIteration(PathPattern pattern);

} // namespace stg

#endif
