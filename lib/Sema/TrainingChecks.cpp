//===- TrainingChecks.cpp - is there a gradient for what is trained ------------------------===//
// Two flows over the units: forward, which values depend on a weight; backward, which values the loss depends on by a
// differentiable path. A weight that is not in the second gets no gradient (W211); a call between the two must define
// the gradient of each operand that depends on a weight (E210).
//
// Frozen weights (no optimizer) are constants here. Bodies are walked once per distinct (body, trained weights, varied
// inputs, needed outputs), so the cost does not grow with the layers.
//===----------------------------------------------------------------------===//
#include "TrainingChecks.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace stg;
using llvm::StringRef;

namespace {

using Bits = std::vector<bool>;

/// Whether a gradient flows from the results of `op` to operand `i`.
bool differentiable(const Op &op, size_t i) {
  switch (op.kind) {
  case OpKind::Stop:
  case OpKind::Update:
  case OpKind::Append:
    return false;
  case OpKind::Gather:
  case OpKind::Scatter:
    return i == 0;
  case OpKind::Call: { // `dk = none`
    const auto &call = op.get<CallFields>();
    return !call.grad.valid() || (i < call.gradOutputs.size() && call.gradOutputs[i] >= 0);
  }
  default:
    return true;
  }
}

class TrainingChecker {
public:
  TrainingChecker(const Program &program, const std::map<NameId, const ast::OpItem *> &ops,
                  const SourceManager &sources, Diagnostics &diags)
      : program_(program), ops_(ops), sources_(sources), diags_(diags) {}
  void run();

private:
  Bits trained(const Unit &unit) const;
  Bits varied(const Body &body, const Bits &trained, const Bits &inputs) const;
  Bits needed(const Body &body, const Bits &outputs) const;
  void checkCalls(const Unit &unit, const Bits &varied, const Bits &needed);
  void checkResults(const Op &op, const ast::OpItem &item, const Bits &varied, const Bits &needed);
  void reportWeight(const Body &body, SourceRange where, NameId name);

  const Program &program_;
  const std::map<NameId, const ast::OpItem *> &ops_;
  const SourceManager &sources_;
  Diagnostics &diags_;
};

/// Per weight slot of the unit's body.
Bits TrainingChecker::trained(const Unit &unit) const {
  const Body &body = program_.body(unit);
  Bits slots;
  size_t bound = 0;
  for (const WeightSlot &slot : body.weights) {
    std::string path = program_.unitPath(unit) + "." + program_.text(slot.name).str();
    if (!slot.owned) {
      const WeightBinding &binding = unit.weights[bound++];
      if (auto *other = std::get_if<UnitSlot>(&binding)) {
        const Unit &owner = program_.units[other->unit.index];
        path = program_.unitPath(owner) + "." + program_.text(program_.body(owner).weights[other->slot].name).str();
      } else {
        path = program_.text(program_.weights[std::get<WeightId>(binding).index].name).str();
      }
    }
    const OptimizerRule *rule = optimizerOf(program_.plan, path);
    slots.push_back(rule && rule->name && isFloat(slot.type.element));
  }
  return slots;
}

Bits TrainingChecker::varied(const Body &body, const Bits &trained, const Bits &inputs) const {
  Bits values(body.values.size(), false);
  for (const Op &op : body.ops) {
    bool any = op.kind == OpKind::Weight && trained[op.get<SlotFields>().slot];
    if (op.kind == OpKind::Input)
      any = inputs[op.get<SlotFields>().slot];
    for (size_t i = 0; i < op.operands.size(); ++i)
      any |= differentiable(op, i) && values[op.operands[i].index];
    // Indices do not vary smoothly with anything.
    for (ValueId result : op.results)
      values[result.index] = any && (!body.value(result).type || isFloat(body.value(result).type->element));
  }
  return values;
}

Bits TrainingChecker::needed(const Body &body, const Bits &outputs) const {
  Bits values(body.values.size(), false);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i])
      values[body.outputs[i].value.index] = true;
  for (ValueId loss : body.losses)
    values[loss.index] = true;
  for (const Op &op : llvm::reverse(body.ops)) {
    bool any = llvm::any_of(op.results, [&](ValueId result) { return values[result.index]; });
    for (size_t i = 0; any && i < op.operands.size(); ++i)
      if (differentiable(op, i))
        values[op.operands[i].index] = true;
  }
  return values;
}

void TrainingChecker::checkCalls(const Unit &unit, const Bits &varied, const Bits &needed) {
  const Body &body = program_.body(unit);
  for (const Op &op : body.ops) {
    auto *call = std::get_if<CallFields>(&op.fields);
    if (!call || llvm::none_of(op.results, [&](ValueId result) { return needed[result.index]; }))
      continue;
    auto found = ops_.find(call->callee);
    if (found == ops_.end())
      continue;
    const ast::OpItem &item = *found->second;
    checkResults(op, item, varied, needed);
    std::set<StringRef> defined;
    for (const ast::Stmt *stmt : item.grad.stmts)
      if (auto *assign = llvm::dyn_cast<ast::AssignStmt>(stmt))
        for (const ast::Target &target : assign->targets)
          defined.insert(target.name.text);
    size_t operand = 0;
    for (const ast::TensorParam &param : item.signature.tensors) {
      if (operand >= op.operands.size())
        break;
      ValueId value = op.operands[operand++];
      std::string cotangent = "d" + param.name.text.str();
      if (!varied[value.index] || defined.count(cotangent))
        continue;
      SourceRange where = item.gradKind == ast::OpItem::Grad::Block ? item.grad.range : item.name.range;
      auto builder = diags_.report(
          where, diag::GradientIncomplete{.op = item.name.text, .input = param.name.text, .cotangent = cotangent});
      builder.note("path to the loss: " + program_.unitPath(unit) + "." + program_.text(body.value(value).name).str() +
                   " -> " + item.name.text.str() + " -> " + program_.text(body.value(op.results[0]).name).str() +
                   " -> ... -> loss");
      if (item.gradKind == ast::OpItem::Grad::Block)
        builder.help("define " + cotangent + ", or write `" + cotangent + " = none` if " + param.name.text.str() +
                     " is never trained");
      else
        builder.help("add grad(d" + (item.signature.outs.empty() ? "y" : item.signature.outs[0].name.text.str()) +
                     ") { " + cotangent + " = ... }");
    }
  }
}

/// A grad block takes the cotangents of the first results; no loss may vary with another.
void TrainingChecker::checkResults(const Op &op, const ast::OpItem &item, const Bits &varied, const Bits &needed) {
  if (item.gradKind != ast::OpItem::Grad::Block)
    return;
  for (size_t i = item.gradParams.size(); i < op.results.size(); ++i) {
    if (!needed[op.results[i].index] || !varied[op.results[i].index])
      continue;
    StringRef result = item.signature.outs[i].name.text;
    std::string all;
    for (size_t j = 0; j <= i; ++j)
      all += (j == 0 ? "d" : ", d") + item.signature.outs[j].name.text.str();
    diags_
        .report(item.grad.range,
                diag::ResultWithoutCotangent{.op = item.name.text, .result = result.empty() ? "out" : result})
        .help("take it, as in `grad(" + all + ")`, or use `stop(" + result.str() + ")` in the model");
  }
}

void TrainingChecker::reportWeight(const Body &body, SourceRange where, NameId name) {
  StringRef text = program_.text(name);
  StringRef shortName = text.rsplit('.').second.empty() ? text : text.rsplit('.').second;
  auto builder = diags_.report(where, diag::WeightWithoutGradient{.weight = shortName});
  // The statement that reads it, and whether anything reads that.
  for (const Op &op : body.ops) {
    if (op.kind != OpKind::Weight || body.weights[op.get<SlotFields>().slot].name != name)
      continue;
    for (const Op &user : body.ops) {
      if (!llvm::is_contained(user.operands, op.results[0]) || user.results.empty())
        continue;
      StringRef made = program_.text(body.value(user.results[0]).name);
      made = made.rsplit('.').second.empty() ? made : made.rsplit('.').second;
      bool used = llvm::any_of(body.ops,
                               [&](const Op &other) { return llvm::is_contained(other.operands, user.results[0]); }) ||
                  llvm::any_of(body.outputs, [&](const BodyOutput &output) { return output.value == user.results[0]; });
      LineColumn place = sources_.lineColumn(user.where.file, user.where.begin);
      std::string text = "last use: `" + made.str() + " = ...` at line " + std::to_string(place.line);
      builder.label(used ? text : text + ", and " + made.str() + " is never used");
      return;
    }
    break;
  }
  builder.label("nothing reads it");
}

void TrainingChecker::run() {
  const auto &units = program_.units;
  size_t errors = diags_.numErrors();
  std::vector<Bits> variedOf(units.size()), trainedOf(units.size());
  std::map<std::pair<std::pair<uint32_t, Bits>, Bits>, Bits> variedMemo;
  std::map<std::pair<uint32_t, Bits>, Bits> neededMemo;
  for (size_t u = 0; u < units.size(); ++u) {
    Bits inputs;
    for (const InputBinding &binding : units[u].inputs) {
      auto *value = std::get_if<UnitValue>(&binding);
      inputs.push_back(
          value &&
          variedOf[value->unit.index][program_.body(units[value->unit.index]).outputs[value->output].value.index]);
    }
    trainedOf[u] = trained(units[u]);
    auto [it, inserted] = variedMemo.insert({{{units[u].body.index, trainedOf[u]}, inputs}, {}});
    if (inserted)
      it->second = varied(program_.body(units[u]), trainedOf[u], inputs);
    variedOf[u] = it->second;
  }
  std::vector<Bits> outputs(units.size());
  for (size_t u = 0; u < units.size(); ++u)
    outputs[u].assign(program_.body(units[u]).outputs.size(), false);
  // Weights that some unit's gradient reaches: by binding, and per body for owned ones.
  std::set<uint32_t> reached;
  std::set<std::pair<uint32_t, uint32_t>> reachedOwned;
  std::set<std::pair<std::pair<uint32_t, Bits>, Bits>> checked;
  for (size_t u = units.size(); u-- > 0;) {
    const Unit &unit = units[u];
    const Body &body = program_.body(unit);
    auto [it, inserted] = neededMemo.insert({{unit.body.index, outputs[u]}, {}});
    if (inserted)
      it->second = needed(body, outputs[u]);
    const Bits &live = it->second;
    if (checked.insert({{unit.body.index, variedOf[u]}, live}).second)
      checkCalls(unit, variedOf[u], live);
    for (const Op &op : body.ops) {
      if (op.kind == OpKind::Input && live[op.results[0].index]) {
        if (auto *value = std::get_if<UnitValue>(&unit.inputs[op.get<SlotFields>().slot]))
          outputs[value->unit.index][value->output] = true;
      } else if (op.kind == OpKind::Weight && live[op.results[0].index]) {
        uint32_t slot = op.get<SlotFields>().slot;
        if (body.weights[slot].owned) {
          reachedOwned.insert({unit.body.index, slot});
          continue;
        }
        size_t bound = static_cast<size_t>(llvm::count_if(llvm::ArrayRef(body.weights).take_front(slot),
                                                          [](const WeightSlot &w) { return !w.owned; }));
        if (auto *global = std::get_if<WeightId>(&unit.weights[bound]))
          reached.insert(global->index);
        else
          reachedOwned.insert({units[std::get<UnitSlot>(unit.weights[bound]).unit.index].body.index,
                               std::get<UnitSlot>(unit.weights[bound]).slot});
      }
    }
  }
  // What lies behind a gradient that is missing gets none either: said already.
  if (diags_.numErrors() != errors)
    return;
  for (size_t w = 0; w < program_.weights.size(); ++w) {
    const OptimizerRule *rule = optimizerOf(program_.plan, program_.text(program_.weights[w].name));
    if (reached.count(static_cast<uint32_t>(w)) || !rule || !rule->name)
      continue;
    const Body *reader = &program_.bodies[0];
    for (const Body &body : program_.bodies)
      if (llvm::any_of(body.weights,
                       [&](const WeightSlot &slot) { return !slot.owned && slot.name == program_.weights[w].name; }))
        reader = &body;
    reportWeight(*reader, program_.weights[w].where, program_.weights[w].name);
  }
  std::set<uint32_t> bodies;
  for (size_t u = 0; u < units.size(); ++u) {
    const Body &body = program_.body(units[u]);
    if (!bodies.insert(units[u].body.index).second)
      continue;
    for (size_t slot = 0; slot < body.weights.size(); ++slot)
      if (body.weights[slot].owned && trainedOf[u][slot] &&
          !reachedOwned.count({units[u].body.index, static_cast<uint32_t>(slot)}))
        reportWeight(body, body.weights[slot].where, body.weights[slot].name);
  }
}

} // namespace

void stg::checkTraining(const Program &program, const std::map<NameId, const ast::OpItem *> &ops,
                        const SourceManager &sources, Diagnostics &diags) {
  TrainingChecker(program, ops, sources, diags).run();
}
