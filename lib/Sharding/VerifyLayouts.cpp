//===- VerifyLayouts.cpp - layouts that fit what ops do -----------------------===//
#include "stg/Sharding/VerifyLayouts.h"
#include "SumChains.h"
#include "stg/IR/Printer.h"
#include "stg/Sharding/Conversion.h"

namespace stg {

namespace {

class LayoutVerifier {
public:
  explicit LayoutVerifier(const Program &program)
      : program_(program), atoms_(program.mesh.atoms()), reachable_(program.bodies.size(), false) {
    for (const Unit &unit : program.units)
      reachable_[unit.body.index] = true;
  }

  std::vector<Violation> run() {
    for (uint32_t i = 0; i < program_.bodies.size(); ++i)
      if (reachable_[i])
        checkBody(program_.bodies[i]);
    if (violations_.empty())
      for (uint32_t u = 0; u < program_.units.size(); ++u)
        checkUnit(UnitId(u));
    return std::move(violations_);
  }

private:
  void checkBody(const Body &body) {
    body_ = &body;
    for (const Op &op : body.ops)
      if (std::optional<std::string> fault = findFault(op))
        violations_.push_back(
            {printOp(program_, body, op) + " of body " + program_.text(body.name).str(), *fault, op.where});
    for (const BodyOutput &output : body.outputs)
      if (at(output.value).isPartial())
        violations_.push_back(
            {"output " + program_.text(output.name).str() + " of body " + program_.text(body.name).str(),
             "leaves the unit as a partial value",
             {}});
  }

  const Layout &at(ValueId id) const { return *body_->value(id).layout; }
  std::string show(ValueId id) const { return show(at(id), body_->value(id).type->dims); }
  std::string show(const Layout &layout, llvm::ArrayRef<Dim> dims) const {
    return toString(layout, dims, atoms_, program_.context->names);
  }

  std::optional<std::string> findFault(const Op &op) const {
    switch (op.kind) {
    case OpKind::Input:
      return slotFault(op.results[0], body_->inputs[op.get<SlotFields>().slot].layout);
    case OpKind::Weight:
      return slotFault(op.results[0], body_->weights[op.get<SlotFields>().slot].layout);
    case OpKind::State:
      return slotFault(op.results[0], body_->states[op.get<SlotFields>().slot].layout);
    case OpKind::Gradient:
      return slotFault(op.results[0], body_->weights[op.get<SlotFields>().slot].buffer);
    case OpKind::Accumulate:
      return slotFault(op.operands[0], body_->weights[op.get<SlotFields>().slot].buffer);
    case OpKind::Assign:
      return slotFault(op.operands[0], body_->weights[op.get<SlotFields>().slot].layout);
    case OpKind::Update:
      return slotFault(op.operands[0], body_->states[op.get<SlotFields>().slot].layout);
    case OpKind::Tally: // a scalar of the step is completed at the step
    case OpKind::Total:
      return std::nullopt;
    case OpKind::Convert:
      if (op.get<ConvertFields>().to != at(op.results[0]))
        return "has a result in " + show(op.results[0]);
      return program_.level >= Level::Explicit ? std::optional<std::string>("is not explicit") : std::nullopt;
    case OpKind::Shard:
    case OpKind::Demote:
    case OpKind::ReduceScatter:
    case OpKind::AllReduce:
    case OpKind::AllToAll:
    case OpKind::AllGather:
      return collectiveFault(op);
    case OpKind::Store:
    case OpKind::Load:
      return transferFault(op);
    default:
      return computeFault(op);
    }
  }

  std::optional<std::string> slotFault(ValueId value, const std::optional<Layout> &slot) const {
    if (!slot)
      return "has a slot without a layout";
    if (*slot != at(value))
      return "is " + show(value) + ", its slot " + show(*slot, body_->value(value).type->dims);
    return std::nullopt;
  }

  std::optional<std::string> collectiveFault(const Op &op) const {
    if (op.get<CollectiveFields>().algorithm != RunAlgorithm::Gather)
      if (std::optional<std::string> fault = streamFault(op))
        return fault;
    if (op.get<CollectiveFields>().isStorage)
      return storageFault(op);
    for (size_t i = 0; i < op.operands.size(); ++i) {
      std::optional<Layout> after = layoutAfter(op.kind, op.get<CollectiveFields>(), at(op.operands[i]));
      if (!after)
        return "cannot be applied to " + show(op.operands[i]);
      if (*after != at(op.results[i]))
        return "has a result in " + show(op.results[i]) + " instead of " +
               show(*after, body_->value(op.results[i]).type->dims);
    }
    return std::nullopt;
  }

  /// What runs as a ring or a halo does so with one call: the only reader of what it gathers, or the maker of the sum.
  /// Its collectives run alike.
  std::optional<std::string> streamFault(const Op &op) const {
    const auto &fields = op.get<CollectiveFields>();
    const Op *call = nullptr;
    uint32_t readers = 0;
    if (op.kind == OpKind::AllGather && op.results.size() == 1) {
      for (const Op &reader : body_->ops)
        if (llvm::is_contained(reader.operands, op.results[0])) {
          call = &reader;
          ++readers;
        }
      for (const BodyOutput &output : body_->outputs)
        readers += output.value == op.results[0];
    } else if (op.kind == OpKind::ReduceScatter && op.operands.size() == 1) {
      call = &body_->op(body_->value(op.operands[0]).def);
      readers = 1;
    }
    std::string how = "runs as " + spelling(fields.algorithm).str();
    if (!call || readers != 1 || call->kind != OpKind::Call || fields.isStorage)
      return how + ", but is no gather for one call and no sum of one";
    bool isAlone = true;
    for (ValueId operand : call->operands) {
      const auto *other = std::get_if<CollectiveFields>(&body_->op(body_->value(operand).def).fields);
      if (!other || other->algorithm == RunAlgorithm::Gather)
        continue;
      isAlone = false;
      if (other->algorithm != fields.algorithm || other->atoms != fields.atoms)
        return how + " beside a gather that runs otherwise";
    }
    return isAlone ? std::optional(how + ", but no operand of its call does") : std::nullopt;
  }

  /// Each operand is split on a dim of its own.
  std::optional<std::string> storageFault(const Op &op) const {
    const auto &fields = op.get<CollectiveFields>();
    for (size_t i = 0; i < op.operands.size(); ++i)
      for (uint32_t atom = 0; atom < atoms_.size(); ++atom) {
        const Place &from = at(op.operands[i]).places[atom], &to = at(op.results[i]).places[atom];
        bool fits = !llvm::is_contained(fields.atoms, atom) ? from == to
                    : op.kind == OpKind::AllGather          ? from.isSplit() && to.isWhole()
                    : op.kind == OpKind::AllReduce          ? from.isPartial() && to.isWhole()
                                                            : from.isPartial() && to.isSplit();
        if (!fits)
          return "brings " + show(op.operands[i]) + " to " + show(op.results[i]) + " over " + atoms_[atom].name;
      }
    return std::nullopt;
  }

  /// Each rank moves what it holds.
  std::optional<std::string> transferFault(const Op &op) const {
    for (size_t i = 0; i < op.operands.size(); ++i)
      if (at(op.operands[i]) != at(op.results[i]))
        return "brings " + show(op.operands[i]) + " to " + show(op.results[i]);
    return std::nullopt;
  }

  /// Whether every operand that is not a constant may be partial.
  bool isLinear(const Op &op) const {
    if (op.kind == OpKind::View || op.kind == OpKind::Stop)
      return true;
    if (op.kind == OpKind::Reduce)
      return op.get<ReduceFields>().fn == ReduceFn::Sum;
    if (op.kind != OpKind::Map)
      return false;
    MapFn fn = op.get<MapFields>().fn;
    return fn == MapFn::Add || fn == MapFn::Sub || fn == MapFn::Neg || fn == MapFn::Cast ||
           isConstantFactor(op, *body_);
  }

  std::optional<std::string> computeFault(const Op &op) const {
    std::vector<OpFactor> factors = factorsOf(op, *body_);
    if (op.compute.size() != (factors.empty() ? 0 : atoms_.size()))
      return "has no compute layout";
    for (size_t atom = 0; atom < atoms_.size(); ++atom) {
      int16_t index = op.compute.empty() ? int16_t(-1) : op.compute[atom];
      if (index >= static_cast<int16_t>(factors.size()))
        return "computes on a factor that it has not";
      const OpFactor *factor = index < 0 ? nullptr : &factors[static_cast<size_t>(index)];
      bool isPending = llvm::any_of(op.operands, [&](ValueId id) { return at(id).places[atom].isPartial(); });
      std::optional<std::string> fault = isPending ? pendingFault(op, factor, atom) : placesFault(op, factor, atom);
      if (fault)
        return fault;
    }
    return std::nullopt;
  }

  /// Partial operands: all of them, by sums, and so the result.
  std::optional<std::string> pendingFault(const Op &op, const OpFactor *factor, size_t atom) const {
    if (!isLinear(op) || factor)
      return "needs the values of a partial operand";
    bool scales = isConstantFactor(op, *body_);
    Place pending = op.kind == OpKind::Stop ? at(op.operands[0]).places[atom] : Place::partial();
    for (ValueId operand : op.operands) {
      bool isFactor = scales && body_->op(body_->value(operand).def).kind == OpKind::Constant;
      if (at(operand).places[atom] != (isFactor ? Place::whole() : pending))
        return "mixes partial and other operands over " + atoms_[atom].name;
    }
    if (at(op.results[0]).places[atom] != pending)
      return "loses that its operands are partial over " + atoms_[atom].name;
    return std::nullopt;
  }

  std::optional<std::string> placesFault(const Op &op, const OpFactor *factor, size_t atom) const {
    for (size_t i = 0; i < op.operands.size(); ++i) {
      NameId dim = factor ? factor->operandDims[i] : NameId();
      if (at(op.operands[i]).places[atom] != (dim ? Place::split(dim) : Place::whole()))
        return "finds operand " + std::to_string(i) + " in " + show(op.operands[i]) + ", which does not fit " +
               atoms_[atom].name;
    }
    for (size_t i = 0; i < op.results.size(); ++i) {
      NameId dim = factor ? factor->resultDims[i] : NameId();
      Place expected = dim                                         ? Place::split(dim)
                       : factor && factor->kind == FactorKind::Sum ? Place::partial()
                       : factor && factor->kind == FactorKind::Max ? Place::partial(ReduceFn::Max)
                                                                   : Place::whole();
      if (at(op.results[i]).places[atom] != expected)
        return "has result " + std::to_string(i) + " in " + show(op.results[i]) + ", which does not fit " +
               atoms_[atom].name;
    }
    return std::nullopt;
  }

  void checkUnit(UnitId id) {
    const Unit &unit = program_.units[id.index];
    const Body &body = program_.body(unit);
    auto check = [&](uint32_t slot, const std::optional<Layout> &there) {
      if (there != body.inputs[slot].layout)
        violations_.push_back(
            {"unit " + program_.unitPath(unit),
             "takes " + program_.text(body.inputs[slot].name).str() + " in another layout than it comes",
             {}});
    };
    for (uint32_t slot = 0; slot < body.inputs.size(); ++slot)
      if (const auto *from = std::get_if<UnitValue>(&unit.inputs[slot])) {
        const Body &other = program_.body(program_.units[from->unit.index]);
        check(slot, other.value(other.outputs[from->output].value).layout);
      }
  }

  const Program &program_;
  std::vector<MeshAtom> atoms_;
  std::vector<bool> reachable_;
  std::vector<Violation> violations_;
  const Body *body_ = nullptr;
};

} // namespace

std::vector<Violation> verifyLayouts(const Program &program) { return LayoutVerifier(program).run(); }

} // namespace stg
