//===- ExplainText.cpp ------------------------------------------------------===//
#include "ExplainText.h"
#include "PathText.h"
#include <fmt/format.h>

using namespace stg;

std::string stg::bytesText(DimExpr bytes) {
  auto value = bytes.rational();
  if (!value)
    return bytes.str() + " B";
  return bytesText(value->toDouble());
}

std::string stg::bytesText(double number) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; number >= 1024 && unit + 1 < std::size(units); ++unit)
    number /= 1024;
  return fmt::format("{:.6g} {}", number, units[unit]);
}

std::string stg::quotedText(SourceRange where, const SourceManager &sources) {
  if (!where.valid())
    return "";
  std::string text = sources.text(where).str();
  for (char &c : text)
    c = c == '\n' ? ' ' : c;
  return fmt::format("{} `{}`", placeText(where, sources), text);
}

std::string stg::ruleText(int32_t rule, const Program &program, const SourceManager &sources) {
  if (rule < 0 || static_cast<size_t>(rule) >= program.plan.splits.size())
    return "";
  SourceRange where = program.plan.splits[rule].where;
  return where.valid() ? quotedText(where, sources) : fmt::format("rule {}", rule + 1);
}

std::string stg::layoutText(const Layout &layout, const Value &value, const Program &program) {
  return toString(layout, value.type->dims, program.mesh.atoms(), program.context->names);
}
