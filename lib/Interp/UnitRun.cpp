//===- UnitRun.cpp --------------------------------------------------------===//
#include "UnitRun.h"
#include "LocalOp.h"
#include "stg/IR/LayoutOps.h"

namespace stg::interp {

TensorDim RunContext::held(const Dim &dim, const std::optional<Layout> &layout, size_t rank) const {
  return dims ? dims->held(dim, layout ? &*layout : nullptr, static_cast<int64_t>(rank)) : wholeDim(dim);
}

TensorDims RunContext::held(const TensorType &type, const std::optional<Layout> &layout, size_t rank) const {
  TensorDims all;
  for (const Dim &dim : type.dims)
    all.push_back(held(dim, layout, rank));
  return all;
}

Tensor RunContext::whole(const TensorType &type, const std::optional<Layout> &layout, const RankTensors &parts) const {
  if (!dims)
    return parts.front();
  return wholeValue(type, layout ? *layout : Layout(dims->atoms().size()), parts, *dims);
}

RankTensors RunContext::parts(const Tensor &value, const TensorType &type, const std::optional<Layout> &layout) const {
  RankTensors parts;
  for (size_t rank = 0; rank < ranks(); ++rank)
    parts.push_back(dims ? partOf(value, held(type, layout, rank)) : value);
  return parts;
}

/// Whether a gather brings a part of the tensor only.
static bool leavesOut(const Op &op) {
  return op.kind == OpKind::AllGather && op.get<CollectiveFields>().algorithm == RunAlgorithm::Halo;
}

/// One op on all ranks.
class UnitOpRun {
public:
  UnitOpRun(UnitRun &unit, const Op &op, UnitOutside &outside)
      : unit_(unit), context_(unit.context_), body_(unit.body_), op_(op), outside_(outside) {}

  /// One entry per result, for all ranks.
  std::vector<RankTensors> run() {
    std::vector<RankTensors> results = evaluate();
    for (size_t i = 0; i < op_.results.size(); ++i)
      check(body_.value(op_.results[i]), results[i]);
    return results;
  }

private:
  const Value &operandValue(size_t position = 0) const { return body_.value(op_.operands[position]); }
  const RankTensors &operand(size_t position = 0) const {
    if (position >= op_.operands.size() || !op_.operands[position])
      throw InterpFault("operand " + std::to_string(position) + " has no value");
    return unit_.value(op_.operands[position]);
  }

  std::vector<RankTensors> evaluate() {
    checkMemory();
    if (convertsLayout(op_.kind))
      return layoutOp();
    if (isHostTransfer(op_.kind))
      return transfer();
    switch (op_.kind) {
    case OpKind::Input:
      return {outside_.input(slot())};
    case OpKind::Weight:
      return {outside_.weight(slot())};
    case OpKind::State:
      return {outside_.state(slot())};
    case OpKind::Gradient:
      return {outside_.gradient(slot())};
    case OpKind::Total:
      return {outside_.total(slot(), body_.value(op_.results[0]))};
    case OpKind::Update:
      outside_.writeState(slot(), ordered(body_.states[slot()].type, body_.states[slot()].layout));
      return {};
    case OpKind::Assign:
      outside_.assign(slot(), operandValue(), ordered(body_.weights[slot()].type, body_.weights[slot()].layout));
      return {};
    case OpKind::Accumulate:
      outside_.accumulate(slot(), operandValue(), ordered(body_.weights[slot()].type, body_.weights[slot()].buffer));
      return {};
    case OpKind::Tally:
      outside_.tally(slot(), operandValue(), operand());
      return {};
    default:
      return localOp();
    }
  }

  /// What is stored is loaded before it is used, and nothing else is loaded.
  void checkMemory() const {
    bool wants = op_.kind == OpKind::Load || (op_.kind == OpKind::Assign && body_.weights[slot()].host) ||
                 (op_.kind == OpKind::Update && body_.states[slot()].host);
    for (ValueId value : op_.operands)
      if (value && isOnHost(body_, value) != wants)
        throw InterpFault(wants ? "reads from the host what was not stored there" : "reads what is on the host");
  }

  std::vector<RankTensors> transfer() {
    std::vector<RankTensors> results;
    for (size_t i = 0; i < op_.results.size(); ++i)
      results.push_back(operand(i));
    return results;
  }

  uint32_t slot() const { return op_.get<SlotFields>().slot; }

  std::vector<RankTensors> localOp() {
    std::vector<RankTensors> results(op_.results.size());
    for (size_t rank = 0; rank < context_.ranks(); ++rank) {
      std::vector<Tensor> operands;
      for (size_t i = 0; i < op_.operands.size(); ++i)
        operands.push_back(operand(i)[rank]);
      auto heldDim = [&](uint32_t result, const Dim &dim) {
        const std::optional<Layout> none;
        return context_.held(dim, result < op_.results.size() ? body_.value(op_.results[result]).layout : none, rank);
      };
      OpPlace place{context_.program, body_, unit_.seed_, unit_.path_, heldDim, context_.elements};
      try {
        std::vector<Tensor> made = evaluateOp(op_, std::move(operands), place);
        for (size_t i = 0; i < results.size(); ++i)
          results[i].push_back(std::move(made[i]));
      } catch (const InterpFault &fault) {
        if (!context_.dims)
          throw;
        throw InterpFault("on rank " + std::to_string(context_.dims->meshRank(static_cast<int64_t>(rank))) + ": " +
                              fault.what(),
                          fault.where());
      }
    }
    if (op_.kind == OpKind::Append)
      keepAppended(results[0]);
    return results;
  }

  /// What was appended stays in the state that operand 0 is.
  void keepAppended(const RankTensors &result) {
    const Op &source = body_.op(operandValue().def);
    if (source.kind == OpKind::State)
      outside_.writeState(source.get<SlotFields>().slot, result);
  }

  /// The operand in the order of dims that the slot has.
  RankTensors ordered(const TensorType &type, const std::optional<Layout> &layout) const {
    RankTensors all;
    for (size_t rank = 0; rank < context_.ranks(); ++rank) {
      TensorDims stated = context_.held(type, layout, rank);
      llvm::SmallVector<NameId, 6> order;
      for (const TensorDim &dim : stated)
        order.push_back(dim.name);
      all.push_back(permuted(operand()[rank], order));
      if (all.back().dims != stated)
        throw InterpFault("writes " + describe(all.back().dims, *context_.program.context) + " to " +
                          describe(stated, *context_.program.context));
    }
    return all;
  }

  std::vector<RankTensors> layoutOp() {
    std::vector<RankTensors> results;
    for (size_t i = 0; i < op_.results.size(); ++i) {
      if (!context_.dims) {
        results.push_back(operand(i));
        continue;
      }
      const Value &from = operandValue(i), &to = body_.value(op_.results[i]);
      if (!from.type || !from.layout || !to.layout)
        throw InterpFault("changes the layout of a value that has none");
      if (op_.kind == OpKind::Convert) {
        if (op_.get<ConvertFields>().to != *to.layout)
          throw InterpFault("does not give the layout that it states");
      } else {
        checkMoves(*from.layout, *to.layout);
      }
      results.push_back(relaid(*from.type, *from.layout, *to.layout, operand(i), *context_.dims));
      if (leavesOut(op_))
        leaveOut(from, op_.results[i], results.back());
      if (op_.kind == OpKind::Demote && movesCommonAtoms() && !outside_.keepsShare())
        for (Tensor &part : results.back())
          std::fill(part.data.begin(), part.data.end(), 0);
    }
    return results;
  }

  /// A halo brings the entries just before a rank's own. The others get a number that would be noticed.
  void leaveOut(const Value &from, ValueId gathered, RankTensors &parts) const {
    constexpr double kLeftOut = 1e3;
    NameId name = op_.get<CollectiveFields>().from;
    int64_t reach = reachOf(gathered);
    for (size_t rank = 0; rank < parts.size(); ++rank) {
      TensorDim own = context_.held(*from.type->find(name), from.layout, rank);
      Tensor &part = parts[rank];
      int64_t inner = 1;
      const TensorDim *dim = nullptr;
      for (const TensorDim &each : llvm::reverse(part.dims)) {
        if (each.name == name) {
          dim = &each;
          break;
        }
        inner *= each.size;
      }
      for (size_t i = 0; dim && i < part.data.size(); ++i) {
        int64_t at = dim->position(static_cast<int64_t>(i) / inner % dim->size);
        if (at < own.position(0) - reach || at > own.position(own.size - 1))
          part.data[i] = kLeftOut;
      }
    }
  }

  /// Entries before a query's own that the window of the call that reads them lets it see.
  int64_t reachOf(ValueId gathered) const {
    for (const Op &reader : body_.ops)
      if (reader.kind == OpKind::Call && llvm::is_contained(reader.operands, gathered))
        for (const auto &[name, value] : reader.get<CallFields>().statics)
          if (const auto *mask = std::get_if<MaskValue>(&value); mask && mask->kind == MaskKind::Window)
            return mask->parameters[0].size().value_or(1) - 1;
    throw InterpFault("runs as a halo for a call without a window");
  }

  bool movesCommonAtoms() const {
    return llvm::any_of(op_.get<CollectiveFields>().atoms,
                        [&](uint32_t atom) { return context_.dims->isCommon(atom); });
  }

  /// A collective moves exactly its atoms, all in the way that it states.
  void checkMoves(const Layout &from, const Layout &to) const {
    const auto &fields = op_.get<CollectiveFields>();
    if (op_.kind != OpKind::Demote && movesCommonAtoms())
      throw InterpFault("joins ranks of the pipeline, which run this at different times");
    for (uint32_t atom = 0; atom < from.places.size(); ++atom) {
      const Place &old = from.places[atom], &wanted = to.places[atom];
      bool isMember = llvm::is_contained(fields.atoms, atom);
      const std::string &name = context_.dims->atoms()[atom].name;
      if (isMember ? moveOf(old, wanted) != op_.kind : old != wanted)
        throw InterpFault("does not move atom `" + name + "` as its layouts say");
      if (!isMember)
        continue;
      bool namesDims = !fields.isStorage; // each operand has its own
      if ((namesDims && old.isSplit() && old.dim != fields.from) ||
          (namesDims && wanted.isSplit() && wanted.dim != fields.to) || (old.isPartial() && old.fn != fields.fn))
        throw InterpFault("says other dims or another function for atom `" + name + "` than its layouts");
    }
  }

  void check(const Value &value, const RankTensors &made) {
    if (value.type)
      for (size_t rank = 0; rank < made.size(); ++rank)
        checkDims(made[rank], context_.held(*value.type, value.layout, rank), value.type->element,
                  *context_.program.context);
    for (const Tensor &part : made)
      countElements(part, context_.elements);
  }

  UnitRun &unit_;
  RunContext &context_;
  const Body &body_;
  const Op &op_;
  UnitOutside &outside_;
};

void UnitRun::run(UnitOutside &outside, llvm::function_ref<bool(const Op &)> wanted,
                  llvm::function_ref<void(ValueId, const RankTensors &)> made) {
  for (const Op &op : body_.ops) {
    if (!wanted(op))
      continue;
    try {
      std::vector<RankTensors> results = UnitOpRun(*this, op, outside).run();
      for (size_t i = 0; i < op.results.size(); ++i) {
        if (!leavesOut(op)) // what ranks have of the same tensor differs
          made(op.results[i], results[i]);
        values_[op.results[i].index] = std::move(results[i]);
      }
    } catch (const InterpFault &fault) {
      std::string name = op.results.empty() ? path_ : nameOf(op.results.front());
      throw InterpFault(name + " (" + mnemonic(op.kind).str() + "): " + fault.what(),
                        fault.where().valid() ? fault.where() : op.where);
    }
  }
}

Tensor UnitRun::whole(ValueId id, const RankTensors &parts) const {
  const Value &value = body_.value(id);
  return value.type ? context_.whole(*value.type, value.layout, parts) : parts.front();
}

const RankTensors &UnitRun::value(ValueId id) const {
  if (id.index >= values_.size() || !values_[id.index])
    throw InterpFault("needs a value of " + path_ + " that has not been computed");
  return *values_[id.index];
}

std::string UnitRun::nameOf(ValueId id) const {
  NameId name = body_.value(id).name;
  return name ? path_ + "." + context_.program.text(name).str() : path_;
}

} // namespace stg::interp
