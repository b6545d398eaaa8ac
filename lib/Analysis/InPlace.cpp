//===- InPlace.cpp ----------------------------------------------------------===//
#include "stg/Analysis/InPlace.h"

namespace stg {

namespace {

class PlaceFinder {
public:
  PlaceFinder(const Body &body, const BodyKernels &kernels)
      : body_(body), kernels_(kernels), places_(body.values.size()) {}

  std::vector<MemoryPlace> run() {
    for (const Op &op : body_.ops)
      switch (op.kind) {
      case OpKind::AllReduce:
        for (size_t i = 0; i < op.operands.size(); ++i)
          if (MemoryPlace from = placeOf(op.operands[i]); from.kind == MemoryPlace::Kind::Gradient)
            put(op.results[i], from);
        break;
      case OpKind::Append:
        if (MemoryPlace from = placeOf(op.operands[0]); from.kind == MemoryPlace::Kind::State)
          put(op.results[0], from);
        break;
      case OpKind::Update:
        replace(op, body_.states[slotOf(op)], MemoryPlace::Kind::State);
        break;
      case OpKind::Assign:
        replace(op, body_.weights[slotOf(op)], MemoryPlace::Kind::Weight);
        break;
      default:
        break;
      }
    return std::move(places_);
  }

private:
  static uint32_t slotOf(const Op &op) { return op.get<SlotFields>().slot; }
  ValueId sourceOf(ValueId value) const { return kernels_.source[value.index]; }

  MemoryPlace placeOf(ValueId value) const {
    const Op &op = body_.op(body_.value(sourceOf(value)).def);
    if (op.kind == OpKind::Gradient)
      return {MemoryPlace::Kind::Gradient, slotOf(op)};
    if (op.kind == OpKind::State)
      return {MemoryPlace::Kind::State, slotOf(op)};
    return places_[sourceOf(value).index];
  }

  /// What a slot holds from now on.
  template <class Slot> void replace(const Op &op, const Slot &slot, MemoryPlace::Kind kind) {
    ValueId value = op.operands[0];
    if (!isWhole(value, slot.type, slot.layout))
      return;
    put(value, {kind, slotOf(op)});
    const Op &store = body_.op(body_.value(value).def);
    if (store.kind != OpKind::Store)
      return;
    ValueId stored = store.operands[body_.value(value).result];
    std::optional<ValueId> old = loaded(kind == MemoryPlace::Kind::State ? OpKind::State : OpKind::Weight, slotOf(op));
    if (old && isWhole(stored, slot.type, slot.layout))
      put(stored, {MemoryPlace::Kind::Value, 0, *old});
  }

  /// What the step loads of a slot, if it does.
  std::optional<ValueId> loaded(OpKind kind, uint32_t slot) const {
    for (const Op &op : body_.ops)
      if (op.kind == OpKind::Load && op.part == Part::Step)
        for (size_t i = 0; i < op.operands.size(); ++i)
          if (const Op &from = body_.op(body_.value(op.operands[i]).def); from.kind == kind && slotOf(from) == slot)
            return op.results[i];
    return std::nullopt;
  }

  /// A slice of something larger is copied from there.
  bool isWhole(ValueId value, const TensorType &type, const std::optional<Layout> &layout) const {
    const Value &source = body_.value(sourceOf(value));
    return compatible(*source.type, type) && source.layout == layout;
  }

  /// The first place that a value takes holds; the second is a copy.
  void put(ValueId value, MemoryPlace place) {
    MemoryPlace &known = places_[sourceOf(value).index];
    if (known.kind == MemoryPlace::Kind::Own && kernels_.stepOf(body_, value) != BodyKernels::kNone)
      known = place;
  }

  const Body &body_;
  const BodyKernels &kernels_;
  std::vector<MemoryPlace> places_;
};

} // namespace

std::vector<MemoryPlace> memoryPlaces(const Body &body, const BodyKernels &kernels) {
  return PlaceFinder(body, kernels).run();
}

} // namespace stg
