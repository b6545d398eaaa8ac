//===- ExplainTensor.cpp ----------------------------------------------------===//
#include "ExplainText.h"
#include "PathText.h"
#include "TensorForms.h"
#include "stg/Analysis/AxesText.h"
#include "stg/Analysis/Communication.h"
#include "stg/Analysis/Cost.h"
#include "stg/Analysis/ValueLabels.h"
#include "stg/Driver/Explain.h"
#include "stg/Sharding/ExplainLayouts.h"
#include <fmt/format.h>

using namespace stg;
using llvm::StringRef;

namespace {

/// `contract`, `silu`, `attend`.
std::string opText(const Op &op, const Program &program) {
  if (const auto *call = std::get_if<CallFields>(&op.fields))
    return program.text(call->callee).str();
  if (const auto *map = std::get_if<MapFields>(&op.fields))
    return spelling(map->fn).str();
  return mnemonic(op.kind).str();
}

class TensorText {
public:
  TensorText(const Program &program, const FoundTensor &tensor, ReportStyle style, const SourceManager &sources,
             llvm::raw_ostream &os)
      : program_(program), tensor_(tensor), style_(style), sources_(sources), os_(os), atoms_(program.mesh.atoms()),
        unit_(tensor.sites[0].unit), body_(program.body(program.units[unit_.index])), id_(tensor.sites[0].value),
        value_(body_.value(id_)), home_(explainHome(program, unit_, id_)), items_(itemsOf(program, *value_.type)) {
    if (isStored() && !home_.pin)
      explainFirstUse();
  }

  void print() {
    os_ << "\n" << toString(*value_.type, *program_.context) << "\n";
    os_ << fmt::format("  home {}: {}, {} on each rank\n", text(home_.home), shapeText(),
                       sizeText(*value_.type, home_.home));
    printReason();
    printPlaces();
    std::vector<TensorForm> forms = formsOf(program_, tensor_.sites);
    printOrigin();
    printGradient();
    for (const TensorForm &form : forms)
      printForm(form);
  }

private:
  const Body &bodyOf(UnitId unit) const { return program_.body(program_.units[unit.index]); }
  std::string text(const Layout &layout) const { return layoutText(layout, value_, program_); }
  std::string rule(int32_t index) const { return ruleText(index, program_, sources_); }
  const Op &definition() const { return body_.op(value_.def); }

  /// Weights and states have no maker.
  bool isStored() const { return definition().kind == OpKind::Weight || definition().kind == OpKind::State; }
  bool isOfOptimizer() const { return isStored() && definition().part == Part::Step; }

  /// What is made of a weight that rests in shards, or the tensor itself.
  ValueId gathered() const {
    for (const Op &op : body_.ops)
      for (size_t i = 0; i < op.operands.size(); ++i)
        if (const auto *fields = std::get_if<CollectiveFields>(&op.fields);
            op.operands[i] == id_ && fields && fields->isStorage)
          return op.results[i];
    return id_;
  }

  /// A weight or state lives as the first op that reads it needs it: the rules of its loops decide.
  void explainFirstUse() {
    home_.home = *value_.layout;
    ValueId used = gathered();
    for (uint32_t i = 0; i < body_.ops.size() && !firstUse_; ++i)
      if (const Op &op = body_.ops[i]; llvm::is_contained(op.operands, used) && !op.compute.empty())
        firstUse_ = OpId(i);
    if (!firstUse_)
      return;
    const Op &op = body_.op(firstUse_);
    Assignment assignment = explainCompute(program_, unit_, firstUse_);
    for (size_t atom = 0; atom < atoms_.size(); ++atom)
      if (assignment.atoms[atom].item != op.compute[atom]) {
        firstUse_ = OpId(); // a sum that computes as its last addition does
        return;
      }
    items_ = itemsOf(program_, factorsOf(op, body_));
    home_.scope = scopeOf(program_, program_.unitPath(program_.units[unit_.index]), op);
    home_.assignment = std::move(assignment);
  }
  /// Whether the rules that are known put the tensor where it is.
  bool isByRules() const { return firstUse_ || layoutOf(home_.assignment, *value_.type) == home_.home; }

  std::string shapeText() const {
    std::string shape;
    for (const Dim &dim : localize(*value_.type, home_.home, atoms_, program_.context->dims).dims) {
      auto size = dim.size.size();
      shape += (shape.empty() ? "" : " x ") +
               (size && style_ == ReportStyle::Numbers ? std::to_string(*size) : dim.size.str());
    }
    return shape.empty() ? "one element" : shape;
  }
  std::string sizeText(const TensorType &type, const Layout &layout) const {
    DimExpr bytes = RankShare(program_).bytesOf(type, layout);
    return style_ == ReportStyle::Formulas ? bytes.str() + " B" : bytesText(bytes);
  }

  //===--------------------------------------------------------------------===//
  // Home
  //===--------------------------------------------------------------------===//

  void printReason() {
    if (atoms_.empty())
      os_ << "  one rank holds all of it: a plan with a mesh would place it\n";
    else if (home_.pin)
      os_ << "  pinned " << quotedText(home_.pin->where, sources_) << "\n";
    else if (isOfOptimizer())
      os_ << "  where its weight is\n";
    else if (firstUse_)
      os_ << "  as its first use needs it: " << opText(body_.op(firstUse_), program_) << " at "
          << placed(body_.op(firstUse_)) << "\n";
    else if (!isByRules())
      os_ << "  as its first use needs it\n";
  }

  void printPlaces() {
    if (home_.pin || isOfOptimizer() || !isByRules())
      return;
    for (uint32_t axis = 0; axis < program_.mesh.axes.size(); ++axis) {
      const MeshAxis &named = program_.mesh.axes[axis];
      if (named.size == 1)
        os_ << fmt::format("  {} = 1: nothing to split\n", named.name);
      for (uint32_t atom = 0; atom < atoms_.size(); ++atom)
        if (atoms_[atom].axis == axis)
          printAtom(atom);
    }
  }

  void printAtom(uint32_t atom) {
    if (isPipelines(atom)) {
      os_ << fmt::format("  {} = {} cuts the model into stages\n", atoms_[atom].name, atoms_[atom].size);
      return;
    }
    const Place &place = home_.home.places[atom];
    if (const StorageRule *rule = place.isSplit() ? storageRule(atom) : nullptr) {
      os_ << fmt::format("  {} = {} splits {}\n      stored {}\n", atoms_[atom].name, atoms_[atom].size,
                         program_.text(place.dim).str(), quotedText(rule->where, sources_));
      return;
    }
    std::vector<RuleVerdict> verdicts = verdictsOf(program_, items_, home_.scope, atom, home_.assignment);
    const MeshAxis &axis = program_.mesh.axes[atoms_[atom].axis];
    std::string whole = axis.size == atoms_[atom].size ? "" : fmt::format(" of {} = {}", axis.name, axis.size);
    os_ << fmt::format("  {} = {}{} splits {}\n", atoms_[atom].name, atoms_[atom].size, whole,
                       place.isSplit() ? program_.text(place.dim).str() : "nothing: its ranks hold copies");
    for (const RuleVerdict &verdict : verdicts)
      printVerdict(verdict, atoms_[atom]);
    if (verdicts.empty())
      os_ << "      no rule is about it\n";
  }

  /// The rule that keeps a weight in shards over an atom that its first use leaves whole.
  const StorageRule *storageRule(uint32_t atom) const {
    ValueId used = gathered();
    if (used == id_ || !body_.value(used).layout->places[atom].isWhole())
      return nullptr;
    for (const StorageRule &rule : program_.plan.storage)
      for (const std::string &axis : rule.axes)
        if (llvm::is_contained(program_.mesh.atomsOf(axis), atom))
          return &rule;
    return nullptr;
  }

  bool isPipelines(uint32_t atom) const {
    return program_.plan.pipeline && llvm::is_contained(program_.mesh.atomsOf(program_.plan.pipeline->axis), atom);
  }

  /// The dim of the tensor that the item is, else a name of the loop.
  NameId itemDim(int32_t item) const {
    const AssignItem &of = items_[static_cast<size_t>(item)];
    auto own = llvm::find_if(of.names, [&](NameId name) { return value_.type->has(name); });
    return own == of.names.end() ? of.names[0] : *own;
  }
  std::string itemName(int32_t item) const { return program_.text(itemDim(item)).str(); }

  /// `: H is KV x R` where the rule names a whole that the tensor has in parts.
  std::string factorText(const RuleVerdict &verdict) const {
    NameId dim = itemDim(verdict.item);
    const SplitRule &rule = program_.plan.splits[verdict.rule];
    for (const Factoring &factoring : program_.factorings) {
      bool isNamed = llvm::any_of(rule.dims, [&](const SplitRule::Target &one) { return one.dim == factoring.whole; });
      if (!isNamed || !llvm::is_contained(factoring.parts, dim))
        continue;
      std::string parts;
      for (NameId part : factoring.parts)
        parts += (parts.empty() ? "" : " x ") + program_.text(part).str();
      return ": " + program_.text(factoring.whole).str() + " is " + parts;
    }
    return "";
  }
  /// `: tp does not divide KV`.
  std::string indivisibleText(const RuleVerdict &verdict, const MeshAtom &atom) const {
    std::string dims;
    for (uint32_t item : verdict.indivisible)
      dims += (dims.empty() ? "" : ", ") + itemName(static_cast<int32_t>(item));
    return dims.empty() ? "" : fmt::format(": {} does not divide {}", atom.name, dims);
  }

  void printVerdict(const RuleVerdict &verdict, const MeshAtom &atom) {
    using Kind = RuleVerdict::Kind;
    std::string line = rule(static_cast<int32_t>(verdict.rule));
    switch (verdict.kind) {
    case Kind::Placed:
      os_ << "      placed " << line << factorText(verdict) << indivisibleText(verdict, atom);
      if (!value_.type->has(itemDim(verdict.item)))
        os_ << ": on " << itemName(verdict.item) << ", which only the first use has";
      os_ << "\n";
      return;
    case Kind::Copied:
      os_ << "      copied " << line << indivisibleText(verdict, atom) << "\n";
      return;
    case Kind::Late:
      os_ << "      lost   " << line << fmt::format(": wants it for {}, but comes later\n", itemName(verdict.item));
      return;
    case Kind::Absent:
      os_ << "      no     " << line << ": none of its dims is here\n";
      return;
    case Kind::Kept:
      os_ << "      no     " << line
          << fmt::format(": {} is kept whole by {}\n", itemName(verdict.item),
                         quotedText(program_.plan.keeps[verdict.keep].where, sources_));
      return;
    case Kind::Elsewhere:
      os_ << "      no     " << line << ": is about other places\n";
      return;
    }
  }

  //===--------------------------------------------------------------------===//
  // Who makes it
  //===--------------------------------------------------------------------===//

  std::string placed(const Op &op) const { return op.where.valid() ? placeText(op.where, sources_) : ""; }

  void printOrigin() {
    const Op &op = definition();
    bool isHome = *value_.layout == home_.home;
    std::string as = isHome ? " at home" : " as " + text(*value_.layout);
    switch (op.kind) {
    case OpKind::Input:
      printInput(op, as);
      return;
    case OpKind::Weight:
    case OpKind::State:
      return;
    default:
      os_ << fmt::format("made{} by {}{}\n", as, opText(op, program_), op.where.valid() ? " " + placed(op) : "");
      printCompute(op);
      if (computedAgain(program_, body_, id_))
        os_ << "made again for the backward of its unit, by a rule of recompute\n";
    }
  }

  void printInput(const Op &op, const std::string &as) {
    const InputBinding &binding = program_.units[unit_.index].inputs[op.get<SlotFields>().slot];
    const auto *from = std::get_if<UnitValue>(&binding);
    if (!from) {
      os_ << "given in each layout that is needed\n";
      return;
    }
    const Body &maker = bodyOf(from->unit);
    const Value &made = maker.value(maker.outputs[from->output].value);
    os_ << fmt::format("comes from {}.{}{}\n", program_.unitPath(program_.units[from->unit.index]),
                       program_.text(made.name ? made.name : maker.outputs[from->output].name).str(), as);
  }

  /// Why the maker leaves it elsewhere than at home: the rules that split its loops.
  void printCompute(const Op &op) {
    if (*value_.layout == home_.home || op.compute.empty())
      return;
    Assignment assignment = explainCompute(program_, unit_, value_.def);
    std::vector<OpFactor> factors = factorsOf(op, body_);
    for (uint32_t atom = 0; atom < atoms_.size(); ++atom) {
      if (value_.layout->places[atom] == home_.home.places[atom] || op.compute[atom] < 0)
        continue;
      AssignItem item = itemsOf(program_, factors)[static_cast<size_t>(op.compute[atom])];
      const char *partial = value_.layout->places[atom].isPartial() ? ", over which it sums" : "";
      os_ << fmt::format("      {} splits {}{}", atoms_[atom].name, program_.text(item.names[0]).str(), partial);
      bool isByRule = assignment.atoms[atom].item == op.compute[atom];
      os_ << (isByRule ? ": " + rule(assignment.atoms[atom].rule) : "") << "\n";
    }
  }

  void printGradient() {
    const Op &op = definition();
    if (op.kind != OpKind::Weight)
      return;
    const WeightSlot &slot = body_.weights[op.get<SlotFields>().slot];
    if (!slot.trained || !slot.buffer)
      return;
    TensorType type{slot.gradient, slot.type.dims};
    AtomList sums = slot.buffer->partialAtoms();
    os_ << fmt::format("gradient in {} as {}, {} on each rank{}\n", spelling(slot.gradient).str(), text(*slot.buffer),
                       sizeText(type, *slot.buffer),
                       sums.empty() ? "" : ", added up over " + axesText(sums, program_.mesh) + " once per step");
  }

  //===--------------------------------------------------------------------===//
  // Who reads it
  //===--------------------------------------------------------------------===//

  void printForm(const TensorForm &form) {
    if (form.by.empty() && form.readers.empty())
      return;
    bool isHome = form.layout == home_.home;
    if (form.readers.empty())
      os_ << "brought " << (isHome ? "home" : "to " + text(form.layout));
    else
      os_ << "read " << (isHome ? "at home" : "as " + text(form.layout));
    if (!form.by.empty())
      printConversion(form);
    else
      os_ << "\n";
    std::vector<std::string> lines;
    for (const UnitOp &reader : form.readers)
      if (std::string line = readerText(reader); !llvm::is_contained(lines, line))
        lines.push_back(std::move(line));
    for (const std::string &line : lines)
      os_ << "      by     " << line << "\n";
  }

  void printConversion(const TensorForm &form) {
    const Op &op = bodyOf(form.by[0].unit).op(form.by[0].op);
    const auto &fields = op.get<CollectiveFields>();
    if (fields.isStorage) {
      os_ << fmt::format(", by {} over {} of {}{}\n      wants  {}\n", mnemonic(op.kind).str(),
                         axesText(fields.atoms, program_.mesh), sizeText(*value_.type, home_.home),
                         op.operands.size() == 1 ? "" : " with other weights of the unit",
                         quotedText(op.where, sources_));
      return;
    }
    const Value &from = bodyOf(form.by[0].unit).value(op.operands[0]);
    os_ << fmt::format(", by {} over {}", mnemonic(op.kind).str(), axesText(fields.atoms, program_.mesh));
    if (communicates(op.kind))
      os_ << " of " << sizeText(*from.type, *from.layout);
    else
      os_ << ", which sends nothing";
    if (fields.algorithm != RunAlgorithm::Gather)
      os_ << ", as " << spelling(fields.algorithm);
    if (form.by.size() > 1)
      os_ << fmt::format(", {} times", form.by.size());
    os_ << "\n";
    if (std::string wants = rule(fields.cause.wants); !wants.empty())
      os_ << "      wants  " << wants << "\n";
  }

  std::string readerText(const UnitOp &reader) const {
    const Body &body = bodyOf(reader.unit);
    const Op &op = body.op(reader.op);
    std::string path = program_.unitPath(program_.units[reader.unit.index]) + ".";
    if (!op.results.empty() && body.value(op.results[0]).name)
      path += labelOf(program_, body, op.results[0]);
    else
      path += op.scope ? program_.text(op.scope).str() : "";
    path = StringRef(path).rtrim('.').str();
    std::string part = op.part == Part::Forward ? "" : fmt::format(" ({})", spelling(op.part).str());
    return fmt::format("{:<32} {:<14} {}{}", path, opText(op, program_), placed(op), part);
  }

  const Program &program_;
  const FoundTensor &tensor_;
  ReportStyle style_;
  const SourceManager &sources_;
  llvm::raw_ostream &os_;
  std::vector<MeshAtom> atoms_;
  UnitId unit_;
  const Body &body_;
  ValueId id_;
  const Value &value_;
  HomeExplanation home_;
  /// What the rules placed: the dims of the tensor, or the loops of its first use.
  AssignItems items_;
  OpId firstUse_;
};

} // namespace

bool stg::explainTensors(const CompiledWorkload &workload, const PathPattern &pattern, ReportStyle style,
                         const SourceManager &sources, llvm::raw_ostream &os) {
  const Program &program = workload.program;
  std::vector<FoundTensor> found = findTensors(program, pattern);
  for (const FoundTensor &tensor : found) {
    if (&tensor != found.data())
      os << "\n";
    os << fmt::format("{}: {}{} of {} on {}\n", workload.name, tensor.path,
                      tensor.alike > 1 ? fmt::format(" and {} alike", tensor.alike - 1) : "",
                      program.text(program.name).str(), meshText(program.mesh));
    TensorText(program, tensor, style, sources, os).print();
  }
  return !found.empty();
}
