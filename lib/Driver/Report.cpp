//===- Report.cpp -------------------------------------------------------------------===//
#include "stg/Driver/Report.h"
#include "PathText.h"
#include "stg/Analysis/Kernels.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include <fmt/format.h>
#include <map>

using namespace stg;
using llvm::StringRef;

namespace {

/// A row of the report: what a group of kernels costs, summed over all its units.
struct Cost {
  DimExpr contraction, other, bytes;
  int64_t kernels = 0; ///< nodes of the trace

  void add(const Kernel &kernel, int64_t units) {
    contraction = contraction ? contraction + kernel.flops.contraction * units : kernel.flops.contraction * units;
    other = other ? other + kernel.flops.other * units : kernel.flops.other * units;
    bytes = bytes ? bytes + kernel.bytes * units : kernel.bytes * units;
    kernels += units;
  }
};

struct WeightRow {
  std::string path; ///< `blocks[*].attn.wq`
  TensorType type;
  int64_t count;    ///< instances
  DimExpr elements; ///< of all instances
};

struct UnitRow {
  std::string path;
  int64_t units;
  Cost cost;
};

struct ReportData {
  std::vector<WeightRow> weights;
  DimExpr parameters, weightBytes;
  std::vector<UnitRow> units; ///< per body, in order of first appearance
  std::map<std::string, Cost> byOp;
  Cost total;
};

DimExpr elements(const TensorType &type, IRContext &context) {
  DimExpr product = context.dims.constant(1);
  for (const Dim &dim : type.dims)
    product = product * dim.size;
  return product;
}

/// What a kernel is called in the by-op table: its contraction or op, else `element-wise`.
std::string kindOf(const Kernel &kernel, const Body &body, const Program &program) {
  for (OpId id : kernel.ops) {
    const Op &op = body.op(id);
    if (auto *call = std::get_if<CallFields>(&op.fields))
      return program.text(call->callee).str();
    if (op.kind == OpKind::Contract)
      return "contract";
  }
  const Op &last = body.op(kernel.ops.back());
  switch (last.kind) {
  case OpKind::Gather:
  case OpKind::Scatter:
  case OpKind::Concat:
  case OpKind::At:
  case OpKind::Slice:
  case OpKind::Append:
    return mnemonic(last.kind).str();
  default:
    return "element-wise";
  }
}

ReportData collect(const Program &program) {
  IRContext &context = *program.context;
  ReportData data;
  DimExpr zero = context.dims.constant(0);
  data.parameters = data.weightBytes = zero;
  auto addWeight = [&](std::string path, const TensorType &type, int64_t count) {
    DimExpr size = elements(type, context) * count;
    data.parameters = data.parameters + size;
    data.weightBytes = data.weightBytes + size * context.dims.constant(Rational{bitWidth(type.element), 8});
    data.weights.push_back({std::move(path), type, count, size});
  };
  for (const ProgramWeight &weight : program.weights)
    addWeight(program.text(weight.name).str(), weight.type, 1);
  std::vector<int64_t> units = unitsPerBody(program);
  std::vector<BodyPath> paths = bodyPaths(program);
  std::vector<bool> seen(program.bodies.size(), false);
  for (const Unit &unit : program.units) {
    if (seen[unit.body.index])
      continue;
    seen[unit.body.index] = true;
    const Body &body = program.body(unit);
    int64_t count = units[unit.body.index];
    const auto &[base, family] = paths[unit.body.index];
    for (const WeightSlot &slot : body.weights)
      if (slot.owned)
        addWeight(family + "." + program.text(slot.name).str(), slot.type, count);
    UnitRow row{base, count, {}};
    BodyKernels kernels = groupKernels(body, program);
    for (const Kernel &kernel : kernels.kernels) {
      row.cost.add(kernel, count);
      data.byOp[kindOf(kernel, body, program)].add(kernel, count);
      data.total.add(kernel, count);
    }
    data.units.push_back(std::move(row));
  }
  for (Cost *cost : {&data.total})
    if (!cost->contraction)
      cost->contraction = cost->other = cost->bytes = zero;
  for (UnitRow &row : data.units)
    if (!row.cost.contraction)
      row.cost.contraction = row.cost.other = row.cost.bytes = zero;
  return data;
}

/// 1234567 -> `1.235 M`; exact below 10,000.
std::string scaled(double value, const char *unit, double base = 1000) {
  static const char *kPrefixes[] = {"", "k", "M", "G", "T", "P", "E", "Z", "Y", "R", "Q"};
  static const char *kBinary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi", "Ri", "Qi"};
  size_t step = 0;
  while (value >= base && step + 1 < std::size(kPrefixes)) {
    value /= base;
    ++step;
  }
  const char *prefix = base == 1000 ? kPrefixes[step] : kBinary[step];
  return step == 0 ? fmt::format("{:.0f} {}", value, unit) : fmt::format("{:.3f} {}{}", value, prefix, unit);
}

std::string shown(DimExpr value, ReportStyle style, const char *unit, double base = 1000) {
  if (style == ReportStyle::Formulas)
    return value.str();
  auto number = value.rational();
  return number ? scaled(number->toDouble(), unit, base) : value.str();
}

llvm::json::Value jsonOf(DimExpr value, ReportStyle style) {
  if (style == ReportStyle::Formulas)
    return value.str();
  auto number = value.rational();
  if (!number)
    return value.str();
  // Integers as integers as far as JSON numbers of the library reach; beyond, the nearest double.
  if (auto size = value.size())
    return *size;
  return number->toDouble();
}

std::string withCommas(Int128 value) {
  std::string text = toString(value);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<size_t>(at), ",");
  return text;
}

} // namespace

void stg::printReport(CompiledWorkload &workload, ReportStyle style, llvm::raw_ostream &os) {
  const Program &program = workload.program;
  ReportData data = collect(program);
  os << fmt::format("{}: {} pass of {} on {}\n", workload.name, std::string(spelling(program.mode)),
                    program.text(program.name).str(), meshText(program.mesh));
  std::string sizes;
  for (const SizeParameter &size : program.sizes)
    sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", program.text(size.name).str(),
                         withCommas(size.symbol.integer().value_or(0)));
  if (!sizes.empty())
    os << "  sizes       " << sizes << "\n";
  if (style == ReportStyle::Formulas)
    os << "  parameters  " << data.parameters.str() << "\n";
  else
    os << fmt::format("  parameters  {}, {} in memory\n", withCommas(data.parameters.integer().value_or(0)),
                      scaled(data.weightBytes.rational()->toDouble(), "B", 1024));
  if (style == ReportStyle::Formulas)
    os << fmt::format("  contraction {}\n  other       {}\n  bytes       {}\n  kernels     {}\n",
                      data.total.contraction.str(), data.total.other.str(), data.total.bytes.str(), data.total.kernels);
  else
    os << fmt::format("  FLOPs       {} in contractions, {} other\n  bytes       {} moved by {} kernels\n",
                      shown(data.total.contraction, style, "FLOP"), shown(data.total.other, style, "FLOP"),
                      shown(data.total.bytes, style, "B", 1024), data.total.kernels);

  auto table = [&](const char *title, const std::vector<std::tuple<std::string, int64_t, const Cost *>> &rows,
                   const char *count) {
    // Formulas are as long as they are: a line each instead of a column.
    if (style == ReportStyle::Formulas) {
      for (auto &[name, number, cost] : rows) {
        os << fmt::format("\n  {} {}, {} {}\n", title, name, count, number);
        for (auto &[what, value] :
             {std::pair{"contraction", cost->contraction}, {"other", cost->other}, {"bytes", cost->bytes}})
          os << fmt::format("    {:<12} {}\n", what, value.str());
      }
      return;
    }
    os << fmt::format("\n  {:<28} {:>8}  {:>18}  {:>16}  {:>14}\n", title, count, "contraction FLOPs", "other FLOPs",
                      "bytes");
    for (auto &[name, number, cost] : rows)
      os << fmt::format("  {:<28} {:>8}  {:>18}  {:>16}  {:>14}\n", name, number,
                        shown(cost->contraction, style, "FLOP"), shown(cost->other, style, "FLOP"),
                        shown(cost->bytes, style, "B", 1024));
  };
  std::vector<std::tuple<std::string, int64_t, const Cost *>> rows;
  for (const UnitRow &row : data.units)
    rows.push_back({row.path, row.units, &row.cost});
  table("unit", rows, "units");
  rows.clear();
  for (auto &[name, cost] : data.byOp)
    rows.push_back({name, cost.kernels, &cost});
  llvm::stable_sort(rows, [](auto &a, auto &b) {
    auto value = [](auto &row) {
      auto contraction = std::get<2>(row)->contraction.rational(), other = std::get<2>(row)->other.rational();
      return (contraction ? contraction->toDouble() : 0) + (other ? other->toDouble() : 0);
    };
    return value(a) > value(b);
  });
  table("op", rows, "kernels");
  // Weights may have long paths and, as formulas, long counts.
  size_t widest = 6;
  for (const WeightRow &row : data.weights)
    widest = std::max(widest, row.path.size());
  os << fmt::format("\n  {:<{}} {:>6}  {:>18}\n", "weight", widest, "times", "parameters");
  for (const WeightRow &row : data.weights)
    os << fmt::format("  {:<{}} {:>6}  {:>18}  {}\n", row.path, widest, row.count,
                      style == ReportStyle::Formulas ? row.elements.str()
                                                     : withCommas(row.elements.integer().value_or(0)),
                      toString(row.type, *program.context));
}

void stg::printReportJson(std::vector<CompiledWorkload> &workloads, ReportStyle style, llvm::raw_ostream &os) {
  llvm::json::Object all;
  for (CompiledWorkload &workload : workloads) {
    const Program &program = workload.program;
    ReportData data = collect(program);
    llvm::json::Array weights;
    for (const WeightRow &row : data.weights) {
      llvm::json::Array shape;
      for (const Dim &dim : row.type.dims)
        shape.push_back(llvm::json::Object{{"dim", program.text(dim.name)}, {"size", jsonOf(dim.size, style)}});
      weights.push_back(llvm::json::Object{{"name", row.path},
                                           {"count", row.count},
                                           {"parameters", jsonOf(row.elements, style)},
                                           {"dtype", spelling(row.type.element)},
                                           {"shape", std::move(shape)}});
    }
    auto cost = [&](const Cost &one) {
      return llvm::json::Object{{"contraction", jsonOf(one.contraction, style)},
                                {"other", jsonOf(one.other, style)},
                                {"bytes", jsonOf(one.bytes, style)},
                                {"kernels", one.kernels}};
    };
    llvm::json::Array units;
    for (const UnitRow &row : data.units) {
      llvm::json::Object entry = cost(row.cost);
      entry["name"] = row.path;
      entry["units"] = row.units;
      units.push_back(std::move(entry));
    }
    llvm::json::Array ops;
    for (auto &[name, one] : data.byOp) {
      llvm::json::Object entry = cost(one);
      entry["op"] = name;
      ops.push_back(std::move(entry));
    }
    llvm::json::Object sizes;
    for (const SizeParameter &size : program.sizes)
      sizes[program.text(size.name)] = size.symbol.size().value_or(0);
    int64_t ranks = program.mesh.ranks();
    // One step of all ranks: with plain replication each does the whole.
    DimExpr hardware = (data.total.contraction + data.total.other) * ranks;
    all[workload.name] = llvm::json::Object{
        {"model", program.text(program.name)},
        {"mode", spelling(program.mode)},
        {"sizes", std::move(sizes)},
        {"ranks", ranks},
        {"parameters", llvm::json::Object{{"total", jsonOf(data.parameters, style)},
                                          {"active", jsonOf(data.parameters, style)},
                                          {"bytes", jsonOf(data.weightBytes, style)},
                                          {"weights", std::move(weights)}}},
        {"flops", llvm::json::Object{{"contraction", jsonOf(data.total.contraction, style)},
                                     {"other", jsonOf(data.total.other, style)},
                                     {"hardware", jsonOf(hardware, style)},
                                     {"units", std::move(units)},
                                     {"ops", std::move(ops)}}},
        {"bytes", jsonOf(data.total.bytes, style)},
        {"classes", llvm::json::Array{llvm::json::Object{{"nodes", data.total.kernels}, {"ranks", ranks}}}},
        {"communication", llvm::json::Array{}},
        {"opVisits", static_cast<int64_t>(workload.opVisits)}};
  }
  os << llvm::formatv("{0:2}", llvm::json::Value(std::move(all))) << "\n";
}
