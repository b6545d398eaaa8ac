//===- PrintOps.cpp - the fields of each kind of op as text ------------------------===//
#include "ProgramPrinter.h"

namespace stg::detail {

template <class Slot> std::string ProgramPrinter::slotName(const std::vector<Slot> &slots, uint32_t index) const {
  return index < slots.size() ? name(slots[index].name) : "?";
}

std::string ProgramPrinter::scalarName(uint32_t index) const {
  return index < program_.scalars.size() ? name(program_.scalars[index]) : "?";
}

std::string ProgramPrinter::operands(const Op &op) const {
  return "(" + join(op.operands, [&](ValueId id) { return value(id); }) + ")";
}

std::string ProgramPrinter::element(const Op &op, ElementType element) const {
  if (op.results.size() == 1 && op.results[0].index < body_->values.size()) {
    const std::optional<TensorType> &type = body_->value(op.results[0]).type;
    if (type && type->element == element)
      return "";
  }
  return " -> " + spelling(element).str();
}

void ProgramPrinter::printKind(const Op &op) {
  switch (op.kind) {
  case OpKind::Input:
    os_ << "input " << slotName(body_->inputs, op.get<SlotFields>().slot) << leftovers(op);
    return;
  case OpKind::Weight:
    os_ << "weight " << slotName(body_->weights, op.get<SlotFields>().slot) << leftovers(op);
    return;
  case OpKind::State:
    os_ << "state " << slotName(body_->states, op.get<SlotFields>().slot) << leftovers(op);
    return;
  case OpKind::Update:
    os_ << "update " << slotName(body_->states, op.get<SlotFields>().slot) << operands(op);
    return;
  case OpKind::Accumulate:
  case OpKind::Assign:
    os_ << mnemonic(op.kind) << " " << slotName(body_->weights, op.get<SlotFields>().slot) << operands(op);
    return;
  case OpKind::Gradient:
    os_ << "gradient " << slotName(body_->weights, op.get<SlotFields>().slot) << leftovers(op);
    return;
  case OpKind::Tally:
    os_ << "tally " << scalarName(op.get<SlotFields>().slot) << operands(op);
    return;
  case OpKind::Total:
    os_ << "total " << scalarName(op.get<SlotFields>().slot) << leftovers(op);
    return;
  case OpKind::Pad: {
    const auto &fields = op.get<PadFields>();
    os_ << "pad" << operands(op);
    if (fields.from)
      os_ << " " << name(fields.from);
    os_ << " as " << dims(fields.to) << " from " << size(fields.start);
    return;
  }
  case OpKind::Broadcast:
    os_ << "broadcast" << operands(op) << " to " << dims(op.get<BroadcastFields>().dims);
    return;
  case OpKind::Convert: {
    const auto &fields = op.get<ConvertFields>();
    const Value *from = op.operands.size() == 1 && op.operands[0].index < body_->values.size()
                            ? &body_->value(op.operands[0])
                            : nullptr;
    os_ << "convert" << operands(op) << " to "
        << stg::toString(fields.to, from && from->type ? llvm::ArrayRef(from->type->dims) : llvm::ArrayRef<Dim>(),
                         atoms_, context_.names)
        << cause(fields.cause);
    return;
  }
  case OpKind::Shard:
  case OpKind::Demote:
  case OpKind::ReduceScatter:
  case OpKind::AllReduce:
  case OpKind::AllToAll:
  case OpKind::AllGather:
    printCollective(op, op.get<CollectiveFields>());
    return;
  case OpKind::Store:
  case OpKind::Load: {
    const auto &fields = op.get<HostFields>();
    os_ << mnemonic(op.kind) << operands(op);
    if (fields.prefetch != HostFields().prefetch)
      os_ << " prefetch " << fields.prefetch;
    if (!fields.overlaps)
      os_ << " in_turn";
    return;
  }
  case OpKind::Constant: {
    const auto &fields = op.get<ConstantFields>();
    os_ << "constant " << (fields.value ? size(fields.value) : doubleText(fields.number)) << leftovers(op)
        << element(op, fields.element);
    return;
  }
  case OpKind::Iota: {
    const auto &fields = op.get<IotaFields>();
    os_ << "iota " << dims(fields.dim) << " from " << size(fields.start) << leftovers(op)
        << element(op, fields.element);
    return;
  }
  case OpKind::Contract: {
    const auto &fields = op.get<ContractFields>();
    os_ << "contract" << operands(op) << " sum" << names(fields.reduced) << element(op, fields.element);
    return;
  }
  case OpKind::Map: {
    const auto &fields = op.get<MapFields>();
    os_ << spelling(fields.fn) << operands(op) << element(op, fields.element);
    return;
  }
  case OpKind::Reduce: {
    const auto &fields = op.get<ReduceFields>();
    os_ << "reduce" << operands(op) << " " << spelling(fields.fn) << names(fields.reduced)
        << element(op, fields.element);
    return;
  }
  case OpKind::Stop:
    os_ << "stop" << operands(op);
    return;
  case OpKind::Dropout: {
    const auto &fields = op.get<DropoutFields>();
    os_ << "dropout" << operands(op) << " p " << doubleText(fields.probability) << " stream " << fields.stream;
    return;
  }
  case OpKind::Masked: {
    const auto &fields = op.get<MaskedFields>();
    os_ << "masked" << operands(op) << " " << mask(fields.mask) << " query " << name(fields.query) << " key "
        << name(fields.key) << (fields.zero ? " zero" : "");
    return;
  }
  case OpKind::View:
    os_ << "view" << operands(op);
    printView(op.get<ViewFields>());
    return;
  case OpKind::Concat: {
    const auto &fields = op.get<ConcatFields>();
    os_ << "concat" << operands(op) << " along " << dims(fields.dim) << element(op, fields.element);
    return;
  }
  case OpKind::At: {
    const auto &fields = op.get<AtFields>();
    os_ << "at" << operands(op) << " " << name(fields.dim) << " index " << size(fields.index);
    return;
  }
  case OpKind::Slice: {
    const auto &fields = op.get<SliceFields>();
    os_ << "slice" << operands(op) << " " << name(fields.from) << " as " << dims(fields.to) << " from "
        << size(fields.start);
    return;
  }
  case OpKind::Gather:
    os_ << "gather" << operands(op) << " " << name(op.get<GatherFields>().dim);
    return;
  case OpKind::Scatter: {
    const auto &fields = op.get<ScatterFields>();
    os_ << "scatter" << operands(op) << " into " << dims(fields.dim);
    if (!fields.replaced.empty())
      os_ << " replacing " << names(fields.replaced);
    os_ << element(op, fields.element);
    return;
  }
  case OpKind::Append: {
    const auto &fields = op.get<AppendFields>();
    os_ << "append" << operands(op) << " " << name(fields.from) << " into " << name(fields.into);
    return;
  }
  case OpKind::Call:
    printCall(op, op.get<CallFields>());
    return;
  }
}

std::string ProgramPrinter::group(llvm::ArrayRef<NameId> list) const {
  if (list.size() != 1)
    return names(list);
  llvm::StringRef plain = text(list[0]);
  bool isWord = plain == "order" || plain == "kernel" || plain == "part" || plain == "factored";
  return isWord ? quoted(plain) : name(list[0]);
}

void ProgramPrinter::printView(const ViewFields &fields) {
  for (size_t i = 0; i < fields.items.size(); ++i) {
    const ViewItem &item = fields.items[i];
    os_ << (i ? ", " : " ") << (item.factored ? "factored " : "") << group(item.from) << " as " << dims(item.to);
  }
  if (!fields.order.empty())
    os_ << " order " << names(fields.order);
}

std::string ProgramPrinter::factorRef(const CallFields &fields, uint32_t index) const {
  if (index >= fields.factors.size())
    return "?";
  NameId id = fields.factors[index].name;
  bool isUnique = llvm::count_if(fields.factors, [&](const Factor &factor) { return factor.name == id; }) == 1;
  return name(id) + (isUnique ? "" : ":" + std::to_string(index));
}

std::string ProgramPrinter::factorRefs(const CallFields &fields, llvm::ArrayRef<uint32_t> list) const {
  return "{" + join(list, [&](uint32_t index) { return factorRef(fields, index); }) + "}";
}

void ProgramPrinter::printCall(const Op &op, const CallFields &fields) {
  os_ << "call " << name(fields.callee) << "(";
  for (size_t i = 0; i < op.operands.size(); ++i) {
    os_ << (i ? ", " : "") << value(op.operands[i]);
    if (i < fields.operandFactors.size())
      os_ << factorRefs(fields, fields.operandFactors[i]);
  }
  os_ << ") -> (";
  for (size_t i = 0; i < fields.resultFactors.size(); ++i)
    os_ << (i ? ", " : "") << (i < fields.resultElements.size() ? spelling(fields.resultElements[i]) : "?")
        << factorRefs(fields, fields.resultFactors[i]);
  os_ << ") factors (" << join(fields.factors, [&](const Factor &factor) {
    std::string out = name(factor.name) + " is " + dims(factor.dim) + " " + spelling(factor.kind).str();
    if (!factor.args.empty())
      out += "(" + join(factor.args, [&](const StaticArg &arg) { return staticArg(arg); }) + ")";
    if (factor.along)
      out += " along " + factorRef(fields, *factor.along);
    return out;
  }) << ")";
  if (!fields.statics.empty())
    os_ << " statics (" << join(fields.statics, [&](const std::pair<NameId, StaticArg> &arg) {
      return name(arg.first) + " = " + staticArg(arg.second);
    }) << ")";
  if (fields.flops)
    os_ << " flops " << size(fields.flops);
  if (fields.other)
    os_ << " other " << size(fields.other);
  if (fields.bytes)
    os_ << " bytes " << size(fields.bytes);
  if (fields.define.valid())
    os_ << " define " << bodyName(fields.define);
  if (fields.grad.valid())
    os_ << " grad " << bodyName(fields.grad) << " ("
        << join(fields.gradOutputs, [](int32_t output) { return std::to_string(output); }) << ")";
}

std::string ProgramPrinter::bodyName(BodyId id) const {
  return id.index < program_.bodies.size() ? name(program_.body(id).name) : "?";
}

std::string ProgramPrinter::cause(const ConversionCause &cause) const {
  if (cause == ConversionCause())
    return "";
  return " cause (" + std::to_string(cause.had) + ", " + std::to_string(cause.wants) + ")";
}

void ProgramPrinter::printCollective(const Op &op, const CollectiveFields &fields) {
  os_ << mnemonic(op.kind) << operands(op) << " over ("
      << join(fields.atoms, [](uint32_t atom) { return std::to_string(atom); }) << ")";
  if (fields.from)
    os_ << " from " << name(fields.from);
  if (fields.to)
    os_ << " to " << name(fields.to);
  if (fields.fn != ReduceFn::Sum)
    os_ << " " << spelling(fields.fn);
  if (fields.isStorage)
    os_ << " storage";
  if (fields.algorithm != RunAlgorithm::Gather)
    os_ << " as " << spelling(fields.algorithm);
  os_ << cause(fields.cause);
}

} // namespace stg::detail
