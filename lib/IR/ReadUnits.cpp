//===- ReadUnits.cpp - units and program outputs from text ------------------------===//
#include "ProgramReader.h"

namespace stg::detail {

void ProgramReader::readUnit() {
  uint32_t begin = lex_.position();
  std::string path = lex_.path('@');
  define(units_, "unit", path, UnitId(static_cast<uint32_t>(program_.units.size())), begin);
  Unit unit;
  llvm::StringRef text = path;
  unit.index = -1;
  if (text.ends_with("]") && text.contains('[')) {
    auto [head, digits] = text.drop_back().rsplit('[');
    int64_t index = 0;
    if (!digits.getAsInteger(10, index) && index >= 0 && std::to_string(index) == digits) {
      unit.index = index;
      text = head;
    }
  }
  unit.path = context_.name(text);
  lex_.want(":");
  unit.body = use(bodies_, "body");
  const Body &body = program_.body(unit);
  size_t next = 0;
  lex_.list('(', ')', [&] {
    wantSlot(next < body.inputs.size() ? body.inputs[next].name : NameId());
    ++next;
    if (lex_.takeWord("input"))
      unit.inputs.push_back(use(inputs_, "input"));
    else if (next <= body.inputs.size() && body.inputs[next - 1].role != SlotRole::Value)
      unit.inputs.push_back(pendBinding(unit.inputs.size()));
    else
      unit.inputs.push_back(unitOutput());
  });
  readBindings<WeightId>("weights", "weight", body.weights, &Body::weights, weights_, unit.weights);
  readBindings<StateId>("states", "state", body.states, &Body::states, states_, unit.states);
  program_.units.push_back(std::move(unit));
}

void ProgramReader::wantSlot(NameId slot) {
  uint32_t begin = lex_.position();
  std::string name = lex_.name("a slot");
  if (!slot.valid() || context_.text(slot) != name)
    unknown(slot.valid() ? "slot (bindings stand in the order of the slots)" : "slot", name, begin);
  lex_.want("=");
}

template <class GlobalId, class Slot, class Bindings>
void ProgramReader::readBindings(llvm::StringRef keyword, llvm::StringRef global, const std::vector<Slot> &slots,
                                 std::vector<Slot> Body::*list, const llvm::StringMap<GlobalId> &globals,
                                 Bindings &bindings) {
  if (!lex_.takeWord(keyword))
    return;
  llvm::SmallVector<NameId, 4> shared;
  for (const Slot &slot : slots)
    if (!slot.owned)
      shared.push_back(slot.name);
  size_t next = 0;
  lex_.list('(', ')', [&] {
    wantSlot(next < shared.size() ? shared[next] : NameId());
    ++next;
    if (lex_.takeWord(global)) {
      bindings.push_back(use(globals, global));
      return;
    }
    UnitId from = unitRef();
    uint32_t begin = lex_.position();
    std::string name = lex_.name("a slot");
    const std::vector<Slot> &theirs = program_.body(program_.units[from.index]).*list;
    for (uint32_t i = 0; i < theirs.size(); ++i)
      if (context_.text(theirs[i].name) == name) {
        bindings.push_back(UnitSlot{from, i});
        return;
      }
    unknown("slot", name, begin);
  });
}

UnitId ProgramReader::unitRef() {
  uint32_t begin = lex_.position();
  if (!lex_.peek('@'))
    lex_.expected("`@` and a unit");
  std::string path = lex_.path('@');
  auto found = units_.find(path);
  // The unit that is being read has its name already, but no output yet.
  if (found == units_.end() || found->second.index >= program_.units.size())
    unknown("earlier unit", path, begin);
  lex_.want(":");
  return found->second;
}

UnitValue ProgramReader::unitOutput() {
  UnitId from = unitRef();
  uint32_t begin = lex_.position();
  std::string name = lex_.name("an output");
  const Body &body = program_.body(program_.units[from.index]);
  for (uint32_t i = 0; i < body.outputs.size(); ++i)
    if (context_.text(body.outputs[i].name) == name)
      return {from, i};
  unknown("output", name, begin);
}

UnitValue ProgramReader::pendBinding(size_t slot) {
  uint32_t begin = lex_.position();
  PendingBinding pending{program_.units.size(), slot, {}, {}, {}};
  pending.path = lex_.path('@');
  lex_.want(":");
  pending.output = lex_.name("an output");
  pending.where = lex_.since(begin);
  laterBindings_.push_back(std::move(pending));
  return {};
}

UnitValue ProgramReader::laterOutput(const PendingBinding &pending) {
  auto unit = units_.find(pending.path);
  if (unit != units_.end()) {
    const Body &body = program_.body(program_.units[unit->second.index]);
    for (uint32_t i = 0; i < body.outputs.size(); ++i)
      if (context_.text(body.outputs[i].name) == pending.output)
        return {unit->second, i};
  }
  lex_.diags().report(pending.where, diag::IRUnknownName{.kind = "output of a unit",
                                                         .name = croppedText(pending.path + ":" + pending.output)});
  throw ReadFailure();
}

void ProgramReader::readProgramOutput() {
  ProgramOutput output;
  output.name = nameId("the output's name");
  lex_.want("=");
  output.value = unitOutput();
  program_.outputs.push_back(output);
}

} // namespace stg::detail
