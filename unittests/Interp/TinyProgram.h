//===- TinyProgram.h - programs built by hand for tests --------------------===//
#ifndef STG_UNITTESTS_INTERP_TINYPROGRAM_H
#define STG_UNITTESTS_INTERP_TINYPROGRAM_H

#include "stg/Interp/Interpreter.h"

namespace stg::interp {

struct NamedSize {
  const char *name;
  int64_t size;
};
using NamedSizes = std::initializer_list<NamedSize>;

/// A program and the body that ops are being added to. What `input` declares is an input of the body and, by `run`, of
/// the program under the same name.
class TinyProgram {
public:
  TinyProgram() : program(std::make_shared<IRContext>()) { beginBody("body"); }

  Program program;
  InterpInputs inputs;

  IRContext &context() { return *program.context; }
  NameId name(llvm::StringRef text) { return context().name(text); }
  llvm::SmallVector<NameId, 2> names(std::initializer_list<const char *> texts) {
    llvm::SmallVector<NameId, 2> ids;
    for (const char *text : texts)
      ids.push_back(name(text));
    return ids;
  }
  DimExpr size(int64_t value) { return context().dims.constant(value); }
  Dim dim(NamedSize dim) { return {name(dim.name), size(dim.size)}; }
  TensorType type(NamedSizes dims, ElementType element = ElementType::F32) {
    TensorType type{element, {}};
    for (const NamedSize &own : dims)
      type.dims.push_back(dim(own));
    return type;
  }
  Tensor tensor(NamedSizes dims, std::vector<double> data, ElementType element = ElementType::F32) {
    Tensor tensor{element, {}, std::move(data)};
    for (const NamedSize &own : dims)
      tensor.dims.push_back({name(own.name), own.size});
    return tensor;
  }

  BodyId beginBody(llvm::StringRef text) {
    program.bodies.emplace_back().name = name(text);
    body_ = BodyId(static_cast<uint32_t>(program.bodies.size() - 1));
    return body_;
  }
  Body &body() { return program.bodies[body_.index]; }

  ValueId input(llvm::StringRef text, TensorType type) {
    body().inputs.push_back({name(text), type});
    return leaf(OpKind::Input, body().inputs.size() - 1, text, type);
  }
  /// An input and its numbers.
  ValueId input(llvm::StringRef text, Tensor value) {
    TensorType type{value.element, {}};
    for (const TensorDim &dim : value.dims)
      type.dims.push_back({dim.name, size(dim.size)});
    inputs.given[text.str()] = std::move(value);
    return input(text, type);
  }
  ValueId weight(llvm::StringRef text, TensorType type, bool owned = true) {
    body().weights.push_back({name(text), type, owned, {}});
    return leaf(OpKind::Weight, body().weights.size() - 1, text, type);
  }
  ValueId state(llvm::StringRef text, TensorType type, bool owned = true) {
    body().states.push_back({name(text), type, owned, {}});
    return leaf(OpKind::State, body().states.size() - 1, text, type);
  }
  ValueId constant(double number) { return op(OpKind::Constant, {}, ConstantFields{.number = number}); }

  ValueId op(OpKind kind, llvm::ArrayRef<ValueId> operands, OpFields fields, llvm::StringRef text = "",
             size_t resultCount = 1) {
    Op &op = body().ops.emplace_back();
    op.kind = kind;
    op.operands.assign(operands.begin(), operands.end());
    op.fields = std::move(fields);
    ValueId first;
    for (size_t i = 0; i < resultCount; ++i) {
      Value &value = body().values.emplace_back();
      value.def = OpId(static_cast<uint32_t>(body().ops.size() - 1));
      value.result = static_cast<uint32_t>(i);
      if (!text.empty())
        value.name = name(i == 0 ? text.str() : text.str() + "'" + std::to_string(i + 1));
      op.results.push_back(ValueId(static_cast<uint32_t>(body().values.size() - 1)));
      if (i == 0)
        first = op.results.back();
    }
    return first;
  }
  ValueId map(MapFn fn, llvm::ArrayRef<ValueId> operands, llvm::StringRef text = "") {
    return op(OpKind::Map, operands, MapFields{fn, ElementType::F32}, text);
  }
  ValueId contract(llvm::ArrayRef<ValueId> operands, std::initializer_list<const char *> reduced,
                   llvm::StringRef text = "") {
    return op(OpKind::Contract, operands, ContractFields{names(reduced), ElementType::F32}, text);
  }
  ValueId reduce(ReduceFn fn, ValueId operand, std::initializer_list<const char *> reduced) {
    return op(OpKind::Reduce, {operand}, ReduceFields{fn, names(reduced), ElementType::F32});
  }
  void output(llvm::StringRef text, ValueId value) { body().outputs.push_back({name(text), value}); }

  InputId programInput(llvm::StringRef text, TensorType type) {
    program.inputs.push_back({name(text), std::move(type), {}});
    return InputId(static_cast<uint32_t>(program.inputs.size() - 1));
  }
  UnitId unit(BodyId body, llvm::StringRef path, int64_t index, llvm::ArrayRef<InputBinding> bindings,
              llvm::ArrayRef<WeightBinding> weights = {}) {
    Unit &unit = program.units.emplace_back();
    unit.body = body;
    unit.path = name(path);
    unit.index = index;
    unit.inputs.assign(bindings.begin(), bindings.end());
    unit.weights.assign(weights.begin(), weights.end());
    return UnitId(static_cast<uint32_t>(program.units.size() - 1));
  }
  void programOutput(llvm::StringRef text, UnitId unit, uint32_t output) {
    program.outputs.push_back({name(text), {unit, output}});
  }

  /// The program of one unit `all` over the current body, whose outputs are the program's.
  InterpResult run(KeepValues keep = KeepValues::None) {
    llvm::SmallVector<InputBinding, 4> bindings;
    for (const InputSlot &slot : body().inputs)
      bindings.push_back(programInput(context().text(slot.name), slot.type));
    UnitId all = unit(body_, "all", -1, bindings);
    for (uint32_t i = 0; i < body().outputs.size(); ++i)
      programOutput(context().text(body().outputs[i].name), all, i);
    return interpret(program, inputs, keep);
  }
  /// What `value` is when the current body runs alone.
  Tensor valueOf(ValueId value) {
    output("result", value);
    return *run().output("result");
  }

private:
  ValueId leaf(OpKind kind, size_t slot, llvm::StringRef text, const TensorType &type) {
    ValueId value = op(kind, {}, SlotFields{static_cast<uint32_t>(slot)}, text);
    body().values[value.index].type = type;
    return value;
  }

  BodyId body_;
};

} // namespace stg::interp

#endif
