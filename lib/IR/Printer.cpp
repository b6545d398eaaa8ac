//===- Printer.cpp - the IR as text -----------------------------------------===//
#include "stg/IR/Printer.h"
#include "ProgramPrinter.h"
#include <charconv>

namespace stg {

namespace detail {

std::string doubleText(double value) {
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

void ProgramPrinter::printProgram() {
  os_ << "stgir " << spelling(program_.level) << "\n";
  printHeader();
  for (const Body &body : program_.bodies)
    printBody(body);
  if (!program_.units.empty())
    os_ << "\n";
  for (const Unit &unit : program_.units)
    printUnit(unit);
  if (program_.pipeline)
    printPipeline(*program_.pipeline);
  for (const ProgramOutput &output : program_.outputs)
    os_ << "output " << name(output.name) << " = " << unitValue(output.value) << "\n";
}

llvm::StringRef ProgramPrinter::text(NameId id) const {
  return id.index < context_.names.size() ? context_.text(id) : llvm::StringRef();
}

std::string ProgramPrinter::name(NameId id) const {
  llvm::StringRef plain = text(id);
  return isBareName(plain) ? plain.str() : quoted(plain);
}

std::string ProgramPrinter::dim(const Dim &dim) const {
  if (dim.size && dim.size.isSymbol(text(dim.name)))
    return name(dim.name);
  return name(dim.name) + " = " + dim.size.str();
}

std::string ProgramPrinter::dims(llvm::ArrayRef<Dim> list) const {
  return "[" + join(list, [&](const Dim &each) { return dim(each); }) + "]";
}

std::string ProgramPrinter::names(llvm::ArrayRef<NameId> list) const {
  return "(" + join(list, [&](NameId id) { return name(id); }) + ")";
}

std::string ProgramPrinter::mask(const MaskValue &mask) const {
  std::string out = spelling(mask.kind).str();
  if (!mask.parameters.empty())
    out += "(" + join(mask.parameters, [&](DimExpr expr) { return size(expr); }) + ")";
  return out;
}

std::string ProgramPrinter::staticArg(const StaticArg &arg) const {
  if (const auto *expr = std::get_if<DimExpr>(&arg))
    return size(*expr);
  if (const auto *number = std::get_if<double>(&arg))
    return doubleText(*number);
  if (const auto *flag = std::get_if<bool>(&arg))
    return *flag ? "true" : "false";
  if (const auto *string = std::get_if<std::string>(&arg))
    return quoted(*string);
  return "mask " + mask(std::get<MaskValue>(arg));
}

void ProgramPrinter::printHeader() {
  os_ << "program " << name(program_.name) << " mode " << spelling(program_.mode) << "\n";
  if (!program_.mesh.axes.empty())
    os_ << "mesh " << axes(program_.mesh.axes) << "\n";
  for (const MeshFold &fold : program_.mesh.folds)
    os_ << "fold " << bare(fold.name) << " over " << axisNames(fold.over) << " (" << axes(fold.axes) << ")\n";
  if (!program_.sizes.empty())
    os_ << "sizes " << join(program_.sizes, [&](const SizeParameter &size) {
      std::optional<Int128> value = size.symbol.integer();
      return name(size.name) + (value ? " = " + stg::toString(*value) : "");
    }) << "\n";
  for (const Factoring &factoring : program_.factorings)
    os_ << "factor " << name(factoring.whole) << " = " << names(factoring.parts) << "\n";
  for (const Enumeration &enumeration : program_.enumerations)
    os_ << "from " << name(enumeration.dim) << " = " << names(enumeration.sources) << "\n";
  printPlan();
  printRouting();
  for (NameId scalar : program_.scalars)
    os_ << "scalar " << name(scalar) << "\n";
  for (const ProgramInput &input : program_.inputs)
    os_ << "input " << name(input.name) << " : " << type(input.type) << "\n";
  for (const ProgramWeight &weight : program_.weights)
    os_ << "weight " << name(weight.name) << " : " << type(weight.type) << "\n";
  for (const ProgramState &state : program_.states)
    os_ << "state " << name(state.name) << " : " << type(state.type) << "\n";
}

void ProgramPrinter::printRouting() {
  const Routing &routing = program_.routing;
  if (!routing.isUneven())
    return;
  os_ << "routing " << spelling(routing.kind);
  if (routing.kind == RoutingKind::Zipf)
    os_ << " " << doubleText(routing.exponent) << " seed " << routing.seed;
  else
    os_ << " (" << join(routing.loads, [](uint64_t load) { return std::to_string(load); }) << ")";
  os_ << (routing.drops ? " drop" : "") << " exchange " << spelling(routing.exchange) << "\n";
}

std::string ProgramPrinter::axisNames(llvm::ArrayRef<std::string> list) const {
  return "(" + join(list, [](const std::string &axis) { return bare(axis); }) + ")";
}

std::string ProgramPrinter::axes(llvm::ArrayRef<MeshAxis> list) const {
  return join(list, [&](const MeshAxis &axis) {
    std::string out = bare(axis.name) + " = " + std::to_string(axis.size);
    if (!axis.cuts.empty())
      out += " cut (" + join(axis.cuts, [](int64_t cut) { return std::to_string(cut); }) + ")";
    return out;
  });
}

std::string ProgramPrinter::scopes(const Scopes &list) const {
  if (list.empty())
    return "";
  return " in (" + join(list, [](const PathPattern &pattern) { return quoted(pattern.str()); }) + ")";
}

void ProgramPrinter::printPlan() {
  const Plan &plan = program_.plan;
  for (const SplitRule &rule : plan.splits)
    os_ << "split ("
        << join(rule.dims,
                [&](const SplitRule::Target &target) {
                  return name(target.dim) + (target.zigzag ? " zigzag" : "") +
                         (target.remainder == Remainder::Replicate ? " or replicate"
                          : target.remainder == Remainder::Pad     ? " pad"
                                                                   : "");
                })
        << ") over " << axisNames(rule.axes) << scopes(rule.scopes) << "\n";
  for (const KeepRule &rule : plan.keeps)
    os_ << "keep " << name(rule.dim) << scopes(rule.scopes) << "\n";
  for (const PinRule &rule : plan.pins) {
    os_ << "pin " << quoted(rule.value.str()) << " ("
        << join(rule.dims, [&](const auto &dim) { return name(dim.first) + " over " + axisNames(dim.second); }) << ")";
    if (!rule.partial.empty())
      os_ << " partial " << axisNames(rule.partial);
    os_ << "\n";
  }
  for (const KeepGatheredRule &rule : plan.keepGathered)
    os_ << "gathered " << axisNames(rule.axes) << scopes(rule.scopes) << "\n";
  for (const StorageRule &rule : plan.storage) {
    os_ << "zero " << rule.stage << " over " << axisNames(rule.axes) << scopes(rule.scopes);
    os_ << (rule.regather ? "" : " gathered_once") << (rule.regatherLast ? " last_too" : "")
        << (rule.gatherUnread ? " unread_too" : "") << (rule.unit == StorageUnit::Weight ? " by_weight" : "")
        << (rule.sync == GradientSync::MicroBatch ? " sync_each" : "") << (rule.allReduces ? " all_reduced" : "")
        << (rule.gathersLate ? " gathered_late" : "") << " prefetch " << rule.prefetch << "\n";
  }
  for (const GemmRule &rule : plan.gemms)
    os_ << "gemm " << spelling(rule.element) << scopes(rule.scopes) << "\n";
  for (const RunRule &rule : plan.runs)
    os_ << "run " << spelling(rule.algorithm) << (rule.node ? " node " + std::to_string(rule.node) : "")
        << scopes(rule.scopes) << "\n";
  for (const RecomputeRule &rule : plan.recompute)
    os_ << "recompute" << (rule.recomputes ? "" : " none") << scopes(rule.scopes)
        << (rule.keepsCommunication ? " keep_communication" : "") << (rule.stopsEarly ? "" : " to_the_end") << "\n";
  for (const OffloadRule &rule : plan.offload)
    os_ << "offload" << (rule.weights ? " weights" : "") << (rule.masters ? " masters" : "")
        << (rule.moments ? " moments" : "") << (rule.activations ? " activations" : "") << scopes(rule.scopes)
        << (rule.overlaps ? "" : " in_turn") << " prefetch " << rule.prefetch << "\n";
  for (const OptimizerRule &rule : plan.optimizers) {
    os_ << "optimizer " << (rule.name ? name(rule.name) : "none") << scopes(rule.scopes);
    if (!rule.bodies.empty())
      os_ << " (" << join(rule.bodies, [&](const auto &body) {
        return type(body.weight) + elementUnlessF32("gradient", body.gradient) +
               elementUnlessF32("master", body.master) + elementUnlessF32("moment", body.moment) + " = " +
               (body.body.index < program_.bodies.size() ? name(program_.body(body.body).name) : "?");
      }) << ")";
    os_ << "\n";
  }
  if (plan.pipeline)
    printPipelineRule(*plan.pipeline);
  if (plan.microBatches != 1)
    os_ << "microbatches " << plan.microBatches << "\n";
  if (plan.clip != 0)
    os_ << "clip " << doubleText(plan.clip) << "\n";
}

} // namespace detail

void print(const Program &program, llvm::raw_ostream &os) { detail::ProgramPrinter(program, os).printProgram(); }

std::string toString(const Program &program) {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(program, os);
  return text;
}

std::string printOp(const Program &program, const Body &body, const Op &op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  detail::ProgramPrinter(program, os).printOpLine(body, op);
  return text;
}

} // namespace stg
