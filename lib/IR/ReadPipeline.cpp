//===- ReadPipeline.cpp - stages and schedules from text ---------------------===//
#include "ProgramReader.h"
#include "stg/IR/ScheduleText.h"

namespace stg::detail {

void ProgramReader::readPipelineRule(uint32_t begin) {
  PipelineRule rule;
  lex_.wantWord("over");
  rule.axis = lex_.name("a mesh axis");
  lex_.wantWord("schedule");
  std::optional<Placement> given;
  if (lex_.takeWord("given")) {
    given = placement();
  } else {
    uint32_t nameBegin = lex_.position();
    std::string name = lex_.string();
    std::optional<ScheduleKind> kind = scheduleNamed(name);
    if (!kind)
      unknown("schedule", name, nameBegin);
    rule.schedule = *kind;
  }
  if (lex_.takeWord("chunks"))
    rule.chunks = count("the number of chunks");
  if (lex_.takeWord("group"))
    rule.group = count("the size of a group");
  lex_.wantWord("cut");
  rule.cut = enumeration(stageCutFrom, "`even`, `balanced` or `listed`");
  if (rule.cut == StageCut::Listed)
    lex_.list('(', ')', [&] {
      std::vector<UnitRun> &stage = rule.stages.emplace_back();
      lex_.list('(', ')', [&] {
        UnitRun &run = stage.emplace_back();
        run.name = lex_.name("the name of units");
        lex_.want("*");
        run.count = count("the number of units");
      });
    });
  if (given) {
    rule.given.emplace(Schedule{.placement = *given, .ranks = {}});
    rule.given->ranks = actionLists(*given);
  }
  rule.where = rule.scheduleWhere = rule.cutWhere = lex_.since(begin);
  program_.plan.pipeline = std::move(rule);
}

Placement ProgramReader::placement() {
  Placement placement;
  lex_.wantWord("microbatches");
  placement.microBatches = count("the number of micro-batches");
  lex_.wantWord("ranks");
  placement.ranks = count("the number of ranks");
  lex_.wantWord("stages");
  lex_.list('(', ')', [&] {
    std::vector<uint32_t> &copy = placement.copies.emplace_back();
    lex_.list('(', ')', [&] {
      copy.push_back(count("a rank"));
      if (copy.back() >= placement.ranks)
        lex_.expected("a smaller rank");
    });
  });
  if (placement.copies.empty() || placement.microBatches % placement.copies.size() != 0)
    lex_.expected("copies of the stages that share the micro-batches");
  placement.stages = static_cast<uint32_t>(placement.copies.front().size());
  for (const std::vector<uint32_t> &copy : placement.copies)
    if (copy.size() != placement.stages || copy.empty())
      lex_.expected("as many stages in each copy");
  return placement;
}

std::vector<ActionList> ProgramReader::actionLists(const Placement &placement) {
  std::vector<ActionList> lists;
  while (lists.size() < placement.ranks && lex_.takeWord("actions")) {
    uint32_t begin = lex_.position();
    std::string text = lex_.string();
    auto read = readActions(text, static_cast<uint32_t>(lists.size()), placement);
    if (auto *error = std::get_if<ScheduleTextError>(&read))
      unknown("action", error->seen, begin);
    lists.push_back(std::move(std::get<ActionList>(read)));
  }
  return lists;
}

void ProgramReader::readPipeline() {
  Pipeline pipeline;
  lex_.wantWord("over");
  lex_.list('(', ')', [&] {
    pipeline.atoms.push_back(count("an atom"));
    if (pipeline.atoms.back() >= atoms_.size())
      lex_.expected("a smaller number of an atom");
  });
  pipeline.placement = placement();
  lex_.wantWord("units");
  lex_.list('(', ')', [&] { pipeline.firstUnits.push_back(count("the number of a unit")); });
  if (lex_.takeWord("steps"))
    lex_.list('(', ')', [&] {
      std::optional<uint32_t> &rank = pipeline.stepRanks.emplace_back();
      if (!lex_.takeWord("all"))
        rank = count("a rank or `all`");
    });
  while (lex_.takeWord("sum")) {
    BufferSum &sum = pipeline.sums.emplace_back();
    if (lex_.takeWord("weight")) {
      sum.of = use(weights_, "weight");
    } else {
      uint32_t begin = lex_.position();
      std::string path = lex_.path('@');
      auto unit = units_.find(path);
      if (unit == units_.end())
        unknown("unit", path, begin);
      sum.of = unit->second;
    }
    lex_.wantWord("over");
    lex_.list('(', ')', [&] { sum.ranks.push_back(count("a rank")); });
  }
  while (lex_.takeWord("transfer")) {
    Transfer &transfer = pipeline.transfers.emplace_back();
    transfer.value = unitOutput();
    lex_.wantWord("from");
    transfer.from = count("a stage");
    lex_.wantWord("to");
    transfer.to = count("a stage");
  }
  pipeline.lists = actionLists(pipeline.placement);
  program_.pipeline = std::move(pipeline);
}

} // namespace stg::detail
