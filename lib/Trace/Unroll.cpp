//===- Unroll.cpp - a program to the nodes of its ranks ---------------------===//
#include "stg/Trace/Unroll.h"
#include "ClassLoads.h"
#include "RankUnroller.h"
#include "stg/Analysis/Communication.h"
#include "stg/Analysis/Cost.h"
#include "stg/IR/LayoutOps.h"
#include "stg/Support/InternalError.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {
namespace {

class PlannedUnroller : public Unroller {
public:
  PlannedUnroller(const Program &program, const ProcessGroups &groups, const UnrollOptions &options)
      : plan_{program, groups, options, {}, {}, {}, {}, {}, {}, {}} {}

  bool prepare(PassStats &stats, Diagnostics &diags) {
    const Program &program = plan_.program;
    if (program.level < Level::Typed || program.level == Level::Laid ||
        (program.pipeline && program.level < Level::Scheduled))
      internalError(program.text(program.name),
                    "unrolling needs level Typed, or collectives instead of conversions, or "
                    "a schedule if there is a pipeline");
    if (!makeTemplates(stats, diags))
      return false;
    plan_.origins.emplace(program, plan_.templates);
    plan_.classes.emplace(program, loadAtomsOf(program, plan_.templates));
    if (program.pipeline) {
      plan_.messages.emplace(program, plan_.templates, *plan_.origins);
      plan_.firstUnits = program.pipeline->firstUnits;
      plan_.lists = program.pipeline->lists;
      return measureSums(diags) && countNodes(diags);
    }
    if (!countNodes(diags))
      return false;
    runInTurn();
    return true;
  }

  const RankClasses &rankClasses() const override { return *plan_.classes; }
  void run(uint32_t rankClass, llvm::function_ref<void(const TraceNode &)> consume) const override {
    unrollRank(plan_, rankClass, consume);
  }

private:
  bool makeTemplates(PassStats &stats, Diagnostics &diags) {
    const Program &program = plan_.program;
    plan_.templates.resize(program.bodies.size());
    bool ok = targetTakesTransfers(diags);
    uint64_t nodes = 0;
    for (const Unit &unit : program.units) {
      std::optional<BodyTemplate> &slot = plan_.templates[unit.body.index];
      if (!slot) {
        slot = makeTemplate(program, program.body(unit), plan_.groups, plan_.options.detail, stats, diags);
        if (!slot) {
          slot.emplace();
          ok = false;
        }
      }
      for (const std::vector<NodeTemplate> &phase : slot->nodes)
        nodes += phase.size();
    }
    uint32_t number = 0;
    for (std::optional<BodyTemplate> &body : plan_.templates)
      if (body)
        for (std::vector<NodeTemplate> &phase : body->nodes)
          for (NodeTemplate &node : phase)
            node.number = ++number;
    if (ok && nodes == 0) {
      diags.report(diag::NothingToTrace{.program = program.text(program.name)})
          .note("a trace needs at least one node, or its reader aborts");
      ok = false;
    }
    const std::optional<GroupCollision> &collision = plan_.groups.collision();
    if (ok && collision && plan_.options.target == TraceTarget::AstraSim)
      diags
          .report(diag::GroupTagsCollide{.first = std::to_string(collision->first),
                                         .second = std::to_string(collision->second),
                                         .rank = std::to_string(collision->rank)})
          .note("it multiplies ids by 10^6 in 32 bits, which wraps from group 2148 on")
          .help("use fewer ranks or axes for a simulation, or --target=chakra for another reader");
    return ok;
  }

  bool targetTakesTransfers(Diagnostics &diags) const {
    if (plan_.options.target != TraceTarget::AstraSim)
      return true;
    for (const Body &body : plan_.program.bodies)
      for (const Op &op : body.ops)
        if (isHostTransfer(op.kind)) {
          diags.report(op.where, diag::OffloadTarget{}).help("--target=chakra, for another reader");
          return false;
        }
    return true;
  }

  /// A class of ranks is encoded in memory.
  bool countNodes(Diagnostics &diags) const {
    constexpr Int128 kMostNodes = 1'000'000'000;
    const Program &program = plan_.program;
    Int128 most = 0;
    for (uint32_t rank = 0; rank < pipelineRanks(program); ++rank) {
      Int128 nodes = 0;
      std::vector<BodyRuns> runs = runsPerBody(program, rank);
      for (size_t body = 0; body < runs.size(); ++body)
        if (runs[body].inStep != 0)
          nodes += Int128{runs[body].inMicroBatches} *
                   Int128(plan_.templates[body]->of(Phase::Forward).size() + plan_.templates[body]->backward.size());
      most = std::max(most, nodes);
    }
    if (most <= kMostNodes)
      return true;
    diags.report(diag::TooManyNodes{.nodes = static_cast<int64_t>(std::min<Int128>(most, INT64_MAX))})
        .note("the limit is " + std::to_string(static_cast<int64_t>(kMostNodes)))
        .help("fewer or larger micro-batches, more stages, fewer layers");
    return false;
  }

  /// One stage of all units: of each micro-batch the forward, then the backward.
  void runInTurn() {
    plan_.firstUnits = {0, static_cast<uint32_t>(plan_.program.units.size())};
    ActionList &list = plan_.lists.emplace_back();
    for (uint32_t batch = 0; batch < std::max<int64_t>(plan_.program.plan.microBatches, 1); ++batch)
      for (ActionKind kind : {ActionKind::Forward, ActionKind::Backward})
        if (kind == ActionKind::Forward || plan_.program.mode == Mode::Train)
          list.push_back({{kind, 0, batch}});
  }

  bool measureSums(Diagnostics &diags) {
    for (const BufferSum &sum : plan_.program.pipeline->sums) {
      DimExpr bytes = bytesOf(sum, plan_.program);
      std::optional<int64_t> count = bytes.size();
      if (!count) {
        diags.report(diag::CountTooLarge{.what = "bytes", .kernel = "a sum over stages", .formula = bytes.str()})
            .note("traces hold counts below 2^63");
        return false;
      }
      plan_.sumBytes.push_back(static_cast<uint64_t>(*count));
    }
    return true;
  }

  UnrollPlan plan_;
};

} // namespace

uint32_t firstRankOf(const Program &program, uint32_t place) { return RankClasses(program).firstRank(place); }

std::unique_ptr<Unroller> Unroller::create(const Program &program, const ProcessGroups &groups,
                                           const UnrollOptions &options, PassStats &stats, Diagnostics &diags) {
  auto unroller = std::make_unique<PlannedUnroller>(program, groups, options);
  if (!unroller->prepare(stats, diags))
    return nullptr;
  return unroller;
}

Outcome unroll(const Program &program, const ProcessGroups &groups, const UnrollOptions &options,
               llvm::function_ref<void(const TraceNode &)> consume, PassStats &stats, Diagnostics &diags,
               uint32_t rankClass) {
  std::unique_ptr<Unroller> unroller = Unroller::create(program, groups, options, stats, diags);
  if (!unroller)
    return Outcome::Failed;
  unroller->run(rankClass, consume);
  return Outcome::Done;
}

} // namespace stg
