//===- InputValues.cpp ----------------------------------------------------===//
// indexBound follows a value forward: an op either passes the numbers on (views, slices, casts, ...), takes them as
// positions (gather, scatter, some references), or makes other numbers out of them, where the search ends. A place is
// (unit, body, value); the unit matters only where a body's output is bound by later units.
//===----------------------------------------------------------------------===//
#include "stg/Interp/InputValues.h"
#include "stg/Interp/OpMeanings.h"
#include "stg/Interp/References.h"
#include <algorithm>
#include <set>

namespace stg::interp {

uint64_t seedOf(uint64_t seed, int64_t microBatch) {
  return microBatch == 0 ? seed : hashOf(hashOf(seed, llvm::StringRef("micro-batch")), uint64_t(microBatch));
}

double madeUp(ElementType element, uint64_t seed, llvm::StringRef name, uint64_t globalIndex, int64_t bound) {
  double number = uniform(hashOf(hashOf(seed, name), globalIndex));
  if (isFloat(element))
    return 2 * number - 1;
  if (element == ElementType::Bool)
    return number < 0.5 ? 0 : 1;
  return static_cast<double>(static_cast<int64_t>(number * static_cast<double>(bound)));
}

Tensor madeUpTensor(ElementType element, llvm::ArrayRef<TensorDim> dims, uint64_t seed, llvm::StringRef name,
                    int64_t bound) {
  Tensor tensor = Tensor::filled(element, dims);
  for (size_t n = 0; n < tensor.data.size(); ++n)
    tensor.data[n] = madeUp(element, seed, name, n, bound);
  return tensor;
}

namespace {

class BoundSearch {
public:
  explicit BoundSearch(const Program &program) : program_(program) {}

  void visitInput(InputId input) {
    for (uint32_t u = 0; u < program_.units.size(); ++u)
      visitSlots(UnitId(u), [&](const InputBinding &binding) {
        const auto *bound = std::get_if<InputId>(&binding);
        return bound && *bound == input;
      });
  }
  std::optional<int64_t> bound() const { return bound_; }

private:
  template <class Matches> void visitSlots(UnitId unit, Matches matches) {
    const Unit &own = program_.units[unit.index];
    for (uint32_t slot = 0; slot < own.inputs.size(); ++slot)
      if (matches(own.inputs[slot]))
        visitSlot(unit, own.body, slot);
  }

  /// All that reads input slot `slot` of a body; `unit` is invalid in a define block.
  void visitSlot(UnitId unit, BodyId bodyId, uint32_t slot) {
    for (const Op &op : program_.body(bodyId).ops)
      if (op.kind == OpKind::Input && op.get<SlotFields>().slot == slot)
        visitValue(unit, bodyId, op.results.front());
  }

  void visitValue(UnitId unit, BodyId bodyId, ValueId value) {
    if (!visited_.insert({unit.index, bodyId.index, value.index}).second)
      return;
    const Body &body = program_.body(bodyId);
    for (const Op &op : body.ops)
      for (size_t i = 0; i < op.operands.size(); ++i)
        if (op.operands[i] == value)
          visitUse(unit, bodyId, op, i);
    if (!unit)
      return;
    for (uint32_t output = 0; output < body.outputs.size(); ++output)
      if (body.outputs[output].value == value)
        for (uint32_t later = unit.index + 1; later < program_.units.size(); ++later)
          visitSlots(UnitId(later), [&](const InputBinding &binding) {
            const auto *bound = std::get_if<UnitValue>(&binding);
            return bound && *bound == UnitValue{unit, output};
          });
  }

  void visitUse(UnitId unit, BodyId bodyId, const Op &op, size_t operand) {
    switch (op.kind) {
    case OpKind::Gather:
      if (operand == 1)
        limitToDim(program_.body(bodyId), op.operands[0], op.get<GatherFields>().dim);
      else
        visitValue(unit, bodyId, op.results.front());
      return;
    case OpKind::Scatter:
      if (operand == 1)
        limit(sizeOf(op.get<ScatterFields>().dim.size));
      return;
    case OpKind::Map:
      if (op.get<MapFields>().fn == MapFn::Cast)
        visitValue(unit, bodyId, op.results.front());
      return;
    case OpKind::Stop:
    case OpKind::View:
    case OpKind::Concat:
    case OpKind::At:
    case OpKind::Slice:
    case OpKind::Append:
      visitValue(unit, bodyId, op.results.front());
      return;
    case OpKind::Call:
      visitCall(op.get<CallFields>(), operand);
      return;
    default:
      return;
    }
  }

  void visitCall(const CallFields &call, size_t operand) {
    if (call.define)
      return visitSlot(UnitId(), call.define, static_cast<uint32_t>(operand));
    const Reference *reference = findReference(program_.text(call.callee));
    if (!reference)
      return;
    for (const IndexOperand &index : reference->indices)
      for (const Factor &factor : call.factors)
        if (index.operand == operand && program_.text(factor.name) == index.factor)
          limit(sizeOf(factor.dim.size));
  }

  void limitToDim(const Body &body, ValueId data, NameId dim) {
    // Leaves and, from level Typed on, all values have types; a gather from a value without one sets no bound.
    if (const std::optional<TensorType> &type = body.value(data).type)
      if (const Dim *found = type->find(dim))
        limit(sizeOf(found->size));
  }
  void limit(int64_t size) { bound_ = std::min(bound_.value_or(size), size); }

  const Program &program_;
  std::set<std::array<uint32_t, 3>> visited_;
  std::optional<int64_t> bound_;
};

} // namespace

int64_t indexBound(const Program &program, InputId input) {
  BoundSearch search(program);
  search.visitInput(input);
  std::optional<int64_t> bound = search.bound();
  if (!bound) {
    auto consider = [&](DimExpr size) {
      if (std::optional<int64_t> value = size.size())
        bound = std::min(bound.value_or(*value), *value);
    };
    for (const Dim &dim : program.inputs[input.index].type.dims)
      consider(dim.size);
    for (const SizeParameter &parameter : program.sizes)
      consider(parameter.symbol);
  }
  return std::max<int64_t>(bound.value_or(1), 1);
}

} // namespace stg::interp
