//===- Explain.h - why layouts, traffic and schedules are what they are ------===//
#ifndef STG_DRIVER_EXPLAIN_H
#define STG_DRIVER_EXPLAIN_H

#include "stg/Analysis/Roofline.h"
#include "stg/Driver/Compile.h"
#include "stg/Driver/Report.h"
#include "stg/Schedule/SimulateSchedule.h"
#include "llvm/Support/raw_ostream.h"

namespace stg {

/// Every collective of a step: kind, axes, bytes, how often, the two layouts, and the plan lines that placed the axes
/// before and after.
void explainCommunication(const CompiledWorkload &workload, ReportStyle style, const SourceManager &sources,
                          llvm::raw_ostream &os);

/// Each tensor that the pattern names: its type and home, for each axis of the mesh the rules that were considered and
/// what became of them, who makes and who reads it, and the collectives in between. False if it names none.
bool explainTensors(const CompiledWorkload &workload, const PathPattern &pattern, ReportStyle style,
                    const SourceManager &sources, llvm::raw_ostream &os);

/// What the actions of a schedule cost: what is given; or by the machine; or, without both, in turn one unit each and
/// by kDefaultMachine.
struct ScheduleCostOptions {
  std::optional<StageCosts> given;
  std::optional<Machine> machine;
  /// Of messages between stages on a machine, in 10^9 bytes/s; 0: they take no time.
  double linkGbps = 0;
};

/// An H100.
inline constexpr Machine kDefaultMachine = {.peakTflops = 989, .memoryGbps = 3350};

/// Reads `F=1,I=1,W=0.5,comm=0.1`: what is not named keeps its unit cost, messages 0. Else what is wrong with it.
std::variant<StageCosts, std::string> readStageCosts(llvm::StringRef text);

/// The stages, what each rank of the pipeline does in turn, and how long that takes. `width` is that of the lines. The
/// program has a pipeline.
void explainSchedule(const CompiledWorkload &workload, const ScheduleCostOptions &options, size_t width,
                     llvm::raw_ostream &os);

/// The chart of each workload that has a pipeline, one below the other, as an SVG.
std::string scheduleSvg(const std::vector<CompiledWorkload> &workloads, const ScheduleCostOptions &options);

/// Peak memory of each class of ranks by category, when it is, and what the fullest has by unit.
void explainMemory(const CompiledWorkload &workload, llvm::raw_ostream &os);

/// The memory of the fullest rank over a step of each workload, one chart below the other, as an SVG. `limit`: the
/// memory of a rank in bytes, to be drawn as well, and `limitText` its name.
std::string memorySvg(const std::vector<CompiledWorkload> &workloads, std::optional<int64_t> limit,
                      llvm::StringRef limitText);

} // namespace stg

#endif
