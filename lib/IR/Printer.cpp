//===- Printer.cpp - the IR as text -----------------------------------------===//
// Nothing here may fail: the verifier prints what it refuses. Ids out of range print as `?`.
//===----------------------------------------------------------------------===//
#include "stg/IR/Printer.h"
#include "TextNames.h"
#include <charconv>

namespace stg {

namespace {

std::string quoted(llvm::StringRef text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

std::string doubleText(double value) {
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

class Printer {
public:
  Printer(const Program &program, llvm::raw_ostream &os)
      : program_(program), context_(*program.context), atoms_(program.mesh.atoms()), os_(os) {}

  void printProgram() {
    os_ << "stgir " << spelling(program_.level) << "\n";
    printHeader();
    for (const Body &body : program_.bodies)
      printBody(body);
    if (!program_.units.empty())
      os_ << "\n";
    for (const Unit &unit : program_.units)
      printUnit(unit);
    for (const ProgramOutput &output : program_.outputs)
      os_ << "output " << name(output.name) << " = " << unitValue(output.value) << "\n";
  }

  void printOpLine(const Body &body, const Op &op) {
    enterBody(body);
    printOp(op);
  }

private:
  //===--------------------------------------------------------------------===//
  // Names, types, sizes
  //===--------------------------------------------------------------------===//

  llvm::StringRef text(NameId id) const {
    return id.index < context_.names.size() ? context_.text(id) : llvm::StringRef();
  }
  std::string name(NameId id) const {
    llvm::StringRef plain = text(id);
    return detail::isBareName(plain) ? plain.str() : quoted(plain);
  }
  static std::string path(llvm::StringRef plain) { return detail::isBarePath(plain) ? plain.str() : quoted(plain); }

  std::string size(DimExpr expr) const { return "[" + expr.str() + "]"; }
  std::string dim(const Dim &dim) const {
    if (dim.size && dim.size.isSymbol(text(dim.name)))
      return name(dim.name);
    return name(dim.name) + " = " + dim.size.str();
  }
  std::string type(const TensorType &type) const { return spelling(type.element).str() + dims(type.dims); }
  std::string dims(llvm::ArrayRef<Dim> list) const {
    return "[" + join(list, [&](const Dim &each) { return dim(each); }) + "]";
  }
  std::string names(llvm::ArrayRef<NameId> list) const {
    return "(" + join(list, [&](NameId id) { return name(id); }) + ")";
  }
  template <class List, class Fn> static std::string join(const List &list, Fn print) {
    std::string out;
    bool first = true;
    for (const auto &each : list) {
      out += (first ? "" : ", ") + print(each);
      first = false;
    }
    return out;
  }

  std::string mask(const MaskValue &mask) const {
    std::string out = spelling(mask.kind).str();
    if (!mask.parameters.empty())
      out += "(" + join(mask.parameters, [&](DimExpr expr) { return size(expr); }) + ")";
    return out;
  }
  std::string staticArg(const StaticArg &arg) const {
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

  //===--------------------------------------------------------------------===//
  // Program
  //===--------------------------------------------------------------------===//

  void printHeader() {
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
    printPlan();
    for (NameId scalar : program_.scalars)
      os_ << "scalar " << name(scalar) << "\n";
    for (const ProgramInput &input : program_.inputs)
      os_ << "input " << name(input.name) << " : " << type(input.type) << "\n";
    for (const ProgramWeight &weight : program_.weights)
      os_ << "weight " << name(weight.name) << " : " << type(weight.type) << "\n";
    for (const ProgramState &state : program_.states)
      os_ << "state " << name(state.name) << " : " << type(state.type) << "\n";
  }

  static std::string bare(const std::string &plain) { return detail::isBareName(plain) ? plain : quoted(plain); }
  std::string axisNames(llvm::ArrayRef<std::string> list) const {
    return "(" + join(list, [](const std::string &axis) { return bare(axis); }) + ")";
  }
  std::string axes(llvm::ArrayRef<MeshAxis> list) const {
    return join(list, [&](const MeshAxis &axis) {
      std::string out = bare(axis.name) + " = " + std::to_string(axis.size);
      if (!axis.cuts.empty())
        out += " cut (" + join(axis.cuts, [](int64_t cut) { return std::to_string(cut); }) + ")";
      return out;
    });
  }

  //===--------------------------------------------------------------------===//
  // Plan
  //===--------------------------------------------------------------------===//

  std::string scopes(const Scopes &list) const {
    if (list.empty())
      return "";
    return " in (" + join(list, [](const PathPattern &pattern) { return quoted(pattern.str()); }) + ")";
  }

  void printPlan() {
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
          << join(rule.dims, [&](const auto &dim) { return name(dim.first) + " over " + axisNames(dim.second); })
          << ")";
      if (!rule.partial.empty())
        os_ << " partial " << axisNames(rule.partial);
      os_ << "\n";
    }
    for (const KeepGatheredRule &rule : plan.keepGathered)
      os_ << "gathered " << axisNames(rule.axes) << scopes(rule.scopes) << "\n";
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
    if (plan.microBatches != 1)
      os_ << "microbatches " << plan.microBatches << "\n";
    if (plan.clip != 0)
      os_ << "clip " << doubleText(plan.clip) << "\n";
  }

  //===--------------------------------------------------------------------===//
  // Bodies
  //===--------------------------------------------------------------------===//

  std::string layout(llvm::StringRef word, const std::optional<Layout> &layout, const TensorType &type) const {
    return layout ? " " + word.str() + " " + stg::toString(*layout, type.dims, atoms_, context_.names) : "";
  }
  static std::string elementUnlessF32(llvm::StringRef word, ElementType element) {
    return element == ElementType::F32 ? "" : " " + word.str() + " " + spelling(element).str();
  }

  void printBody(const Body &body) {
    enterBody(body);
    os_ << "\nbody " << name(body.name) << " {\n";
    for (const InputSlot &slot : body.inputs) {
      os_ << "  input " << name(slot.name) << " : " << type(slot.type);
      if (slot.role != SlotRole::Value)
        os_ << " " << spelling(slot.role) << " of " << slot.of;
      os_ << layout("layout", slot.layout, slot.type) << "\n";
    }
    for (const WeightSlot &slot : body.weights)
      os_ << "  weight " << name(slot.name) << " : " << type(slot.type) << (slot.owned ? "" : " shared")
          << (slot.trained ? " trained" : "") << elementUnlessF32("gradient", slot.gradient)
          << elementUnlessF32("master", slot.master) << elementUnlessF32("moment", slot.moment)
          << layout("layout", slot.layout, slot.type) << layout("buffer", slot.buffer, slot.type) << "\n";
    for (const StateSlot &slot : body.states)
      os_ << "  state " << name(slot.name) << " : " << type(slot.type) << (slot.owned ? "" : " shared")
          << layout("layout", slot.layout, slot.type) << "\n";
    for (const Op &op : body.ops) {
      os_ << "  ";
      printOp(op);
      os_ << "\n";
    }
    for (const BodyOutput &output : body.outputs) {
      os_ << "  output " << name(output.name) << " = " << value(output.value);
      if (output.cotangentOf)
        os_ << " cotangent of " << *output.cotangentOf;
      os_ << "\n";
    }
    for (ValueId loss : body.losses)
      os_ << "  loss " << value(loss) << "\n";
    os_ << "}\n";
  }

  std::string unitName(UnitId id) const {
    return id.index < program_.units.size() ? path(program_.unitPath(program_.units[id.index])) : "?";
  }
  const Body *unitBody(UnitId id) const {
    if (id.index >= program_.units.size() || program_.units[id.index].body.index >= program_.bodies.size())
      return nullptr;
    return &program_.body(program_.units[id.index]);
  }
  std::string unitValue(UnitValue from) const {
    const Body *body = unitBody(from.unit);
    return "@" + unitName(from.unit) + ":" +
           (body && from.output < body->outputs.size() ? name(body->outputs[from.output].name) : "?");
  }
  template <class Slots> std::string unitSlot(UnitSlot from, const Slots Body::*slots) const {
    const Body *body = unitBody(from.unit);
    return "@" + unitName(from.unit) + ":" +
           (body && from.slot < (body->*slots).size() ? name((body->*slots)[from.slot].name) : "?");
  }

  void printUnit(const Unit &unit) {
    os_ << "unit @" << path(program_.unitPath(unit)) << " : ";
    if (unit.body.index >= program_.bodies.size()) {
      os_ << "?\n";
      return;
    }
    const Body &body = program_.body(unit);
    os_ << name(body.name) << "(";
    for (size_t i = 0; i < unit.inputs.size(); ++i) {
      os_ << (i ? ", " : "") << (i < body.inputs.size() ? name(body.inputs[i].name) : "?") << " = ";
      if (const auto *input = std::get_if<InputId>(&unit.inputs[i]))
        os_ << "input " << (input->index < program_.inputs.size() ? name(program_.inputs[input->index].name) : "?");
      else
        os_ << unitValue(std::get<UnitValue>(unit.inputs[i]));
    }
    os_ << ")";
    printBindings<WeightId>("weights", unit.weights, body, &Body::weights, program_.weights, "weight");
    printBindings<StateId>("states", unit.states, body, &Body::states, program_.states, "state");
    os_ << "\n";
  }

  template <class GlobalId, class Bindings, class Slot, class Globals>
  void printBindings(llvm::StringRef keyword, const Bindings &bindings, const Body &body,
                     std::vector<Slot> Body::*slots, const Globals &globals, llvm::StringRef global) {
    if (bindings.empty())
      return;
    llvm::SmallVector<NameId, 4> shared;
    for (const Slot &slot : body.*slots)
      if (!slot.owned)
        shared.push_back(slot.name);
    os_ << " " << keyword << "(";
    for (size_t i = 0; i < bindings.size(); ++i) {
      os_ << (i ? ", " : "") << (i < shared.size() ? name(shared[i]) : "?") << " = ";
      if (const auto *id = std::get_if<GlobalId>(&bindings[i]))
        os_ << global << " " << (id->index < globals.size() ? name(globals[id->index].name) : "?");
      else
        os_ << unitSlot(std::get<UnitSlot>(bindings[i]), slots);
    }
    os_ << ")";
  }

  //===--------------------------------------------------------------------===//
  // Ops
  //===--------------------------------------------------------------------===//

  void enterBody(const Body &body) {
    body_ = &body;
    numbers_.assign(body.values.size(), body.values.size());
    size_t next = 0;
    for (const Op &op : body.ops)
      for (ValueId result : op.results) {
        if (result.index < numbers_.size())
          numbers_[result.index] = next;
        ++next;
      }
  }

  /// Values without a name are numbered in order of definition.
  std::string value(ValueId id) const {
    if (id.index >= body_->values.size())
      return "%?";
    llvm::StringRef plain = text(body_->value(id).name);
    return "%" + (plain.empty() ? std::to_string(numbers_[id.index]) : path(plain));
  }

  template <class Slot> std::string slotName(const std::vector<Slot> &slots, uint32_t index) const {
    return index < slots.size() ? name(slots[index].name) : "?";
  }

  std::string scalarName(uint32_t index) const {
    return index < program_.scalars.size() ? name(program_.scalars[index]) : "?";
  }

  std::string operands(const Op &op) const {
    return "(" + join(op.operands, [&](ValueId id) { return value(id); }) + ")";
  }

  void printOp(const Op &op) {
    for (size_t i = 0; i < op.results.size(); ++i) {
      os_ << (i ? ", " : "") << value(op.results[i]);
      if (op.results[i].index >= body_->values.size())
        continue;
      const Value &result = body_->value(op.results[i]);
      if (result.type)
        os_ << " : " << type(*result.type) << layout("layout", result.layout, *result.type);
      if (result.scope)
        os_ << " at " << name(result.scope);
    }
    if (!op.results.empty())
      os_ << " = ";
    if (!fieldsMatchKind(op)) {
      os_ << mnemonic(op.kind) << "? " << operands(op);
      return;
    }
    printKind(op);
    if (op.part != Part::Forward)
      os_ << " part " << spelling(op.part);
    os_ << " kernel " << op.kernel;
    if (op.scope && !text(op.scope).empty())
      os_ << " scope " << name(op.scope);
    if (!op.compute.empty())
      os_ << " compute (" << join(op.compute, [](int16_t factor) { return std::to_string(factor); }) << ")";
  }

  /// The element type of the fields, unless the printed result says it.
  std::string element(const Op &op, ElementType element) const {
    if (op.results.size() == 1 && op.results[0].index < body_->values.size()) {
      const std::optional<TensorType> &type = body_->value(op.results[0]).type;
      if (type && type->element == element)
        return "";
    }
    return " -> " + spelling(element).str();
  }

  /// The old dims of a view; words that would end the view stand in quotes.
  std::string group(llvm::ArrayRef<NameId> list) const {
    if (list.size() != 1)
      return names(list);
    llvm::StringRef plain = text(list[0]);
    bool isWord = plain == "order" || plain == "kernel" || plain == "part" || plain == "factored";
    return isWord ? quoted(plain) : name(list[0]);
  }

  void printView(const ViewFields &fields) {
    for (size_t i = 0; i < fields.items.size(); ++i) {
      const ViewItem &item = fields.items[i];
      os_ << (i ? ", " : " ") << (item.factored ? "factored " : "") << group(item.from) << " as " << dims(item.to);
    }
    if (!fields.order.empty())
      os_ << " order " << names(fields.order);
  }

  /// The factors of a composite share its name: those are told apart by their number.
  std::string factorRef(const CallFields &fields, uint32_t index) const {
    if (index >= fields.factors.size())
      return "?";
    NameId id = fields.factors[index].name;
    bool isUnique = llvm::count_if(fields.factors, [&](const Factor &factor) { return factor.name == id; }) == 1;
    return name(id) + (isUnique ? "" : ":" + std::to_string(index));
  }
  std::string factorRefs(const CallFields &fields, llvm::ArrayRef<uint32_t> list) const {
    return "{" + join(list, [&](uint32_t index) { return factorRef(fields, index); }) + "}";
  }

  void printCall(const Op &op, const CallFields &fields) {
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

  std::string bodyName(BodyId id) const {
    return id.index < program_.bodies.size() ? name(program_.body(id).name) : "?";
  }

  std::string cause(const ConversionCause &cause) const {
    if (cause == ConversionCause())
      return "";
    return " cause (" + std::to_string(cause.had) + ", " + std::to_string(cause.wants) + ")";
  }

  void printCollective(const Op &op, const CollectiveFields &fields) {
    os_ << mnemonic(op.kind) << operands(op) << " over ("
        << join(fields.atoms, [](uint32_t atom) { return std::to_string(atom); }) << ")";
    if (fields.from)
      os_ << " from " << name(fields.from);
    if (fields.to)
      os_ << " to " << name(fields.to);
    if (fields.fn != ReduceFn::Sum)
      os_ << " " << spelling(fields.fn);
    os_ << cause(fields.cause);
  }

  void printKind(const Op &op) {
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

  /// Operands of a leaf: there are none unless the program is broken.
  std::string leftovers(const Op &op) const { return op.operands.empty() ? "" : operands(op); }

  const Program &program_;
  const IRContext &context_;
  std::vector<MeshAtom> atoms_;
  llvm::raw_ostream &os_;
  const Body *body_ = nullptr;
  std::vector<size_t> numbers_;
};

} // namespace

void print(const Program &program, llvm::raw_ostream &os) { Printer(program, os).printProgram(); }

std::string toString(const Program &program) {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(program, os);
  return text;
}

std::string printOp(const Program &program, const Body &body, const Op &op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Printer(program, os).printOpLine(body, op);
  return text;
}

} // namespace stg
