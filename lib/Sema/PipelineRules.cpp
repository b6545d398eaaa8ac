//===- PipelineRules.cpp - the pipeline of a plan ------------------------------===//
// The rule as written, with its sizes: which units a model has is known when it is cut (Schedule/CutStages.h).
//===----------------------------------------------------------------------===//
#include "Plan.h"
#include "stg/IR/ScheduleText.h"
#include "stg/Support/ClosestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace stg;
using llvm::StringRef;

namespace {

/// Names of units in a `cut`, repetitions written out.
constexpr int64_t kMaxNamed = 100'000;

constexpr StringRef kFile = "file";

bool isInterleaved(ScheduleKind kind) {
  return kind == ScheduleKind::Interleaved || kind == ScheduleKind::InterleavedZeroBubble;
}

/// What stands in the parentheses behind a schedule.
std::vector<StringRef> parametersOf(ScheduleKind kind) {
  if (kind == ScheduleKind::Interleaved)
    return {"chunks", "group"};
  return isInterleaved(kind) ? std::vector<StringRef>{"chunks"} : std::vector<StringRef>{};
}

/// Larger sizes are too large for whoever reads them.
uint32_t clamped(int64_t size) { return static_cast<uint32_t>(std::min<int64_t>(size, UINT32_MAX)); }

std::string pathText(llvm::ArrayRef<ast::Name> path) {
  return llvm::join(llvm::map_range(path, [](const ast::Name &name) { return name.text; }), ".");
}

} // namespace

void PlanEvaluator::pipeline(const ast::PlanPipeline *pipeline, Scope &scope, EvaluatedPlan &result) {
  PipelineRule rule;
  rule.axis = useAxes({pipeline->axis}).front();
  rule.where = rule.scheduleWhere = rule.cutWhere = pipeline->range;
  if (pipeline->schedule)
    schedule(*pipeline->schedule, scope, rule);
  if (pipeline->cutRange.valid())
    cut(pipeline, scope, rule);
  const std::optional<PipelineRule> &other = result.plan.pipeline;
  if (other && check_ == Check::WithSizes) // else both branches of an `if` are read
    diags_.report(rule.where, diag::SecondPipeline{}).label(other->where, "the first one");
  else
    result.plan.pipeline = std::move(rule);
}

void PlanEvaluator::schedule(const ast::Config &config, Scope &scope, PipelineRule &rule) {
  rule.scheduleWhere = config.range;
  StringRef name = config.name.text;
  if (name == kFile)
    return scheduleFile(config, rule);
  if (std::optional<ScheduleKind> kind = scheduleNamed(name)) {
    rule.schedule = *kind;
    return scheduleArguments(config, scope, rule);
  }
  std::vector<StringRef> known;
  for (ScheduleKind kind : kScheduleKinds)
    known.push_back(nameOf(kind));
  known.push_back(kFile);
  auto builder = diags_.report(config.name.range, diag::UnknownSchedule{.name = name});
  if (auto close = closestName(name, known))
    builder.fixit(config.name.range, close->str());
  known.back() = "file(\"….csv\")";
  builder.note("schedules: " + llvm::join(known, " "));
}

/// `interleaved_1f1b(chunks = 2)`; a bare `chunks` is the parameter of the plan.
void PlanEvaluator::scheduleArguments(const ast::Config &config, Scope &scope, PipelineRule &rule) {
  StringRef schedule = config.name.text;
  std::vector<StringRef> parameters = parametersOf(rule.schedule);
  std::vector<StaticArgument> arguments = elaborator_.evalArguments(config.args, scope);
  bool needsChunks = isInterleaved(rule.schedule) && arguments.size() == config.args.size(); // else: reported
  std::vector<StringRef> given;
  for (const StaticArgument &argument : arguments) {
    StringRef name = argument.name.empty() ? argument.bareName : argument.name;
    if (!llvm::is_contained(parameters, name)) {
      auto builder = diags_.report(
          argument.range,
          diag::ScheduleArgument{.schedule = schedule, .fault = "takes no", .argument = sources_.text(argument.range)});
      builder.note(parameters.empty() ? "it takes nothing" : "it takes: " + llvm::join(parameters, " "));
      needsChunks = false; // perhaps it was meant
      continue;
    }
    if (name == "chunks")
      needsChunks = false;
    std::optional<uint32_t> &slot = name == "chunks" ? rule.chunks : rule.group;
    if (llvm::is_contained(given, name))
      diags_.report(argument.range, diag::GivenTwice{.word = name, .where = "`" + schedule.str() + "`"});
    given.push_back(name);
    if (auto size = number(argument.value, argument.range, name))
      slot = clamped(*size);
  }
  if (needsChunks)
    diags_.report(config.range, diag::ScheduleArgument{.schedule = schedule, .fault = "needs", .argument = "chunks"})
        .help("schedule " + schedule.str() + "(chunks = 2): two stages on each rank");
}

void PlanEvaluator::scheduleFile(const ast::Config &config, PipelineRule &rule) {
  const auto *path = config.args.size() == 1 && config.args.front().name.empty()
                         ? llvm::dyn_cast<ast::StringLit>(config.args.front().value)
                         : nullptr;
  if (!path) {
    diags_.report(config.range, diag::ScheduleArgument{.schedule = kFile, .fault = "needs", .argument = "\"path\""})
        .help("schedule file(\"schedule.csv\"): a row of actions for each rank, as PyTorch writes it");
    return;
  }
  llvm::SmallString<256> full(path->value);
  if (!llvm::sys::path::is_absolute(full)) {
    full = llvm::sys::path::parent_path(sources_.path(config.range.file));
    llvm::sys::path::append(full, path->value);
  }
  LoadResult loaded = sources_.addFile(full);
  if (loaded.status != LoadStatus::Loaded)
    return reportLoadFailure(loaded, full, path->range, diags_);
  auto read = readScheduleCsv(sources_.text(loaded.file));
  if (auto *error = std::get_if<ScheduleTextError>(&read)) {
    uint32_t begin = sources_.offsetOf(loaded.file, {error->line, error->column});
    auto end = static_cast<uint32_t>(begin + error->seen.size());
    end = std::min(end, static_cast<uint32_t>(sources_.text(loaded.file).size()));
    diags_.report({loaded.file, begin, end}, diag::ScheduleFile{.fault = faultOf(*error)})
        .noteAt(config.range, "this schedule is read from the file");
    return;
  }
  rule.given = std::move(std::get<CsvSchedule>(read).schedule);
}

void PlanEvaluator::cut(const ast::PlanPipeline *pipeline, Scope &scope, PipelineRule &rule) {
  rule.cutWhere = pipeline->cutRange;
  if (pipeline->cut != ast::CutKind::List) {
    rule.cut = pipeline->cut == ast::CutKind::Even ? StageCut::Even : StageCut::Balanced;
    return;
  }
  rule.cut = StageCut::Listed;
  auto countOf = [&](const ast::Expr *count, StringRef what) {
    return count ? number(count, scope, what).value_or(1) : 1;
  };
  Int128 named = 0;
  for (const ast::StageGroup &group : pipeline->stages) {
    std::vector<UnitRun> stage;
    for (const ast::StageUnit &unit : group.units) {
      std::string name = pathText(unit.path);
      uint32_t count = clamped(countOf(unit.count, name));
      stage.push_back({std::move(name), count, unit.range});
    }
    int64_t times = countOf(group.count, sources_.text(group.range));
    named += Int128(stage.size()) * times;
    if (named > kMaxNamed) {
      auto shown = static_cast<int64_t>(std::min<Int128>(named, INT64_MAX));
      diags_.report(rule.cutWhere, diag::ListTooLong{.count = shown, .limit = kMaxNamed});
      return;
    }
    rule.stages.insert(rule.stages.end(), static_cast<size_t>(times), stage);
  }
}

/// What else is over the ranks of a pipeline is a mistake (E413); over one rank there is no pipeline.
void PlanCompleter::completePipeline(const PipelineRule &rule) {
  AtomList atoms = program_.mesh.atomsOf(rule.axis);
  if (atoms.empty())
    return;
  auto check = [&](llvm::ArrayRef<std::string> axes, SourceRange where) {
    for (const std::string &axis : axes)
      if (llvm::any_of(program_.mesh.atomsOf(axis), [&](uint32_t atom) { return llvm::is_contained(atoms, atom); })) {
        auto builder = diags_.report(where, diag::PipelineAxisTaken{.axis = rule.axis});
        if (axis != rule.axis)
          builder.label(axis + " spans some of its ranks");
        builder.label(rule.where, "the pipeline");
        return;
      }
  };
  for (const SplitRule &split : program_.plan.splits)
    check(split.axes, split.where);
  for (const PinRule &pin : program_.plan.pins) {
    std::vector<std::string> axes = pin.partial;
    for (const auto &[dim, on] : pin.dims)
      axes.insert(axes.end(), on.begin(), on.end());
    check(axes, pin.where);
  }
  program_.plan.pipeline = rule;
}
