//===- Plan.h - what a plan says, names resolved ----------------------------===//
// The ordered rules of language.md section 5, as passes read them. Dims are names of the model (composite ones replaced
// by their factors, in order), axes are names of the mesh or of its folds.
//===----------------------------------------------------------------------===//
#ifndef STG_IR_PLAN_H
#define STG_IR_PLAN_H

#include "stg/IR/Schedule.h"
#include "stg/IR/Selector.h"
#include "stg/IR/Types.h"
#include "stg/Support/Ids.h"
#include "stg/Support/SourceManager.h"

namespace stg {

using BodyId = Id<struct BodyTag>;

/// `in a, b`; no pattern: everywhere.
using Scopes = std::vector<PathPattern>;
bool matches(const Scopes &scopes, llvm::StringRef path);

/// What a rule does where an axis does not divide the dim.
enum class Remainder : uint8_t { Error, Replicate, Pad };

/// `split H or replicate, F, V over tp in sel`: an axis goes to the first dim that is there.
struct SplitRule {
  struct Target {
    NameId dim;
    Remainder remainder = Remainder::Error;
    bool zigzag = false; ///< causal-balanced chunks
    bool operator==(const Target &) const = default;
  };
  std::vector<Target> dims;
  std::vector<std::string> axes;
  Scopes scopes;
  SourceRange where;
};

/// `keep D whole in sel`.
struct KeepRule {
  NameId dim;
  Scopes scopes;
  SourceRange where;
};

/// `pin p.q : [B/dp, S, H/tp @ cp]`: replaces the home of the values that `value` names.
struct PinRule {
  PathPattern value;
  std::vector<std::pair<NameId, std::vector<std::string>>> dims; ///< with the axes on them; all dims of the tensor
  std::vector<std::string> partial;                              ///< axes behind `@`
  SourceRange where;
};

/// `store gathered over tp in attn`: keeps the gathered copy for the backward instead of gathering again.
struct KeepGatheredRule {
  std::vector<std::string> axes;
  Scopes scopes;
  SourceRange where;
};

/// How often gradients go to their shards.
enum class GradientSync : uint8_t { Step, MicroBatch };
/// What is one collective: the weights of a unit, or each weight.
enum class StorageUnit : uint8_t { Unit, Weight };

/// `zero 2 over dp in sel`, `store grads over dp in sel`: what is kept in shards over the axes that do not split a
/// weight anyway. Where several rules name a weight, each adds its axes; the options are those of the first.
struct StorageRule {
  /// 1 optimizer: states and master copies. 2 grads: also gradients. 3 params: also weights.
  uint32_t stage = 1;
  std::vector<std::string> axes;
  Scopes scopes;
  /// Weights in shards are gathered for the forward of a micro-batch and again for its backward; or once for both.
  bool regather = true;
  /// The last unit of the forward, whose backward follows at once, is gathered again too.
  bool regatherLast = false;
  /// Weights that no backward reads are gathered for it too.
  bool gatherUnread = false;
  /// Units ahead whose weights are gathered while one computes.
  uint32_t prefetch = 1;
  StorageUnit unit = StorageUnit::Unit;
  /// With `Step`, weights that are not gathered again stay until the last backward.
  GradientSync sync = GradientSync::Step;
  /// Gradients are summed whole, each rank keeps its shard: twice the bytes of a reduce-scatter.
  bool allReduces = false;
  /// Stages 1 and 2: new weights are gathered before the next step's forward instead of behind the step.
  bool gathersLate = false;
  SourceRange where;
};

/// `precision { gemm = f8e4m3 } in sel`: matrix products with weights read copies of their operands in this type, where
/// these are wider. The first rule that names an op holds.
struct GemmRule {
  ElementType element = ElementType::F8E4M3;
  Scopes scopes;
  SourceRange where;
};

/// `recompute blocks { comm = keep }`, `recompute none in sel`; the first that names an op holds.
struct RecomputeRule {
  bool recomputes = true;
  Scopes scopes;
  /// Results of collectives are kept.
  bool keepsCommunication = false;
  /// Ends where the backward has what it needs, as torch.utils.checkpoint does; else all that is named runs again.
  bool stopsEarly = true;
  SourceRange where;
};

/// `offload optimizer to host { prefetch = 2 }`: what rests in the memory of the host. The first rule that names a
/// thing counts.
struct OffloadRule {
  /// Masters and moments are the optimizer's: copies of weights, and all other states.
  bool weights = false, masters = false, moments = false, activations = false;
  /// Transfers run beside what computes; else the order of what computes waits for them.
  bool overlaps = true;
  /// Units ahead for which is loaded while one computes.
  uint32_t prefetch = 1;
  Scopes scopes;
  SourceRange where;
};

/// How what an op needs of other ranks comes to it. Gather: by collectives, whole. Ring: block after block from the
/// neighbour, while it computes on the one before. Halo: only what its mask lets it see, from the ranks before.
/// TwoLevel: in collectives between nodes and inside them, one after the other.
enum class RunAlgorithm : uint8_t { Gather, Ring, Halo, TwoLevel };
llvm::StringRef spelling(RunAlgorithm algorithm);
std::optional<RunAlgorithm> runAlgorithmFrom(llvm::StringRef text);

/// `run attend as ring`, `run blocks[0..4].attn.attend as halo`: an op by its path, whose last component is the callee,
/// and its gradient. The first rule that names an op holds. `run experts as two_level(node = 8)`: what moves at the
/// edge of what is named, and inside.
struct RunRule {
  RunAlgorithm algorithm = RunAlgorithm::Gather;
  Scopes scopes;     ///< what is named, at least one
  uint32_t node = 0; ///< two levels: consecutive ranks of a node
  SourceRange where;
};

/// What an optimizer does to weights of one type and of one precision: the element types that WeightSlot has.
struct OptimizerBody {
  TensorType weight;
  ElementType gradient = ElementType::F32, master = ElementType::F32, moment = ElementType::F32;
  BodyId body; ///< Program.h says what it has
};

/// `optimizer adamw() in sel`, `optimizer none in sel`; first match wins.
struct OptimizerRule {
  NameId name; ///< invalid: none, the weight is frozen
  Scopes scopes;
  std::vector<OptimizerBody> bodies; ///< for each kind of weight that it trains
  SourceRange where;
};

/// Consecutive units of one name: `blocks` x 32. Units of a repeat share their name.
struct UnitRun {
  std::string name;
  uint32_t count = 1;
  SourceRange where = {};
  bool operator==(const UnitRun &other) const { return name == other.name && count == other.count; }
};

/// How units become stages.
enum class StageCut : uint8_t { Even, Balanced, Listed };
llvm::StringRef spelling(StageCut cut);
std::optional<StageCut> stageCutFrom(llvm::StringRef text);

/// `pipeline over pp { schedule interleaved_1f1b(chunks = 2); cut [first, dense*3], … }`.
struct PipelineRule {
  std::string axis;
  ScheduleKind schedule = ScheduleKind::OneForwardOneBackward;
  /// As written; absent where the schedule's default holds.
  std::optional<uint32_t> chunks = std::nullopt, group = std::nullopt;
  /// `schedule file("x.csv")`: what the file says; `schedule` means nothing then.
  std::optional<Schedule> given = std::nullopt;
  StageCut cut = StageCut::Even;
  std::vector<std::vector<UnitRun>> stages = {}; ///< of a listed cut, repetitions written out
  SourceRange where = {}, scheduleWhere = {}, cutWhere = {};
};

struct Plan {
  std::vector<SplitRule> splits;
  std::vector<KeepRule> keeps;
  std::vector<PinRule> pins;
  std::vector<KeepGatheredRule> keepGathered;
  std::vector<OptimizerRule> optimizers;
  std::vector<StorageRule> storage;
  std::vector<GemmRule> gemms;
  std::vector<RunRule> runs;
  std::vector<RecomputeRule> recompute;
  std::vector<OffloadRule> offload;
  /// Nothing where the pipeline's axis has one rank.
  std::optional<PipelineRule> pipeline;
  /// Micro-batches of a step; sizes of the program are those of one.
  int64_t microBatches = 1;
  /// Largest global gradient norm; 0: no clipping.
  double clip = 0;
};

/// The first rule that names the weight; null if none does (the weight is not trained).
const OptimizerRule *optimizerOf(const Plan &plan, llvm::StringRef weightPath);

} // namespace stg

#endif
