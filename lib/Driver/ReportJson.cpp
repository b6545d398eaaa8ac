//===- ReportJson.cpp - what a compiled workload costs, for programs --------===//
// docs/report.md lists the keys.
#include "MemoryFacts.h"
#include "ScheduleRuns.h"
#include "WorkloadCosts.h"
#include "stg/Analysis/UnevenTraffic.h"
#include "stg/Driver/Report.h"
#include "llvm/Support/JSON.h"
#include <algorithm>

using namespace stg;
namespace json = llvm::json;

namespace {

class ReportJson {
public:
  ReportJson(const CompiledWorkload &workload, ReportStyle style)
      : workload_(workload), program_(workload.program), style_(style), costs_(costsOf(program_)),
        facts_(memoryFacts(program_)) {}

  json::Object run() const {
    json::Object report{{"model", program_.text(program_.name)},
                        {"mode", spelling(program_.mode)},
                        {"sizes", sizes()},
                        {"ranks", program_.mesh.ranks()},
                        {"micro_batches", program_.plan.microBatches},
                        {"parameters", parameters()},
                        {"flops", flops()},
                        {"bytes", of(costs_.rank().work.bytes)},
                        {"memory", memoryOverTime()},
                        {"classes", classes()},
                        {"communication", communication(costs_.rank().communication)},
                        {"opVisits", static_cast<int64_t>(workload_.opVisits)}};
    if (program_.pipeline)
      report["schedule"] = schedule();
    if (program_.routing.isUneven())
      report["routing"] = routing();
    return report;
  }

private:
  json::Value of(DimExpr value) const {
    if (style_ == ReportStyle::Formulas)
      return value.str();
    auto number = value.rational();
    if (!number)
      return value.str();
    // Integers as integers as far as JSON numbers of the library reach; beyond, the nearest double.
    if (auto size = value.size())
      return *size;
    return number->toDouble();
  }

  json::Object sizes() const {
    json::Object sizes;
    for (const SizeParameter &size : program_.sizes)
      sizes[program_.text(size.name)] = size.symbol.size().value_or(0);
    return sizes;
  }

  json::Object routing() const {
    UnevenTraffic traffic = UnevenCommunication(program_).total();
    json::Array experts;
    for (const ExpertFamily &family : traffic.families)
      experts.push_back(json::Object{{"dim", program_.text(family.experts)},
                                     {"senders", family.senders},
                                     {"slots", family.slotsPerSender},
                                     {"sent", family.sent},
                                     {"tokens", json::Array(family.taken)},
                                     {"dropped", family.dropped()}});
    return json::Object{{"kind", toString(program_.routing)},
                        {"a2av", spelling(program_.routing.exchange)},
                        {"experts", std::move(experts)},
                        {"true_bytes", static_cast<int64_t>(std::min<Int128>(traffic.trueBytes, INT64_MAX))},
                        {"padded_bytes", static_cast<int64_t>(std::min<Int128>(traffic.paddedBytes, INT64_MAX))}};
  }

  json::Object schedule() const {
    ScheduleFacts facts = scheduleFacts(program_);
    ScheduleRun run = unitCostRun(facts.schedule);
    return json::Object{{"name", facts.name},
                        {"ranks", program_.pipeline->ranks()},
                        {"chunks", facts.chunks},
                        {"micro_batches", program_.pipeline->placement.microBatches},
                        {"makespan", run.times.makespan},
                        {"bubble", run.bubble()},
                        {"in_flight", json::Array(facts.inFlight)}};
  }

  json::Object parameters() const {
    json::Array weights;
    for (const WeightRow &row : costs_.weights) {
      json::Array shape;
      for (const Dim &dim : row.type.dims)
        shape.push_back(json::Object{{"dim", program_.text(dim.name)}, {"size", of(dim.size)}});
      weights.push_back(json::Object{{"name", row.path},
                                     {"count", row.count},
                                     {"parameters", of(row.elements)},
                                     {"dtype", spelling(row.type.element)},
                                     {"shape", std::move(shape)}});
    }
    return json::Object{{"total", of(costs_.parameters)},
                        {"active", of(costs_.activeParameters)},
                        {"bytes", of(costs_.weightBytes)},
                        {"weights", std::move(weights)}};
  }

  json::Object cost(const StepCost &one) const {
    return json::Object{{"contraction", of(one.contraction)},
                        {"other", of(one.other)},
                        {"bytes", of(one.bytes)},
                        {"kernels", one.kernels}};
  }

  json::Object flops() const {
    json::Array units, ops;
    for (const UnitRow &row : costs_.units) {
      json::Object entry = cost(row.cost);
      entry["name"] = row.path;
      entry["units"] = row.units;
      units.push_back(std::move(entry));
    }
    for (const auto &[name, one] : costs_.byOp) {
      json::Object entry = cost(one);
      entry["op"] = name;
      ops.push_back(std::move(entry));
    }
    return json::Object{{"contraction", of(costs_.model.contraction)},
                        {"other", of(costs_.model.other)},
                        {"recomputed", json::Object{{"contraction", of(costs_.recomputed.contraction)},
                                                    {"other", of(costs_.recomputed.other)}}},
                        {"hardware", of(costs_.hardware)},
                        {"rank", json::Object{{"contraction", of(costs_.rank().work.contraction)},
                                              {"other", of(costs_.rank().work.other)}}},
                        {"units", std::move(units)},
                        {"ops", std::move(ops)}};
  }

  json::Array classes() const {
    json::Array rows;
    for (const RankCosts &one : costs_.classes)
      rows.push_back(json::Object{
          {"nodes", one.nodes},
          {"ranks", one.ranks},
          {"flops", json::Object{{"contraction", of(one.work.contraction)}, {"other", of(one.work.other)}}},
          {"bytes", of(one.work.bytes)},
          {"memory", memory(one.stored)},
          {"host", host(one.host)},
          {"communication", communication(one.communication)}});
    return rows;
  }

  json::Object host(const HostTraffic &traffic) const {
    return json::Object{{"loads", traffic.loads},
                        {"loaded", of(traffic.loaded)},
                        {"stores", traffic.stores},
                        {"stored", of(traffic.stored)}};
  }

  json::Object memory(const StoredBytes &stored) const {
    return json::Object{{"weights", of(stored.weights)},
                        {"gradients", of(stored.gradients)},
                        {"optimizer", of(stored.optimizer)},
                        {"states", of(stored.states)},
                        {"host", of(stored.host)}};
  }

  /// What is stored, and the peak of each place in the pipeline.
  json::Object memoryOverTime() const {
    json::Object all = memory(costs_.stored());
    if (!facts_)
      return all;
    all["peak"] = facts_->peak().bytes();
    json::Array rows;
    for (const MemoryPeak &peak : facts_->peaks)
      rows.push_back(memoryClass(peak));
    all["classes"] = std::move(rows);
    return all;
  }

  json::Object memoryClass(const MemoryPeak &peak) const {
    json::Object alive;
    for (size_t i = 0; i < kMemoryKinds; ++i) {
      std::string key = nameOf(static_cast<MemoryKind>(i)).str();
      std::replace(key.begin(), key.end(), ' ', '_');
      alive[key] = peak.alive.of[i];
    }
    json::Array units;
    for (const UnitMemory &unit : peak.units)
      units.push_back(json::Object{{"name", program_.unitPath(program_.units[unit.unit.index])},
                                   {"micro_batches", unit.microBatches},
                                   {"bytes", unit.bytes.total()}});
    json::Object row{
        {"peak", peak.bytes()}, {"host", peak.host}, {"alive", std::move(alive)}, {"units", std::move(units)}};
    row["node"] = peak.when.node;
    if (peak.when.action)
      row["action"] = json::Object{{"kind", std::string(1, letterOf(peak.when.action->kind))},
                                   {"stage", peak.when.action->stage},
                                   {"micro_batch", peak.when.action->microBatch}};
    return row;
  }

  json::Array communication(const std::vector<CommunicationSum> &sums) const {
    json::Array rows;
    for (const CommunicationSum &row : sums)
      rows.push_back(json::Object{{"kind", row.kind},
                                  {"axes", row.axes},
                                  {"group_size", row.groupSize},
                                  {"count", row.count},
                                  {"bytes", of(row.bytes)}});
    return rows;
  }

  const CompiledWorkload &workload_;
  const Program &program_;
  ReportStyle style_;
  WorkloadCosts costs_;
  std::optional<MemoryFacts> facts_;
};

} // namespace

void stg::printReportJson(const std::vector<CompiledWorkload> &workloads, ReportStyle style, llvm::raw_ostream &os) {
  json::Object all;
  for (const CompiledWorkload &workload : workloads)
    all[workload.name] = ReportJson(workload, style).run();
  os << llvm::formatv("{0:2}", json::Value(std::move(all))) << "\n";
}
