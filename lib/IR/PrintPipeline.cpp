//===- PrintPipeline.cpp - stages and schedules as text ----------------------===//
#include "ProgramPrinter.h"
#include "stg/IR/ScheduleText.h"

namespace stg::detail {

void ProgramPrinter::printPipelineRule(const PipelineRule &rule) {
  os_ << "pipeline over " << bare(rule.axis) << " schedule ";
  if (rule.given)
    os_ << "given " << placement(rule.given->placement);
  else
    os_ << quoted(nameOf(rule.schedule));
  if (rule.chunks)
    os_ << " chunks " << *rule.chunks;
  if (rule.group)
    os_ << " group " << *rule.group;
  os_ << " cut " << spelling(rule.cut);
  if (rule.cut == StageCut::Listed)
    os_ << " (" << join(rule.stages, [&](const std::vector<UnitRun> &stage) {
      return "(" + join(stage, [](const UnitRun &run) { return bare(run.name) + " * " + std::to_string(run.count); }) +
             ")";
    }) << ")";
  os_ << "\n";
  if (rule.given)
    printLists(rule.given->ranks, rule.given->placement);
}

std::string ProgramPrinter::placement(const Placement &placement) const {
  auto number = [](uint32_t rank) { return std::to_string(rank); };
  return "microbatches " + number(placement.microBatches) + " ranks " + number(placement.ranks) + " stages (" +
         join(placement.copies, [&](const std::vector<uint32_t> &copy) { return "(" + join(copy, number) + ")"; }) +
         ")";
}

void ProgramPrinter::printLists(llvm::ArrayRef<ActionList> lists, const Placement &placement) {
  for (const ActionList &list : lists)
    os_ << "  actions " << quoted(textOf(list, placement)) << "\n";
}

void ProgramPrinter::printPipeline(const Pipeline &pipeline) {
  auto number = [](uint32_t each) { return std::to_string(each); };
  os_ << "pipeline over (" << join(pipeline.atoms, number) << ") " << placement(pipeline.placement) << " units ("
      << join(pipeline.firstUnits, number) << ")\n";
  if (!pipeline.stepRanks.empty())
    os_ << "  steps ("
        << join(pipeline.stepRanks, [&](std::optional<uint32_t> rank) { return rank ? number(*rank) : "all"; })
        << ")\n";
  for (const BufferSum &sum : pipeline.sums) {
    const auto *weight = std::get_if<WeightId>(&sum.of);
    os_ << "  sum ";
    if (weight)
      os_ << "weight " << (weight->index < program_.weights.size() ? name(program_.weights[weight->index].name) : "?");
    else
      os_ << "@" << unitName(std::get<UnitId>(sum.of));
    os_ << " over (" << join(sum.ranks, number) << ")\n";
  }
  for (const Transfer &transfer : pipeline.transfers)
    os_ << "  transfer " << unitValue(transfer.value) << " from " << transfer.from << " to " << transfer.to << "\n";
  printLists(pipeline.lists, pipeline.placement);
}

} // namespace stg::detail
