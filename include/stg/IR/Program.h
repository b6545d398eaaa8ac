//===- Program.h - the IR ---------------------------------------------------===//
// A Program is a straight line of *units*. A unit names a *body* and binds what the body takes from outside: values of
// earlier units or the program's inputs, weights, states. A body is a flat SSA list of ops in topological order.
// Layers with equal graphs are one body, so every pass costs O(bodies), never O(layers); what is as long as the layers
// (`units`) holds ids only, nothing per op.
//
// Ownership of weights and states: a body declares slots. An *owned* slot gives each unit of that body a weight of its
// own (named unit path + slot path); a slot that is not owned is bound by the unit to a weight of the program or to an
// owned slot of another unit (tied and shared weights are one weight named by several units). A Weight or State op
// reads a slot.
//
// Ids are indices. There are no pointers between ops and no hash-ordered iteration.
//===----------------------------------------------------------------------===//
#ifndef STG_IR_PROGRAM_H
#define STG_IR_PROGRAM_H

#include "stg/IR/Layout.h"
#include "stg/IR/Mesh.h"
#include "stg/IR/Plan.h"
#include "stg/IR/Routing.h"
#include "stg/IR/Types.h"
#include "stg/Support/Interner.h"
#include "stg/Support/SourceManager.h"
#include <memory>
#include <variant>
#include <vector>

namespace stg {

using OpId = Id<struct OpTag>;
using ValueId = Id<struct ValueTag>;
using UnitId = Id<struct UnitTag>;
using WeightId = Id<struct WeightTag>;
using StateId = Id<struct StateTag>;
using InputId = Id<struct InputTag>;
using ScalarId = Id<struct ScalarTag>;

/// What the IR guarantees now (architecture.md 3). Differentiated: backward ops are there (training). Laid: every value
/// has a layout, disagreements are `convert` ops. Explicit: collectives instead of `convert`. Stored: gradient sync and
/// the optimizer's step are there. Scheduled: every rank of a pipeline has its list of actions and its messages.
enum class Level : uint8_t { Elaborated, Typed, Differentiated, Laid, Explicit, Stored, Scheduled };
llvm::StringRef spelling(Level level);
std::optional<Level> levelFrom(llvm::StringRef text);

enum class Mode : uint8_t { Forward, Train, Prefill, Decode };
llvm::StringRef spelling(Mode mode);
std::optional<Mode> modeFrom(llvm::StringRef text);

enum class OpKind : uint8_t {
#define OP(kind, ...) kind,
#include "stg/IR/Ops.def"
};
llvm::StringRef mnemonic(OpKind kind);
std::optional<OpKind> opKindFrom(llvm::StringRef text);
/// Ops.def's column: what the op means.
llvm::StringRef meaning(OpKind kind);

enum class MapFn : uint8_t {
#define FN(name, ...) name,
#include "stg/IR/MapFns.def"
};
llvm::StringRef spelling(MapFn fn);
std::optional<MapFn> mapFnFrom(llvm::StringRef text);
/// MapFns.def's column: what the function computes.
llvm::StringRef meaning(MapFn fn);
/// Number of operands; 0: two or more.
unsigned arity(MapFn fn);
/// FLOPs per element of the result (n-ary functions: per operand beyond the first).
unsigned flopsPerElement(MapFn fn);

llvm::StringRef spelling(ReduceFn fn);
std::optional<ReduceFn> reduceFnFrom(llvm::StringRef text);

/// What an op is for, and so when it runs. Gather: once per step, before the first forward of its unit (weights that
/// are kept in shards between steps). Forward, InputGrad and WeightGrad: per micro-batch (actions F, B, W). Recompute:
/// what backward needs of the forward again, before the InputGrad of its unit. Sync: once per step when the last
/// backward of its unit is done. Step: once, after all of Sync. A forward program has no backward, sync and step.
enum class Part : uint8_t { Gather, Forward, Recompute, InputGrad, WeightGrad, Sync, Step };
/// Whether ops of this part run in the backward of each micro-batch.
inline bool isBackward(Part part) {
  return part == Part::Recompute || part == Part::InputGrad || part == Part::WeightGrad;
}
/// Whether ops of this part run once per step, not once per micro-batch.
inline bool runsOncePerStep(Part part) { return part == Part::Gather || part == Part::Sync || part == Part::Step; }
llvm::StringRef spelling(Part part);
std::optional<Part> partFrom(llvm::StringRef text);

/// How a factor of a user op behaves when a mesh axis lands on it (language.md 5.7).
enum class FactorKind : uint8_t { Map, Sum, Max, Whole, Stream, Halo, Chain, Carry };
llvm::StringRef spelling(FactorKind kind);
std::optional<FactorKind> factorKindFrom(llvm::StringRef text);

struct MaskValue {
  MaskKind kind = MaskKind::Full;
  llvm::SmallVector<DimExpr, 1> parameters;
  bool operator==(const MaskValue &) const = default;
};

/// A static argument of a call as the interpreter and the printer need it.
using StaticArg = std::variant<DimExpr, double, bool, std::string, MaskValue>;

//===----------------------------------------------------------------------===//
// Fields of op kinds
//===----------------------------------------------------------------------===//

/// Input, Weight, State, Update: the slot of the body. Results of the first three have the slot's type. Accumulate,
/// Gradient, Assign: the weight slot. Tally, Total: the scalar of the program.
struct SlotFields {
  uint32_t slot = 0;
  bool operator==(const SlotFields &) const = default;
};
/// A 0-dim value: a floating-point number, or a size (`value` null then).
struct ConstantFields {
  double number = 0;
  DimExpr value;
  ElementType element = ElementType::F32;
  bool operator==(const ConstantFields &) const = default;
};
struct IotaFields {
  Dim dim;
  DimExpr start;
  ElementType element = ElementType::F32;
  bool operator==(const IotaFields &) const = default;
};
/// Result dims: union of the operands' dims in order of first appearance, minus `reduced`.
struct ContractFields {
  llvm::SmallVector<NameId, 2> reduced;
  ElementType element = ElementType::BF16;
  bool operator==(const ContractFields &) const = default;
};
/// Result dims: those of the operand that has all.
struct MapFields {
  MapFn fn = MapFn::Add;
  ElementType element = ElementType::BF16;
  bool operator==(const MapFields &) const = default;
};
struct ReduceFields {
  ReduceFn fn = ReduceFn::Sum;
  llvm::SmallVector<NameId, 2> reduced;
  ElementType element = ElementType::BF16;
  bool operator==(const ReduceFields &) const = default;
};
struct StopFields {
  bool operator==(const StopFields &) const = default;
};
struct DropoutFields {
  double probability = 0;
  uint32_t stream = 0; ///< tells this dropout from others of the body
  bool operator==(const DropoutFields &) const = default;
};
/// `query` and `key` are dims of the operand. `zero`: what is not seen becomes 0 (the gradient) instead of minus
/// infinity.
struct MaskedFields {
  MaskValue mask;
  NameId query, key;
  bool zero = false;
  bool operator==(const MaskedFields &) const = default;
};
/// `from` dims become `to` dims; the sizes multiply out. One-to-one is a rename, one-to-many a split, many-to-one a
/// merge. The result has the `to` dims in the place of the first `from` dim; merged dims need not be adjacent.
struct ViewItem {
  llvm::SmallVector<NameId, 2> from;
  llvm::SmallVector<Dim, 2> to;
  bool factored = false; ///< a declared `factor`: a layout passes through it
  bool operator==(const ViewItem &) const = default;
};
/// With `order` given, also (or only) a new storage order: all dims of the result by name.
struct ViewFields {
  llvm::SmallVector<ViewItem, 2> items;
  llvm::SmallVector<NameId, 6> order;
  bool operator==(const ViewFields &) const = default;
};
struct ConcatFields {
  Dim dim; ///< of the result
  ElementType element = ElementType::BF16;
  bool operator==(const ConcatFields &) const = default;
};
struct AtFields {
  NameId dim;
  DimExpr index;
  bool operator==(const AtFields &) const = default;
};
struct SliceFields {
  NameId from;
  Dim to;
  DimExpr start;
  bool operator==(const SliceFields &) const = default;
};
/// The reverse of At (`from` invalid: the dim is new) and of Slice: zeros along `to`, the operand at positions `start`
/// on.
struct PadFields {
  NameId from;
  Dim to;
  DimExpr start;
  bool operator==(const PadFields &) const = default;
};
/// The operand under more dims, the same along them: `dims` are all dims of the result, in order.
struct BroadcastFields {
  llvm::SmallVector<Dim, 4> dims;
  bool operator==(const BroadcastFields &) const = default;
};
/// Operands: data, index (i32). Dims that both have align; `dim` of the data is replaced by the index's other dims.
struct GatherFields {
  NameId dim;
  bool operator==(const GatherFields &) const = default;
};
/// Operands: data, index. `replaced` dims of the data vanish into `dim`, which comes last unless some dim is replaced:
/// then in the place of the first.
struct ScatterFields {
  Dim dim;
  llvm::SmallVector<NameId, 2> replaced;
  ElementType element = ElementType::BF16;
  bool operator==(const ScatterFields &) const = default;
};
/// Operands: state, addition. Result: the state's type.
struct AppendFields {
  NameId from, into; ///< S of the addition, T of the state
  bool operator==(const AppendFields &) const = default;
};
struct Factor {
  NameId name; ///< the op's own name, `b`
  Dim dim;     ///< the caller's dim that it is
  FactorKind kind = FactorKind::Map;
  llvm::SmallVector<StaticArg, 2> args; ///< of halo, chain, stream (names as strings), carry
  std::optional<uint32_t> along;        ///< index of the factor it follows (halo, carry)
  bool operator==(const Factor &) const = default;
};
/// A call of a user `op`. Self-contained: factors, costs and saves are those of this call, sizes bound.
struct CallFields {
  NameId callee;
  std::vector<Factor> factors;
  std::vector<llvm::SmallVector<uint32_t, 6>> operandFactors; ///< per operand: factors of its dims, in order
  std::vector<llvm::SmallVector<uint32_t, 6>> resultFactors;
  std::vector<ElementType> resultElements;
  std::vector<std::pair<NameId, StaticArg>> statics;
  DimExpr flops; ///< contraction FLOPs
  DimExpr other; ///< FLOPs that are no model contraction
  DimExpr bytes; ///< null: inputs + outputs
  BodyId define; ///< reference meaning: input slots are the operands, outputs the results; invalid if none
  /// The gradient as a body: its input slots are the operands, then the results, then the cotangents of the first
  /// results (as many as the op's `grad` names); invalid if the op has none.
  BodyId grad;
  /// Per operand: the output of `grad` that is its cotangent; -1 for none.
  llvm::SmallVector<int32_t, 6> gradOutputs;
  /// Whether some factor is carried to this one: tokens to slots. It is split as these are.
  bool isFilledByCarry(uint32_t factor) const {
    return llvm::any_of(factors,
                        [&](const Factor &each) { return each.kind == FactorKind::Carry && each.along == factor; });
  }
  bool operator==(const CallFields &) const = default;
};

/// The rules (Plan::splits) that placed an atom before and after a conversion; -1: no rule.
struct ConversionCause {
  int32_t had = -1;
  int32_t wants = -1;
  bool operator==(const ConversionCause &) const = default;
};
/// Laid level: the operand in another layout.
struct ConvertFields {
  Layout to;
  ConversionCause cause;
  bool operator==(const ConvertFields &) const = default;
};
/// Shard, Demote, ReduceScatter, AllReduce, AllToAll, AllGather over the product group of `atoms`. Several operands
/// travel as one collective; each gives one result of its own type.
struct CollectiveFields {
  AtomList atoms;
  NameId from;                 ///< all-gather, all-to-all: the dim that was split
  NameId to;                   ///< shard, reduce-scatter, all-to-all: the dim that is split afterwards
  ReduceFn fn = ReduceFn::Sum; ///< reduce-scatter, all-reduce
  ConversionCause cause;
  /// Brings weights from their shards or gradients to theirs (`zero`): no dim is named, as each operand is split on one
  /// of its own; and when it is issued is for the trace to say, ahead of or behind what its unit computes.
  bool isStorage = false;
  /// All-gathers of an op's operands and reduce-scatters of its results: how they run, with the op
  /// (Analysis/Streams.h). The meaning is the same.
  RunAlgorithm algorithm = RunAlgorithm::Gather;
  bool operator==(const CollectiveFields &) const = default;
};

/// Store: operands on the device, results on the host. Load: the reverse. Several operands travel as one transfer; each
/// gives one result of its own type and layout. When a load is issued is for the trace to say.
struct HostFields {
  /// Of loads: units ahead of their own. They are issued in the turn of the unit that comes so many before it.
  uint32_t prefetch = 1;
  /// Runs beside what computes.
  bool overlaps = true;
  bool operator==(const HostFields &) const = default;
};

using OpFields = std::variant<SlotFields, ConstantFields, IotaFields, ContractFields, MapFields, ReduceFields,
                              StopFields, DropoutFields, MaskedFields, ViewFields, ConcatFields, AtFields, SliceFields,
                              GatherFields, ScatterFields, AppendFields, CallFields, PadFields, BroadcastFields,
                              ConvertFields, CollectiveFields, HostFields>;

struct Op {
  OpKind kind = OpKind::Constant;
  Part part = Part::Forward;
  llvm::SmallVector<ValueId, 4> operands;
  llvm::SmallVector<ValueId, 2> results;
  OpFields fields;
  /// Ops of one statement have one number: what is neither a contraction nor a call fuses into one kernel.
  uint32_t kernel = 0;
  /// Path of the instance inside the unit, `attn`; of a call the callee is the last component (language.md 5.3). Empty
  /// or invalid: the unit itself. A backward op has that of the op whose gradient it is.
  NameId scope;
  /// From Laid on, per atom: index into factorsOf (Analysis/Factors.h), or -1. Ops without factors have none.
  llvm::SmallVector<int16_t, 4> compute;
  SourceRange where;

  template <class T> const T &get() const { return std::get<T>(fields); }
  template <class T> T &get() { return std::get<T>(fields); }
};

/// Whether `op.fields` is the alternative of its kind.
bool fieldsMatchKind(const Op &op);
/// Fields of a kind with all values at their defaults.
OpFields defaultFields(OpKind kind);

struct Value {
  /// Set from level Typed on; before that on leaves only.
  std::optional<TensorType> type;
  OpId def;
  uint32_t result = 0; ///< which result of `def`
  NameId name;         ///< path inside the unit, `attn.q`; unique in the body
  /// Scope for its home, where it is not the op's: a cotangent has that of its primal.
  NameId scope;
  /// From Laid on.
  std::optional<Layout> layout;
};

/// What an input slot brings. Cotangent: of the body's output `of`. Accumulator: what later units (which run earlier in
/// the backward) found for the cotangent of the value that input slot `of` reads; the body adds its own share.
enum class SlotRole : uint8_t { Value, Cotangent, Accumulator };
llvm::StringRef spelling(SlotRole role);
std::optional<SlotRole> slotRoleFrom(llvm::StringRef text);

/// What a body takes from outside through Input ops.
struct InputSlot {
  NameId name;
  TensorType type;
  SlotRole role = SlotRole::Value;
  uint32_t of = 0; ///< of cotangents and accumulators
  /// From Laid on. A program input that is needed in several layouts has a slot for each.
  std::optional<Layout> layout = std::nullopt;
};
/// A weight that a body reads.
struct WeightSlot {
  NameId name; ///< owned: path inside the unit
  TensorType type;
  bool owned = true;
  SourceRange where;
  /// Element types of the gradient buffer, the master copy, and optimizer states that don't say theirs.
  ElementType gradient = ElementType::F32, master = ElementType::F32, moment = ElementType::F32;
  /// From Differentiated on: it has a gradient buffer.
  bool trained = false;
  /// From Laid on: home, and the layout of the gradient buffer (home and partial over some of the other atoms). A
  /// weight that units read in two layouts exists in both, with a buffer for each.
  std::optional<Layout> layout = std::nullopt, buffer = std::nullopt;
  /// Rests in the memory of the host: what reads it is a load, what it is assigned comes from a store.
  bool host = false;
  /// Element types in which gradients are summed over ranks and weights are gathered; nothing: as they are.
  std::optional<ElementType> commGradient = std::nullopt, commWeight = std::nullopt;
};
struct StateSlot {
  NameId name;
  TensorType type;
  bool owned = true;
  SourceRange where;
  std::optional<Layout> layout = std::nullopt; ///< from Laid on
  bool host = false;                           ///< rests in the memory of the host
};
struct BodyOutput {
  NameId name;
  ValueId value;
  /// A backward output: the cotangent of the value that this input slot reads (with the accumulator added).
  std::optional<uint32_t> cotangentOf = std::nullopt;
};

/// A flat SSA graph. Order of `ops` is a topological order and the order of the source.
struct Body {
  NameId name;
  std::vector<Op> ops;
  std::vector<Value> values;
  std::vector<InputSlot> inputs;
  std::vector<WeightSlot> weights;
  std::vector<StateSlot> states;
  std::vector<BodyOutput> outputs;
  /// Scalars (f32, no dims) that this unit adds to the step's loss.
  std::vector<ValueId> losses;

  const Op &op(OpId id) const { return ops[id.index]; }
  const Value &value(ValueId id) const { return values[id.index]; }
};

/// Output `output` of an earlier unit; for cotangent and accumulator slots, of a later one.
struct UnitValue {
  UnitId unit;
  uint32_t output = 0;
  bool operator==(const UnitValue &) const = default;
};
/// Owned slot `slot` of another unit.
struct UnitSlot {
  UnitId unit;
  uint32_t slot = 0;
  bool operator==(const UnitSlot &) const = default;
};
using InputBinding = std::variant<InputId, UnitValue>;
using WeightBinding = std::variant<WeightId, UnitSlot>;
using StateBinding = std::variant<StateId, UnitSlot>;

struct Unit {
  BodyId body;
  NameId path;                                 ///< `blocks`, `first`, `policy.blocks`
  int64_t index;                               ///< iteration of the repeat, or -1
  llvm::SmallVector<InputBinding, 2> inputs;   ///< one per input slot
  llvm::SmallVector<WeightBinding, 2> weights; ///< one per slot that is not owned, in slot order
  llvm::SmallVector<StateBinding, 2> states;
};

/// A value that another rank of the pipeline needs: sent when the action that makes it has made it, in its home
/// layout, by each rank to the rank with the same other coordinates, once per micro-batch.
struct Transfer {
  UnitValue value;
  /// The stage that makes it, and of the stages on the receiving rank the one that needs it first. An activation goes
  /// to a later stage and is received in its forward; a cotangent to an earlier one and is received in its backward.
  uint32_t from = 0, to = 0;
  bool isForward() const { return to > from; }
  bool operator==(const Transfer &) const = default;
};

/// Gradient buffers that several ranks hold: those of the slots that a unit owns, where there are two copies of its
/// stage; or those of a weight of the program that stages on several ranks use. Summed over these ranks when all are
/// complete, before anything reads them.
struct BufferSum {
  std::variant<UnitId, WeightId> of;
  llvm::SmallVector<uint32_t, 2> ranks; ///< of the pipeline, ascending
  bool operator==(const BufferSum &) const = default;
};

/// A program cut into stages. Weights are where their stages are.
struct Pipeline {
  /// The coordinates along the axis: atoms, major first. No layout splits over them.
  AtomList atoms;
  Placement placement;
  /// Stage s has units [firstUnits[s], firstUnits[s + 1]).
  std::vector<uint32_t> firstUnits;
  /// Of each unit behind the stages, which only synchronises and steps: the rank that runs it; nothing: all do.
  std::vector<std::optional<uint32_t>> stepRanks;
  /// From Stored on. Each rank runs its own in this order, behind all its actions.
  std::vector<BufferSum> sums;
  /// From Scheduled on. In order of (from, to), then by value.
  std::vector<Transfer> transfers;
  /// From Scheduled on, one per rank.
  std::vector<ActionList> lists;

  uint32_t ranks() const { return placement.ranks; }
  uint32_t stages() const { return placement.stages; }
  /// Nothing for a unit of the step.
  std::optional<uint32_t> stageOf(UnitId unit) const;
  bool runsOn(UnitId unit, uint32_t rank) const;
};

struct ProgramInput {
  NameId name;
  TensorType type;
  SourceRange where;
};
struct ProgramWeight {
  NameId name;
  TensorType type;
  SourceRange where;
};
struct ProgramState {
  NameId name;
  TensorType type;
  SourceRange where;
};
/// `factor H = (KV, R)`: what a rule on H means.
struct Factoring {
  NameId whole;
  llvm::SmallVector<NameId, 2> parts;
  bool operator==(const Factoring &) const = default;
};
/// `let C = e from (B, S)`: C enumerates what B and S index, so what splits these splits C. Each rank has its own
/// share, rounded up; what stands at a position of C is for the rank to say.
struct Enumeration {
  NameId dim;
  llvm::SmallVector<NameId, 2> sources; ///< distinct, in order of first appearance
  bool operator==(const Enumeration &) const = default;
};
/// A size parameter of the model and its value.
struct SizeParameter {
  NameId name;
  DimExpr symbol;
};
struct ProgramOutput {
  NameId name;
  UnitValue value;
};

/// Interned names and sizes of a program; shared by what is made from it.
struct IRContext {
  Interner names;
  DimContext dims;
  NameId name(llvm::StringRef text) { return names.intern(text); }
  llvm::StringRef text(NameId id) const { return names.text(id); }
};

struct Program {
  explicit Program(std::shared_ptr<IRContext> context) : context(std::move(context)) {}

  std::shared_ptr<IRContext> context;
  Level level = Level::Elaborated;
  Mode mode = Mode::Forward;
  NameId name;
  Mesh mesh;
  std::vector<SizeParameter> sizes;
  std::vector<Factoring> factorings;     ///< distinct, in order of first appearance
  std::vector<Enumeration> enumerations; ///< one per dim, in order of first appearance
  std::vector<ProgramInput> inputs;
  std::vector<ProgramWeight> weights;
  std::vector<ProgramState> states;
  /// Bodies that units name, the define and grad blocks of calls, and optimizers: these have the input slots `w`
  /// (master type) and `g` (gradient type), owned states, and one output, the new weight.
  std::vector<Body> bodies;
  std::vector<Unit> units;
  std::vector<ProgramOutput> outputs;
  /// Split rules, optimizers, micro-batches.
  Plan plan;
  /// Of the tokens that are sent to experts.
  Routing routing;
  /// From `cut-stages` on, if the plan has one.
  std::optional<Pipeline> pipeline;
  /// f32 scalars that Tally ops add to during a step and Total ops read: the loss, the squared gradient norm. Zero when
  /// the step begins.
  std::vector<NameId> scalars;

  const Body &body(BodyId id) const { return bodies[id.index]; }
  const Body &body(const Unit &unit) const { return bodies[unit.body.index]; }
  llvm::StringRef text(NameId id) const { return context->text(id); }
  /// `blocks[3]`, `first`.
  std::string unitPath(const Unit &unit) const;
  /// Null where the dim is no enumeration.
  const Enumeration *enumerationOf(NameId dim) const;
  /// Whether each rank gives the positions of a dim of the tensor a meaning of its own.
  bool hasEnumeration(const TensorType &type) const;
};

/// The coordinate of `rank` on the pipeline's axis; 0 without one.
uint32_t pipelineRankOf(const Program &program, int64_t rank);
/// The weight behind a slot of a unit: one of the program, or an owned slot of this or another unit.
using WeightPlace = WeightBinding;
WeightPlace weightAt(const Program &program, UnitId unit, uint32_t slot);

/// `bf16[B, S, F = 4*D]`: a size is printed unless it is the size parameter of the dim's name.
std::string toString(const TensorType &type, const IRContext &context);
/// `F = 4*D`, or `F` where the size is the size parameter of that name.
std::string toString(const Dim &dim, const IRContext &context);
/// Same element type, same dims in the same order, and no sizes that are known to differ.
bool compatible(const TensorType &a, const TensorType &b);
/// Product of the sizes, in elements.
DimExpr elementCount(const TensorType &type, DimContext &dims);
/// Elements times bits / 8: a fraction where 4-bit elements are odd in number.
DimExpr byteCount(const TensorType &type, DimContext &dims);

} // namespace stg

#endif
