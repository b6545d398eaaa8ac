//===- RoutingRules.cpp - `routing` of a workload -----------------------------===//
#include "RoutingRules.h"
#include "stg/Analysis/ExpertLoads.h"
#include "stg/Support/ClosestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace stg;
using llvm::StringRef;

namespace {

/// Text of the file of loads: `expert,tokens`, then a row for each expert in any order.
class LoadsReader {
public:
  LoadsReader(FileId file, StringRef text, SourceRange rule, Diagnostics &diags)
      : file_(file), whole_(text), rule_(rule), diags_(diags) {}

  bool read(std::vector<uint64_t> &loads) {
    StringRef left = whole_;
    if (!readHeader(line(left)))
      return false;
    std::vector<std::pair<uint64_t, StringRef>> rows;
    while (!left.empty()) {
      StringRef row = line(left);
      if (row.trim().empty())
        continue;
      auto cells = cellsOf(row);
      if (cells.size() != 2)
        return fails(row, "a row is the number of an expert and its tokens");
      uint64_t expert = 0, tokens = 0;
      if (!readNumber(cells[0], kMostExperts, expert) || !readNumber(cells[1], UINT64_MAX, tokens))
        return false;
      if (llvm::any_of(rows, [&](const auto &known) { return known.first == expert; }))
        return fails(cells[0], "expert " + std::to_string(expert) + " stands here twice");
      rows.emplace_back(expert, cells[0]);
      if (loads.size() <= expert)
        loads.resize(expert + 1);
      loads[expert] = tokens;
    }
    if (rows.empty())
      return fails(whole_, "there is no row");
    for (uint64_t expert = 0; expert < loads.size(); ++expert)
      if (llvm::none_of(rows, [&](const auto &row) { return row.first == expert; }))
        return fails(rows.back().second, "expert " + std::to_string(expert) + " is missing: experts count from 0");
    if (llvm::all_of(loads, [](uint64_t load) { return load == 0; }))
      return fails(whole_, "no expert gets a token");
    return true;
  }

private:
  static constexpr uint64_t kMostExperts = 1'000'000;

  static StringRef line(StringRef &left) {
    auto [row, rest] = left.split('\n');
    left = rest;
    return row;
  }

  static llvm::SmallVector<StringRef, 2> cellsOf(StringRef row) {
    llvm::SmallVector<StringRef, 2> cells;
    row.split(cells, ',');
    for (StringRef &cell : cells)
      cell = cell.trim();
    return cells;
  }

  bool readHeader(StringRef row) {
    auto cells = cellsOf(row);
    if (cells.size() < 2 || cells[0] != "expert" || cells[1] != "tokens")
      return fails(row, "the first line is `expert,tokens`");
    if (cells.size() > 2)
      return fails(cells[2], "there is no column `" + cells[2].str() + "`: the columns are `expert,tokens`");
    return true;
  }

  bool readNumber(StringRef cell, uint64_t most, uint64_t &number) {
    if (cell.starts_with("-"))
      return fails(cell, "`" + cell.str() + "` is negative");
    if (cell.empty() || cell.getAsInteger(10, number) || number > most)
      return fails(cell, cell.empty() ? "a number is missing"
                                      : "`" + cell.str() + "` is no whole number up to " + std::to_string(most));
    return true;
  }

  bool fails(StringRef at, const std::string &fault) {
    at = at.rtrim();
    auto begin = static_cast<uint32_t>(at.data() - whole_.data());
    diags_.report({file_, begin, static_cast<uint32_t>(begin + at.size())}, diag::RoutingLoads{.fault = fault})
        .noteAt(rule_, "these loads are read from the file");
    return false;
  }

  FileId file_;
  StringRef whole_;
  SourceRange rule_;
  Diagnostics &diags_;
};

} // namespace

const ast::Expr *RoutingEvaluator::argument(const ast::Config &config, StringRef name, bool isFirst) const {
  for (const ast::Arg &arg : config.args)
    if (arg.name.text == name || (isFirst && arg.name.empty() && &arg == config.args.begin()))
      return arg.value;
  return nullptr;
}

void RoutingEvaluator::checkArguments(const ast::Config &config, llvm::ArrayRef<StringRef> names) {
  std::vector<StringRef> given;
  for (const ast::Arg &arg : config.args) {
    // The first needs no name.
    StringRef name = arg.name.empty() && &arg == config.args.begin() && !names.empty() ? names.front() : arg.name.text;
    if (name.empty() || !llvm::is_contained(names, name)) {
      auto builder = diags_.report(arg.range, diag::UnknownKey{.where = config.name.text,
                                                               .key = name.empty() ? sources_.text(arg.range) : name});
      builder.note(names.empty() ? config.name.text.str() + " has no keys" : "keys: " + llvm::join(names, " "));
      if (auto close = closestName(name, names); close && !arg.name.empty())
        builder.fixit(arg.name.range, close->str());
    } else if (llvm::is_contained(given, name)) {
      diags_.report(arg.range, diag::GivenTwice{.word = name, .where = "`" + config.name.text.str() + "`"});
    }
    given.push_back(name);
  }
}

double RoutingEvaluator::number(const ast::Expr *value, Scope &scope, double most, StringRef expected) {
  EvalResult result = elaborator_.evalStatic(value, scope);
  if (!result.isStatic() || result.value.isUnknown())
    return 0;
  auto number = result.value.asNumber(context_.dims);
  if (number && *number >= 0 && *number <= most)
    return *number;
  diags_.report(value->range, diag::NotUsableHere{.expression = sources_.text(value->range),
                                                  .actual = number ? (*number < 0 ? "negative" : "too large")
                                                                   : result.value.kindName(),
                                                  .expected = expected});
  return 0;
}

bool RoutingEvaluator::flag(const ast::Expr *value, Scope &scope) {
  EvalResult result = elaborator_.evalStatic(value, scope);
  if (!result.isStatic() || result.value.isUnknown())
    return false;
  if (auto *known = result.value.getIf<bool>())
    return *known;
  diags_.report(value->range, diag::NotUsableHere{.expression = sources_.text(value->range),
                                                  .actual = result.value.kindName(),
                                                  .expected = "`true` or `false`"});
  return false;
}

bool RoutingEvaluator::readLoads(const ast::Config &config, std::vector<uint64_t> &loads) {
  const auto *path = llvm::dyn_cast_or_null<ast::StringLit>(argument(config, "file", /*isFirst=*/true));
  if (!path) {
    SourceRange where = config.args.empty() ? config.range : config.args.front().range;
    diags_.report(where, diag::NotUsableHere{.expression = sources_.text(where),
                                             .actual = "no file",
                                             .expected = "the path of a file, such as \"loads.csv\""});
    return false;
  }
  llvm::SmallString<256> full(path->value);
  if (!llvm::sys::path::is_absolute(full)) {
    full = llvm::sys::path::parent_path(sources_.path(config.range.file));
    llvm::sys::path::append(full, path->value);
  }
  LoadResult loaded = sources_.addFile(full);
  if (loaded.status != LoadStatus::Loaded) {
    reportLoadFailure(loaded, full, path->range, diags_);
    return false;
  }
  return LoadsReader(loaded.file, sources_.text(loaded.file), config.range, diags_).read(loads);
}

Routing RoutingEvaluator::evaluate(const ast::WorkRouting &rule, Scope &scope) {
  Routing routing;
  routing.where = rule.range;
  const ast::Config &config = rule.config;
  std::optional<RoutingKind> kind = routingKindFrom(config.name.text);
  auto refuse = [&](SourceRange where, StringRef reason) {
    refusals_.push_back([where, reason, text = sources_.text(where)](Diagnostics &diags) {
      diags.report(where, diag::RoutingNotYet{.routing = text, .reason = reason});
    });
    return routing;
  };
  if (!kind)
    return refuse(config.range, "there are `uniform`, `zipf(s = 1.2, seed = 7)` and `trace(\"loads.csv\")`");
  if (!rule.in.empty())
    return refuse(rule.range, "one table of loads holds for all layers");
  const ast::Expr *drop = *kind == RoutingKind::Uniform ? nullptr : argument(config, "drop", false);
  if (drop)
    routing.drops = flag(drop, scope);
  switch (*kind) {
  case RoutingKind::Uniform:
    checkArguments(config, {});
    return routing;
  case RoutingKind::Zipf: {
    checkArguments(config, {"s", "seed", "drop"});
    if (const ast::Expr *exponent = argument(config, "s", true))
      routing.exponent = number(exponent, scope, kMostExponent, "the exponent, from 0 to 64, such as 1.2");
    constexpr double kMostSeed = 9007199254740992; // whole numbers are exact up to here
    if (const ast::Expr *seed = argument(config, "seed", false)) {
      double value = number(seed, scope, kMostSeed, "a whole number from 0 to 2^53");
      if (std::floor(value) != value)
        diags_.report(seed->range, diag::NotUsableHere{.expression = sources_.text(seed->range),
                                                       .actual = "no whole number",
                                                       .expected = "a whole number from 0 to 2^53"});
      routing.seed = static_cast<uint64_t>(value);
    }
    break;
  }
  case RoutingKind::Trace:
    checkArguments(config, {"file", "drop"});
    if (!readLoads(config, routing.loads))
      return routing;
    break;
  }
  routing.kind = *kind;
  return routing;
}

void stg::checkRouting(const Program &program, Diagnostics &diags) {
  const Routing &routing = program.routing;
  if (!routing.isUneven())
    return;
  std::vector<uint64_t> counts = expertCounts(program);
  if (counts.empty()) {
    diags.report(routing.where, diag::RoutingWithoutExperts{.model = program.text(program.name)})
        .note("tokens are sent where an op carries them to slots, as `dispatch` of std.moe does");
    return;
  }
  for (uint64_t count : counts)
    if (routing.kind == RoutingKind::Trace && count != routing.loads.size())
      diags.report(routing.where, diag::RoutingLoads{.fault = "the file has " + std::to_string(routing.loads.size()) +
                                                              " experts, model " + program.text(program.name).str() +
                                                              " has " + std::to_string(count)});
}
