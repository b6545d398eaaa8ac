//===- Messages.cpp - what ranks of a pipeline send each other, in order ----===//
#include "Messages.h"
#include "ActionOrder.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

Messages::Messages(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates,
                   const SlotOrigins &origins)
    : program_(program), pipeline_(*program.pipeline), templates_(templates), origins_(origins),
      departures_(pipeline_.stages()), nodes_(pipeline_.stages()), arrivals_(pipeline_.stages()),
      tags_(pipeline_.transfers.size() * pipeline_.placement.microBatches) {
  for (uint32_t stage = 0; stage < pipeline_.stages(); ++stage)
    for (ActionKind kind : {ActionKind::Forward, ActionKind::Backward, ActionKind::InputGrad, ActionKind::WeightGrad})
      findDepartures(stage, kind);
  for (uint32_t i = 0; i < pipeline_.transfers.size(); ++i)
    arrivals_[pipeline_.transfers[i].to][!pipeline_.transfers[i].isForward()].push_back(i);
  for (const ActionList &list : pipeline_.lists)
    for (const Slot &slot : list) {
      if (slot.overlapped)
        sendPair(slot.action, *slot.overlapped);
      else
        for (const Departure &departure : departures(slot.action))
          send(slot.action, departure);
    }
}

llvm::ArrayRef<Messages::Departure> Messages::departures(const Action &action) const {
  return departures_[action.stage][kindOf(action)];
}

llvm::ArrayRef<uint32_t> Messages::arrivals(const Action &action) const {
  if (action.kind == ActionKind::WeightGrad)
    return {};
  return arrivals_[action.stage][action.kind != ActionKind::Forward];
}

llvm::ArrayRef<Messages::Message> Messages::between(uint32_t from, uint32_t to) const {
  auto found = between_.find({from, to});
  return found == between_.end() ? llvm::ArrayRef<Message>() : llvm::ArrayRef<Message>(found->second);
}

uint32_t Messages::sender(uint32_t transfer, uint32_t microBatch) const {
  return pipeline_.placement.rankOf(pipeline_.transfers[transfer].from, microBatch);
}

uint32_t Messages::receiver(uint32_t transfer, uint32_t microBatch) const {
  return pipeline_.placement.rankOf(pipeline_.transfers[transfer].to, microBatch);
}

void Messages::findDepartures(uint32_t stage, ActionKind kind) {
  std::vector<Departure> &list = departures_[stage][static_cast<size_t>(kind)];
  uint32_t &nodes = nodes_[stage][static_cast<size_t>(kind)];
  bool isForward = kind == ActionKind::Forward;
  uint32_t first = pipeline_.firstUnits[stage], last = pipeline_.firstUnits[stage + 1];
  std::vector<OrderedNode> order = orderOf(program_, templates_, first, last, kind);
  nodes = static_cast<uint32_t>(order.size());
  if (kind == ActionKind::WeightGrad)
    return;
  for (uint32_t i = 0; i < pipeline_.transfers.size(); ++i) {
    const Transfer &transfer = pipeline_.transfers[i];
    if (transfer.from != stage || transfer.isForward() != isForward)
      continue;
    SlotOrigin origin = origins_.output(transfer.value);
    Departure departure{i, 0};
    bool isHere = origin.kind == SlotOrigin::Kind::Node && origin.unit.index >= first && origin.unit.index < last &&
                  (origin.place.phase == Phase::Forward) == isForward;
    if (isHere)
      departure.after =
          static_cast<uint32_t>(llvm::find_if(order,
                                              [&](const OrderedNode &node) {
                                                return node.unit == origin.unit && node.place == origin.place;
                                              }) -
                                order.begin()) +
          1;
    list.push_back(departure);
  }
  llvm::stable_sort(list, [](const Departure &a, const Departure &b) { return a.after < b.after; });
}

void Messages::send(const Action &action, const Departure &departure) {
  uint32_t transfer = departure.transfer, microBatch = action.microBatch;
  std::vector<Message> &order = between_[{sender(transfer, microBatch), receiver(transfer, microBatch)}];
  tags_[number(transfer, microBatch)] = static_cast<uint32_t>(order.size());
  order.push_back({transfer, microBatch});
}

void Messages::sendPair(const Action &forward, const Action &backward) {
  llvm::ArrayRef<Departure> ahead = departures(forward), behind = departures(backward);
  uint32_t forwardNodes = nodes_[forward.stage][kindOf(forward)],
           backwardNodes = nodes_[backward.stage][kindOf(backward)];
  while (!ahead.empty() || !behind.empty()) {
    bool takeForward = behind.empty() || (!ahead.empty() && forwardIsNext(ahead.front().after, forwardNodes,
                                                                          behind.front().after, backwardNodes));
    send(takeForward ? forward : backward, takeForward ? ahead.front() : behind.front());
    (takeForward ? ahead : behind) = (takeForward ? ahead : behind).drop_front();
  }
}

} // namespace stg
