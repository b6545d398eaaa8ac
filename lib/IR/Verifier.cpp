//===- Verifier.cpp - the promises of a program, checked --------------------===//
// Nothing is assumed of what was not checked before: an id is used after its range was. The cost is one walk over the
// distinct bodies, and over the units, which hold ids only.
//===----------------------------------------------------------------------===//
#include "stg/IR/Verifier.h"
#include "VerifyPipeline.h"
#include "stg/IR/LayoutOps.h"
#include "stg/IR/Printer.h"
#include "llvm/ADT/Twine.h"
#include <set>

namespace stg {

namespace {

class Verifier {
public:
  explicit Verifier(const Program &program) : program_(program), context_(*program.context) {}

  std::vector<Violation> run() {
    checkHeader();
    for (const Unit &unit : program_.units)
      if (unit.body.index < program_.bodies.size())
        reachable_.insert(program_.body(unit).name);
    for (uint32_t i = 0; i < program_.bodies.size(); ++i)
      checkBody(program_.bodies[i]);
    checkDefines();
    std::set<NameId> bodyNames;
    for (const Body &body : program_.bodies)
      if (!bodyNames.insert(body.name).second)
        fail("body " + text(body.name), "another body has this name");
    // Units lean on whole bodies.
    if (violations_.empty())
      checkUnits();
    if (violations_.empty() && program_.pipeline)
      violations_ = verifyPipeline(program_);
    return std::move(violations_);
  }

private:
  std::string text(NameId id) const {
    return id.index < context_.names.size() ? context_.text(id).str() : std::string("?");
  }
  bool isName(NameId id) const { return id.index < context_.names.size(); }
  void fail(const std::string &what, const llvm::Twine &text, SourceRange where = {}) {
    violations_.push_back({what, text.str(), where});
  }

  //===--------------------------------------------------------------------===//
  // Types
  //===--------------------------------------------------------------------===//

  void checkSize(DimExpr size, const std::string &what, SourceRange where) {
    llvm::SmallVector<DimExpr, 8> symbols;
    collectSymbols(size, symbols);
    for (DimExpr symbol : symbols)
      if (!symbols_.count(symbol.id()))
        fail(what,
             "the size `" + size.str() + "` uses `" + symbol.str() + "`, which is no size parameter of the program",
             where);
  }

  void checkType(const TensorType &type, const std::string &what, SourceRange where) {
    for (size_t i = 0; i < type.dims.size(); ++i) {
      const Dim &dim = type.dims[i];
      if (!isName(dim.name)) {
        fail(what, "has a dim without a name", where);
        return;
      }
      for (size_t j = 0; j < i; ++j)
        if (type.dims[j].name == dim.name)
          fail(what, "has the dim " + text(dim.name) + " twice", where);
      if (!dim.size)
        fail(what, "has the dim " + text(dim.name) + " without a size", where);
      else
        checkSize(dim.size, what, where);
    }
  }

  //===--------------------------------------------------------------------===//
  // Header
  //===--------------------------------------------------------------------===//

  template <class List> void checkGlobals(const List &list, const std::string &kind) {
    std::set<NameId> seen;
    for (const auto &global : list) {
      std::string what = kind + " " + text(global.name);
      if (!isName(global.name))
        fail(what, "has no name", global.where);
      if (!seen.insert(global.name).second)
        fail(what, "is there twice", global.where);
      checkType(global.type, what, global.where);
    }
  }

  void checkHeader() {
    std::set<NameId> sizes;
    uint32_t last = 0;
    for (const SizeParameter &size : program_.sizes) {
      std::string what = "size " + text(size.name);
      if (!isName(size.name) || !size.symbol || !size.symbol.isSymbol(text(size.name))) {
        fail(what, "is not the symbol of its name");
        continue;
      }
      if (!sizes.insert(size.name).second)
        fail(what, "is there twice");
      if (size.symbol.id() < last)
        fail(what, "stands behind a size parameter that was made later; printed sizes would change their order");
      last = size.symbol.id();
      symbols_.insert(size.symbol.id());
    }
    std::set<std::string> axes;
    for (const MeshAxis &axis : program_.mesh.axes) {
      if (!axes.insert(axis.name).second)
        fail("mesh axis " + axis.name, "is there twice");
      if (axis.size < 1)
        fail("mesh axis " + axis.name, "has the size " + llvm::Twine(axis.size));
    }
    for (const Factoring &factoring : program_.factorings) {
      bool named = isName(factoring.whole) && llvm::all_of(factoring.parts, [&](NameId part) { return isName(part); });
      if (!named || factoring.parts.empty())
        fail("factor " + text(factoring.whole), "lacks a name or its parts");
    }
    std::set<NameId> enumerated;
    for (const Enumeration &enumeration : program_.enumerations) {
      bool named =
          isName(enumeration.dim) && llvm::all_of(enumeration.sources, [&](NameId source) { return isName(source); });
      if (!named || enumeration.sources.empty())
        fail("enumeration " + text(enumeration.dim), "lacks a name or its sources");
      if (!enumerated.insert(enumeration.dim).second)
        fail("enumeration " + text(enumeration.dim), "is there twice");
    }
    const Routing &routing = program_.routing;
    if (!(routing.exponent >= 0 && routing.exponent <= kMostExponent))
      fail("routing", "has an exponent below 0 or beyond " + llvm::Twine(kMostExponent));
    if (routing.kind == RoutingKind::Trace && llvm::all_of(routing.loads, [](uint64_t load) { return load == 0; }))
      fail("routing", "has no loads");
    checkGlobals(program_.inputs, "input");
    checkGlobals(program_.weights, "weight");
    checkGlobals(program_.states, "state");
  }

  //===--------------------------------------------------------------------===//
  // Bodies
  //===--------------------------------------------------------------------===//

  template <class List> void checkSlots(const Body &body, const List &slots, const std::string &kind) {
    std::set<NameId> seen;
    for (const auto &slot : slots) {
      std::string what = kind + " slot " + text(slot.name) + " of body " + text(body.name);
      if (!isName(slot.name))
        fail(what, "has no name");
      if (!seen.insert(slot.name).second)
        fail(what, "is there twice");
      checkType(slot.type, what, {});
    }
  }

  void checkBody(const Body &body) {
    if (!isName(body.name))
      fail("body", "has no name");
    checkSlots(body, body.inputs, "input");
    checkSlots(body, body.weights, "weight");
    checkSlots(body, body.states, "state");
    std::vector<bool> defined(body.values.size(), false);
    for (uint32_t i = 0; i < body.ops.size(); ++i)
      checkOp(body, OpId(i), defined);
    std::set<NameId> names;
    for (uint32_t i = 0; i < body.values.size(); ++i)
      checkValue(body, ValueId(i), defined[i], names);
    std::set<NameId> outputs;
    for (const InputSlot &slot : body.inputs) {
      size_t count = slot.role == SlotRole::Cotangent ? body.outputs.size() : body.inputs.size();
      if (slot.role != SlotRole::Value && slot.of >= count)
        fail("input slot " + text(slot.name) + " of body " + text(body.name),
             "is the " + spelling(slot.role) + " of something that is not there");
    }
    for (const BodyOutput &output : body.outputs) {
      std::string what = "output " + text(output.name) + " of body " + text(body.name);
      if (!isName(output.name) || !outputs.insert(output.name).second)
        fail(what, "has no name of its own");
      if (output.value.index >= body.values.size())
        fail(what, "is no value of the body");
      if (output.cotangentOf && *output.cotangentOf >= body.inputs.size())
        fail(what, "is the cotangent of an input slot that is not there");
    }
    for (ValueId loss : body.losses) {
      std::string what = "loss of body " + text(body.name);
      if (loss.index >= body.values.size())
        fail(what, "is no value of the body");
      else if (const auto &type = body.value(loss).type;
               type && (!type->dims.empty() || type->element != ElementType::F32))
        fail(what, "is " + toString(*type, context_) + " instead of f32[]");
    }
  }

  void checkValue(const Body &body, ValueId id, bool isDefined, std::set<NameId> &names) {
    const Value &value = body.value(id);
    std::string what =
        "value " + (value.name.valid() ? text(value.name) : std::to_string(id.index)) + " of body " + text(body.name);
    if (!isDefined)
      fail(what, "has no op that defines it");
    if (value.name.valid()) {
      if (!isName(value.name))
        fail(what, "has a name that is not interned");
      if (!names.insert(value.name).second)
        fail(what, "shares its name with another value");
    }
    if (value.layout && (!value.type || value.layout->places.size() != program_.mesh.atoms().size()))
      fail(what, "has a layout for another mesh");
    else if (value.layout)
      for (const Place &place : value.layout->places)
        if (place.isSplit() && !value.type->has(place.dim))
          fail(what, "is split on " + text(place.dim) + ", which it has not");
    if (program_.level >= Level::Laid && value.type && !value.layout && reachable_.count(body.name))
      fail(what, "has no layout, although the level is " + spelling(program_.level));
    if (value.type)
      checkType(*value.type, what, {});
    else if (program_.level >= Level::Typed)
      fail(what, "has no type, although the level is typed");
  }

  /// Number of operands that every op of the kind has, if it is fixed.
  static std::optional<size_t> operandCount(const Op &op) {
    switch (op.kind) {
    case OpKind::Input:
    case OpKind::Weight:
    case OpKind::State:
    case OpKind::Constant:
    case OpKind::Iota:
    case OpKind::Gradient:
    case OpKind::Total:
      return 0;
    case OpKind::Reduce:
    case OpKind::Stop:
    case OpKind::Dropout:
    case OpKind::Masked:
    case OpKind::View:
    case OpKind::At:
    case OpKind::Slice:
    case OpKind::Update:
    case OpKind::Pad:
    case OpKind::Broadcast:
    case OpKind::Accumulate:
    case OpKind::Assign:
    case OpKind::Tally:
    case OpKind::Convert:
      return 1;
    case OpKind::Gather:
    case OpKind::Scatter:
    case OpKind::Append:
      return 2;
    case OpKind::Map:
      if (unsigned count = arity(op.get<MapFields>().fn))
        return count;
      return std::nullopt;
    case OpKind::Call:
      return op.get<CallFields>().operandFactors.size();
    case OpKind::Contract:
    case OpKind::Concat:
    case OpKind::Shard:
    case OpKind::Demote:
    case OpKind::ReduceScatter:
    case OpKind::AllReduce:
    case OpKind::AllToAll:
    case OpKind::AllGather:
    case OpKind::Store:
    case OpKind::Load:
      return std::nullopt;
    }
    return std::nullopt;
  }

  static size_t resultCount(const Op &op) {
    switch (op.kind) {
    case OpKind::Update:
    case OpKind::Accumulate:
    case OpKind::Assign:
    case OpKind::Tally:
      return 0;
    case OpKind::Call:
      return op.get<CallFields>().resultElements.size();
    case OpKind::Shard:
    case OpKind::Demote:
    case OpKind::ReduceScatter:
    case OpKind::AllReduce:
    case OpKind::AllToAll:
    case OpKind::AllGather:
    case OpKind::Store:
    case OpKind::Load:
      return op.operands.size();
    default:
      return 1;
    }
  }

  void checkOp(const Body &body, OpId id, std::vector<bool> &defined) {
    const Op &op = body.op(id);
    size_t before = violations_.size();
    auto failOp = [&](const llvm::Twine &text) { fail("", text, op.where); };
    if (!fieldsMatchKind(op)) {
      failOp("has the fields of another kind");
    } else {
      std::optional<size_t> count = operandCount(op);
      if (count ? op.operands.size() != *count : op.operands.empty())
        failOp("has " + llvm::Twine(op.operands.size()) + " operands");
      if (op.kind == OpKind::Map && arity(op.get<MapFields>().fn) == 0 && op.operands.size() < 2)
        failOp("has " + llvm::Twine(op.operands.size()) + " operands");
      size_t results = resultCount(op);
      if (op.results.size() != results)
        failOp("has " + llvm::Twine(op.results.size()) + " results instead of " + llvm::Twine(results));
      checkSlotOf(body, op);
      if (op.kind == OpKind::Call)
        checkCall(op);
    }
    for (ValueId operand : op.operands)
      if (operand.index >= defined.size() || !defined[operand.index])
        failOp("uses a value that is not defined before it");
    for (uint32_t i = 0; i < op.results.size(); ++i) {
      ValueId result = op.results[i];
      if (result.index >= defined.size() || defined[result.index] || body.value(result).def != id ||
          body.value(result).result != i) {
        failOp("and its result " + llvm::Twine(i) + " do not name each other");
        continue;
      }
      defined[result.index] = true;
    }
    if (violations_.empty()) // of this op and of those that made its operands
      checkHost(body, op);
    for (size_t i = before; i < violations_.size(); ++i)
      if (violations_[i].op.empty())
        violations_[i].op = printOp(program_, body, op) + " of body " + text(body.name);
  }

  /// What is on the host is loaded before it is used; what rests there is stored.
  void checkHost(const Body &body, const Op &op) {
    bool wants = op.kind == OpKind::Load ||
                 (op.kind == OpKind::Assign && body.weights[op.get<SlotFields>().slot].host) ||
                 (op.kind == OpKind::Update && body.states[op.get<SlotFields>().slot].host);
    for (ValueId operand : op.operands)
      if (isOnHost(body, operand) != wants)
        fail("", wants ? "needs a value that is on the host" : "uses a value that is on the host", op.where);
  }

  void checkSlotOf(const Body &body, const Op &op) {
    const auto *fields = std::get_if<SlotFields>(&op.fields);
    if (!fields)
      return;
    size_t count = op.kind == OpKind::Input                                ? body.inputs.size()
                   : op.kind == OpKind::State || op.kind == OpKind::Update ? body.states.size()
                   : op.kind == OpKind::Tally || op.kind == OpKind::Total  ? program_.scalars.size()
                                                                           : body.weights.size();
    if (fields->slot >= count)
      fail("", "names slot " + llvm::Twine(fields->slot) + " of " + llvm::Twine(count), op.where);
  }

  void checkCall(const Op &op) {
    const auto &fields = op.get<CallFields>();
    if (!isName(fields.callee))
      fail("", "calls an op without a name", op.where);
    if (fields.resultFactors.size() != fields.resultElements.size())
      fail("", "has element types for another number of results", op.where);
    for (const Factor &factor : fields.factors) {
      if (!isName(factor.name))
        fail("", "has a factor without a name", op.where);
      if (!isName(factor.dim.name) || !factor.dim.size)
        fail("", "has a factor without a dim", op.where);
      if (factor.along && *factor.along >= fields.factors.size())
        fail("", "has a factor along one that it has not", op.where);
    }
    for (const auto *lists : {&fields.operandFactors, &fields.resultFactors})
      for (const auto &list : *lists)
        for (uint32_t index : list)
          if (index >= fields.factors.size())
            fail("", "names factor " + llvm::Twine(index) + " of " + llvm::Twine(fields.factors.size()), op.where);
    if (fields.define.valid() && fields.define.index >= program_.bodies.size())
      fail("", "names a define body that is not there", op.where);
    if (fields.grad.valid() && fields.grad.index >= program_.bodies.size())
      fail("", "names a grad body that is not there", op.where);
    else if (fields.grad.valid() && fields.gradOutputs.size() != op.operands.size())
      fail("", "has gradients for another number of operands", op.where);
  }

  /// Inputs of a grad body: the operands, the results, cotangents of the first results.
  void checkGrad(const Op &op, const std::string &what) {
    const auto &call = op.get<CallFields>();
    if (!call.grad.valid())
      return;
    const Body &grad = program_.body(call.grad);
    size_t given = op.operands.size() + op.results.size();
    bool fits = grad.inputs.size() >= given && grad.inputs.size() <= given + op.results.size() &&
                call.gradOutputs.size() == op.operands.size() && llvm::all_of(call.gradOutputs, [&](int32_t output) {
                  return output >= -1 && output < static_cast<int32_t>(grad.outputs.size());
                });
    if (!fits)
      fail(what, "does not fit its grad body " + text(grad.name), op.where);
  }

  /// Define bodies take the operands and give the results, and perhaps more. Neither they nor grad bodies own anything
  /// or call themselves.
  void checkDefines() {
    if (!violations_.empty())
      return;
    std::vector<std::vector<uint32_t>> callees(program_.bodies.size());
    for (uint32_t i = 0; i < program_.bodies.size(); ++i)
      for (const Op &op : program_.bodies[i].ops) {
        if (op.kind != OpKind::Call)
          continue;
        std::string what = printOp(program_, program_.bodies[i], op) + " of body " + text(program_.bodies[i].name);
        const auto &call = op.get<CallFields>();
        for (BodyId block : {call.define, call.grad}) {
          if (!block.valid())
            continue;
          callees[i].push_back(block.index);
          const Body &body = program_.body(block);
          if (!body.weights.empty() || !body.states.empty() || !body.losses.empty())
            fail(what, "has a block with weights, states or losses", op.where);
        }
        if (call.define.valid()) {
          const Body &define = program_.body(call.define);
          if (define.inputs.size() != op.operands.size() || define.outputs.size() < op.results.size())
            fail(what, "does not fit its define body " + text(define.name), op.where);
        }
        checkGrad(op, what);
      }
    // 0 unseen, 1 on the way, 2 done.
    std::vector<uint8_t> mark(callees.size(), 0);
    for (uint32_t start = 0; start < callees.size(); ++start) {
      std::vector<std::pair<uint32_t, size_t>> stack;
      if (mark[start] == 0)
        stack.push_back({start, 0});
      while (!stack.empty()) {
        auto &[body, next] = stack.back();
        mark[body] = 1;
        if (next == callees[body].size()) {
          mark[body] = 2;
          stack.pop_back();
          continue;
        }
        uint32_t callee = callees[body][next++];
        if (mark[callee] == 1) {
          fail("body " + text(program_.bodies[callee].name), "calls itself through its define");
          return;
        }
        if (mark[callee] == 0)
          stack.push_back({callee, 0});
      }
    }
  }

  //===--------------------------------------------------------------------===//
  // Units
  //===--------------------------------------------------------------------===//

  void checkUnits() {
    std::set<std::string> paths;
    for (uint32_t i = 0; i < program_.units.size(); ++i) {
      const Unit &unit = program_.units[i];
      std::string what = "unit " + (isName(unit.path) ? program_.unitPath(unit) : std::string("?"));
      if (!isName(unit.path) || !paths.insert(program_.unitPath(unit)).second)
        fail(what, "has no path of its own");
      if (unit.body.index >= program_.bodies.size()) {
        fail(what, "has no body");
        return;
      }
      checkBindings(unit, UnitId(i), what);
    }
    std::set<NameId> outputs;
    for (const ProgramOutput &output : program_.outputs) {
      std::string what = "output " + text(output.name);
      if (!isName(output.name) || !outputs.insert(output.name).second)
        fail(what, "has no name of its own");
      if (!outputType(output.value, UnitId(static_cast<uint32_t>(program_.units.size()))).second)
        fail(what, "is no output of a unit");
    }
  }

  /// The type of an output of a unit before `reader` (nothing if it has none yet), and whether there is such an output.
  std::pair<std::optional<TensorType>, bool> outputType(UnitValue from, UnitId reader) const {
    if (from.unit.index >= reader.index)
      return {std::nullopt, false};
    const Body &body = program_.body(program_.units[from.unit.index]);
    if (from.output >= body.outputs.size())
      return {std::nullopt, false};
    return {body.value(body.outputs[from.output].value).type, true};
  }

  void checkBindings(const Unit &unit, UnitId id, const std::string &what) {
    const Body &body = program_.body(unit);
    if (unit.inputs.size() != body.inputs.size()) {
      fail(what, "binds " + llvm::Twine(unit.inputs.size()) + " of " + llvm::Twine(body.inputs.size()) + " inputs");
      return;
    }
    for (size_t i = 0; i < unit.inputs.size(); ++i) {
      std::pair<std::optional<TensorType>, bool> bound;
      if (const auto *input = std::get_if<InputId>(&unit.inputs[i])) {
        if (input->index < program_.inputs.size())
          bound = {program_.inputs[input->index].type, true};
      } else {
        UnitValue from = std::get<UnitValue>(unit.inputs[i]);
        if (body.inputs[i].role == SlotRole::Value)
          bound = outputType(from, id);
        else if (from.unit.index > id.index)
          bound = outputType(from, UnitId(static_cast<uint32_t>(program_.units.size())));
      }
      checkBinding(body.inputs[i], bound, what);
    }
    checkShared<WeightId>(unit.weights, body, &Body::weights, program_.weights, id, what, "weights");
    checkShared<StateId>(unit.states, body, &Body::states, program_.states, id, what, "states");
  }

  template <class Slot>
  void checkBinding(const Slot &slot, const std::pair<std::optional<TensorType>, bool> &bound,
                    const std::string &what) {
    if (!bound.second)
      fail(what, "binds " + text(slot.name) + " to nothing that exists before it");
    else if (bound.first && !compatible(*bound.first, slot.type))
      fail(what, "binds " + text(slot.name) + ", which is " + toString(slot.type, context_) + ", to " +
                     toString(*bound.first, context_));
  }

  template <class GlobalId, class Bindings, class Slot, class Globals>
  void checkShared(const Bindings &bindings, const Body &body, std::vector<Slot> Body::*slots, const Globals &globals,
                   UnitId id, const std::string &what, const std::string &kind) {
    std::vector<const Slot *> shared;
    for (const Slot &slot : body.*slots)
      if (!slot.owned)
        shared.push_back(&slot);
    if (bindings.size() != shared.size()) {
      fail(what, "binds " + llvm::Twine(bindings.size()) + " of " + llvm::Twine(shared.size()) + " shared " + kind);
      return;
    }
    for (size_t i = 0; i < bindings.size(); ++i) {
      std::pair<std::optional<TensorType>, bool> bound;
      if (const auto *global = std::get_if<GlobalId>(&bindings[i])) {
        if (global->index < globals.size())
          bound = {globals[global->index].type, true};
      } else {
        UnitSlot from = std::get<UnitSlot>(bindings[i]);
        if (from.unit.index < id.index) {
          const auto &theirs = program_.body(program_.units[from.unit.index]).*slots;
          if (from.slot < theirs.size() && theirs[from.slot].owned)
            bound = {theirs[from.slot].type, true};
        }
      }
      checkBinding(*shared[i], bound, what);
    }
  }

  const Program &program_;
  const IRContext &context_;
  std::vector<Violation> violations_;
  std::set<uint32_t> symbols_; // ids of the size parameters
  std::set<NameId> reachable_; // bodies that units name
};

} // namespace

std::vector<Violation> verify(const Program &program) { return Verifier(program).run(); }

} // namespace stg
