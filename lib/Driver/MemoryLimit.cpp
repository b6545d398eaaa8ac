//===- MemoryLimit.cpp ------------------------------------------------------===//
// The knobs stand in the order of what they cost at run time: nothing but memory first, then time on the links that are
// there, then computing twice, then another mesh. What each saves is an estimate from the peak at hand: the peak of the
// changed plan may be at another moment.
#include "MemoryLimit.h"
#include "MemoryFacts.h"
#include "stg/IR/BatchRanks.h"
#include "stg/Trace/Unroll.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace stg {

std::optional<int64_t> readMemoryLimit(llvm::StringRef text, Diagnostics &diags) {
  llvm::StringRef digits = text;
  double unit = digits.consume_back("GiB") ? 0x1p30 : digits.consume_back("GB") ? 1e9 : 0;
  double number = 0;
  bool isNumber = !digits.empty() && digits.find_first_not_of("0123456789.") == llvm::StringRef::npos &&
                  !digits.getAsDouble(number);
  if (unit != 0 && isNumber && number > 0 && number < 1e6)
    return static_cast<int64_t>(number * unit);
  diags.report(diag::MemorySizeMalformed{.size = text}).note("1 GB is 10^9 bytes, 1 GiB 2^30");
  return std::nullopt;
}

namespace {

struct Knob {
  std::string what;
  int64_t saved;
};

class Knobs {
public:
  Knobs(const Program &program, const MemoryFacts &facts) : program_(program), facts_(facts), peak_(facts.peak()) {}

  std::vector<Knob> run() {
    shardStorage();
    splitBatch();
    recompute();
    offload();
    growMesh();
    return std::move(knobs_);
  }

private:
  void add(std::string what, double saved) {
    if (saved >= 1)
      knobs_.push_back({std::move(what), static_cast<int64_t>(saved)});
  }

  double alive(MemoryKind kind) const { return static_cast<double>(peak_.alive[kind]); }

  BatchRanks batch() const { return batchRanks(program_.mesh, program_.plan.splits, program_.context->name("B")); }

  void shardStorage() {
    BatchRanks ranks = batch();
    uint32_t stage = 0;
    for (const StorageRule &rule : program_.plan.storage)
      stage = std::max(stage, rule.stage);
    if (ranks.count < 2 || program_.mode != Mode::Train)
      return;
    double left = 1 - 1 / static_cast<double>(ranks.count);
    double optimizer = alive(MemoryKind::Optimizer) * left, gradients = alive(MemoryKind::Gradients) * left;
    if (stage < 1)
      add("zero 1 over " + axes(ranks), optimizer);
    if (stage < 2)
      add("zero 2 over " + axes(ranks), (stage < 1 ? optimizer : 0) + gradients);
    // The unit at work and the one after it are there whole.
    double whole = 2 * alive(MemoryKind::Parameters) / std::max<double>(1, static_cast<double>(peak_.units.size()));
    if (stage < 3)
      add("zero 3 over " + axes(ranks),
          (stage < 1 ? optimizer : 0) + (stage < 2 ? gradients : 0) + (alive(MemoryKind::Parameters) - whole) * left);
  }

  /// `dp = 8 x rep = 2` as a plan writes it: `dp, rep`.
  static std::string axes(const BatchRanks &ranks) {
    std::string text;
    llvm::SmallVector<llvm::StringRef, 4> parts;
    llvm::StringRef(ranks.axes).split(parts, " x ");
    for (llvm::StringRef part : parts)
      text += (text.empty() ? "" : ", ") + part.split(" = ").first.str();
    return text;
  }

  double moving() const {
    double sum = 0;
    for (size_t i = 0; i < kDeviceMemoryKinds; ++i)
      if (!isKept(static_cast<MemoryKind>(i)) && static_cast<MemoryKind>(i) != MemoryKind::Gathered)
        sum += alive(static_cast<MemoryKind>(i));
    return sum;
  }

  /// Half the sequences in a micro-batch, twice the micro-batches.
  void splitBatch() {
    if (program_.mode != Mode::Train)
      return;
    for (const SizeParameter &size : program_.sizes)
      if (program_.text(size.name) == "B") {
        int64_t sequences = size.symbol.size().value_or(0) / batch().count;
        if (sequences >= 2)
          add(fmt::format("microbatch {} instead of {}", sequences / 2, sequences),
              moving() * static_cast<double>(sequences - sequences / 2) / static_cast<double>(sequences));
      }
  }

  /// What units share is kept, and of one unit all is there again in its backward.
  void recompute() {
    if (!program_.plan.recompute.empty() || program_.mode != Mode::Train)
      return;
    double saved = 0, again = 0;
    for (const UnitMemory &unit : peak_.units) {
      auto inside = static_cast<double>(facts_.memory.savedInside(unit.unit));
      saved += inside * unit.microBatches;
      again = std::max(again, inside);
    }
    add("recompute all", saved - again);
  }

  void offload() {
    bool isOffloaded =
        llvm::any_of(program_.plan.offload, [](const OffloadRule &rule) { return rule.masters || rule.moments; });
    if (!isOffloaded)
      add("offload optimizer to host", alive(MemoryKind::Optimizer));
  }

  double kept() const {
    return alive(MemoryKind::Parameters) + alive(MemoryKind::Gradients) + alive(MemoryKind::Optimizer);
  }

  /// Twice the ranks on the axis that splits weights, and on that of the pipeline.
  void growMesh() {
    if (std::string axis = weightAxis(); !axis.empty())
      add("twice as many ranks on " + axis, kept() / 2);
    if (program_.pipeline)
      add("twice as many ranks on " + program_.plan.pipeline->axis, kept() / 2);
  }

  std::string weightAxis() const {
    for (const Body &body : program_.bodies)
      for (const WeightSlot &slot : body.weights)
        for (uint32_t atom = 0; slot.layout && atom < slot.layout->places.size(); ++atom)
          if (slot.layout->places[atom].isSplit())
            return axesOf(atom);
    return "";
  }

  std::string axesOf(uint32_t atom) const {
    for (const MeshAxis &axis : program_.mesh.axes)
      if (llvm::is_contained(program_.mesh.atomsOf(axis.name), atom))
        return axis.name;
    return "";
  }

  const Program &program_;
  const MemoryFacts &facts_;
  const MemoryPeak &peak_;
  std::vector<Knob> knobs_;
};

/// In the unit of the limit.
std::string sizeText(double bytes, bool isBinary) {
  return isBinary ? fmt::format("{:.2f} GiB", bytes / 0x1p30) : fmt::format("{:.2f} GB", bytes / 1e9);
}

} // namespace

void warnIfTooLarge(const Program &program, const MemoryLimitCheck &check, Diagnostics &diags) {
  auto [name, where, limit, text] = check;
  std::optional<MemoryFacts> facts = memoryFacts(program);
  if (facts && facts->peak().bytes() <= limit)
    return;
  bool isBinary = text.ends_with("GiB");
  if (!facts) {
    diags.report(where,
                 diag::DoesNotFit{.workload = name, .rank = 0, .peak = "more than any memory has", .memory = text});
    return;
  }
  auto peak = static_cast<double>(facts->peak().bytes());
  auto warning = diags.report(where, diag::DoesNotFit{.workload = name,
                                                      .rank = static_cast<int64_t>(firstRankOf(program, facts->worst)),
                                                      .peak = sizeText(peak, isBinary),
                                                      .memory = text});
  if (facts->peaks.size() > 1)
    warning.note(fmt::format(
        "of {} ranks of the pipeline {} need more", facts->peaks.size(),
        llvm::count_if(facts->peaks, [&, most = limit](const MemoryPeak &each) { return each.bytes() > most; })));
  for (const Knob &knob : Knobs(program, *facts).run())
    warning.note(fmt::format("{} would save about {}{}", knob.what, sizeText(static_cast<double>(knob.saved), isBinary),
                             facts->peak().bytes() - knob.saved <= limit ? ", and fit" : ""));
}

} // namespace stg
