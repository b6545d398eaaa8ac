//===- ReadBodies.cpp - slots, values and ops of bodies from text ----------------===//
#include "ProgramReader.h"

namespace stg::detail {

void ProgramReader::readBody() {
  uint32_t begin = lex_.position();
  std::string name = lex_.name("the body's name");
  define(bodies_, "body", name, BodyId(static_cast<uint32_t>(program_.bodies.size())), begin);
  body_ = &program_.bodies.emplace_back();
  body_->name = context_.name(name);
  values_.clear();
  inputSlots_.clear();
  weightSlots_.clear();
  stateSlots_.clear();
  lex_.want("{");
  while (!lex_.take("}"))
    readBodyLine();
}

void ProgramReader::readBodyLine() {
  uint32_t begin = lex_.position();
  if (lex_.takeWord("input")) {
    std::string name = slotName(inputSlots_, body_->inputs.size(), begin);
    InputSlot slot{context_.name(name), type()};
    for (SlotRole role : {SlotRole::Cotangent, SlotRole::Accumulator})
      if (lex_.takeWord(spelling(role))) {
        slot.role = role;
        lex_.wantWord("of");
        slot.of = lex_.number<uint32_t>("the number of an output or slot");
      }
    slot.layout = layout("layout", slot.type);
    body_->inputs.push_back(std::move(slot));
  } else if (lex_.takeWord("weight")) {
    readOwnedSlot(body_->weights, weightSlots_, begin);
  } else if (lex_.takeWord("state")) {
    readOwnedSlot(body_->states, stateSlots_, begin);
  } else if (lex_.takeWord("output")) {
    BodyOutput output;
    output.name = nameId("the output's name");
    lex_.want("=");
    output.value = operand();
    if (lex_.takeWord("cotangent")) {
      lex_.wantWord("of");
      output.cotangentOf = lex_.number<uint32_t>("the number of an input slot");
    }
    body_->outputs.push_back(output);
  } else if (lex_.takeWord("loss")) {
    body_->losses.push_back(operand());
  } else if (lex_.peek('%') || opKindFrom(lex_.peekWord())) {
    readOp();
  } else {
    lex_.expected("an op, a slot, `output`, `loss` or `}`");
  }
}

std::string ProgramReader::slotName(llvm::StringMap<uint32_t> &slots, size_t index, uint32_t begin) {
  std::string name = lex_.name("the slot's name");
  define(slots, "slot", name, static_cast<uint32_t>(index), begin);
  lex_.want(":");
  return name;
}

template <class Slot>
void ProgramReader::readOwnedSlot(std::vector<Slot> &list, llvm::StringMap<uint32_t> &slots, uint32_t begin) {
  std::string name = slotName(slots, list.size(), begin);
  Slot slot{context_.name(name), type(), true, {}};
  slot.owned = !lex_.takeWord("shared");
  if constexpr (std::is_same_v<Slot, WeightSlot>) {
    slot.trained = lex_.takeWord("trained");
    precision(slot);
    if (lex_.takeWord("comm_gradient"))
      slot.commGradient = element();
    if (lex_.takeWord("comm_weight"))
      slot.commWeight = element();
  }
  slot.host = lex_.takeWord("host");
  slot.layout = layout("layout", slot.type);
  if constexpr (std::is_same_v<Slot, WeightSlot>)
    slot.buffer = layout("buffer", slot.type);
  slot.where = lex_.since(begin);
  list.push_back(std::move(slot));
}

Layout ProgramReader::layoutText(llvm::ArrayRef<Dim> dims) {
  uint32_t begin = lex_.position();
  llvm::StringRef text = lex_.rawUntil("]");
  lex_.want("]");
  std::optional<Layout> read = layoutFrom(text.str() + "]", dims, atoms_, context_.names);
  if (!read)
    unknown("layout of these dims", text.str() + "]", begin);
  return *read;
}

std::optional<Layout> ProgramReader::layout(llvm::StringRef word, const TensorType &type) {
  if (!lex_.takeWord(word))
    return std::nullopt;
  return layoutText(type.dims);
}

ValueId ProgramReader::operand() {
  uint32_t begin = lex_.position();
  bool isNumber = false;
  std::string name = lex_.path('%', &isNumber);
  auto found = values_.find(key(name, isNumber));
  if (found == values_.end())
    unknown("value", name, begin);
  return found->second;
}

void ProgramReader::readResult(Op &op) {
  uint32_t begin = lex_.position();
  bool isNumber = false;
  std::string name = lex_.path('%', &isNumber);
  ValueId id(static_cast<uint32_t>(body_->values.size()));
  defineAs(values_, key(name, isNumber), "value", name, id, begin);
  Value value;
  value.def = OpId(static_cast<uint32_t>(body_->ops.size()));
  value.result = static_cast<uint32_t>(op.results.size());
  if (!isNumber)
    value.name = context_.name(name);
  if (lex_.take(":")) {
    value.type = type();
    value.layout = layout("layout", *value.type);
  }
  if (lex_.takeWord("at"))
    value.scope = nameId("a scope");
  body_->values.push_back(std::move(value));
  op.results.push_back(id);
}

void ProgramReader::readOp() {
  uint32_t begin = lex_.position();
  Op op;
  if (lex_.peek('%')) {
    do
      readResult(op);
    while (lex_.take(","));
    lex_.want("=");
  }
  std::optional<MapFn> fn = mapFnFrom(lex_.peekWord());
  if (fn) {
    lex_.word("");
    op.kind = OpKind::Map;
  } else {
    op.kind = enumeration(opKindFrom, "an op");
    if (op.kind == OpKind::Map)
      lex_.expected("the name of an element-wise function");
  }
  op.fields = defaultFields(op.kind);
  if (fn)
    op.get<MapFields>().fn = *fn;
  readFields(op);
  if (lex_.takeWord("part"))
    op.part = part();
  lex_.wantWord("kernel");
  op.kernel = lex_.number<uint32_t>("the number of the kernel");
  if (lex_.takeWord("scope"))
    op.scope = nameId("a scope");
  if (lex_.takeWord("compute"))
    lex_.list('(', ')', [&] { op.compute.push_back(lex_.number<int16_t>("the number of a factor or -1")); });
  op.where = lex_.since(begin);
  body_->ops.push_back(std::move(op));
}

Part ProgramReader::part() {
  uint32_t begin = lex_.position();
  std::string text = lex_.word("a part").str();
  if (lex_.take("-"))
    text += "-" + lex_.word("a part").str();
  std::optional<Part> read = partFrom(text);
  if (!read)
    unknown("part", text, begin);
  return *read;
}

} // namespace stg::detail
