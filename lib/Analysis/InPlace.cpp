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
        if (const StateSlot &slot = body_.states[slotOf(op)]; isWhole(op.operands[0], slot.type, slot.layout))
          put(op.operands[0], {MemoryPlace::Kind::State, slotOf(op)});
        break;
      case OpKind::Assign:
        if (const WeightSlot &slot = body_.weights[slotOf(op)]; isWhole(op.operands[0], slot.type, slot.layout))
          put(op.operands[0], {MemoryPlace::Kind::Weight, slotOf(op)});
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
