//===- TemplateStreams.cpp - rings and halos among the nodes of a body ------===//
#include "TemplateMaker.h"

namespace stg::templates {

/// Where what the stream's steps make is complete; gives the number of its nodes.
uint32_t TemplateMaker::placeStream(const Stream &stream, uint32_t step) {
  StreamNodes &nodes = streamNodes_[step] = nodesOf(stream);
  auto at = [&](uint32_t node) { return NodePlace{places_[step].phase, places_[step].index + node}; };
  placesInStreams_[step] = at(nodes.lastStep);
  for (const auto &[op, received] : nodes.arrived) {
    uint32_t other = kernels_.stepOfOp[op];
    placesInStreams_[other] = at(received.back());
    for (uint32_t node : llvm::ArrayRef(received).drop_back())
      furtherPlaces_[other].push_back(at(node));
    furtherPlaces_[other].push_back(at(nodes.lastStep)); // its own share
  }
  firstOfStream_[step] = places_[step].index;
  return static_cast<uint32_t>(nodes.nodes.size());
}

void TemplateMaker::fillStream(const Stream &stream, uint32_t step, std::vector<NodeTemplate> &nodes) {
  const StreamNodes &sequence = streamNodes_[step];
  NodeTemplate whole;
  fill(step, whole);
  std::vector<StepShare> shares = sharesOf(stream, whole.flops, whole.bytes);
  uint32_t first = firstOfStream_[step];
  for (const StreamNode &part : sequence.nodes) {
    NodeTemplate node = part.kind == TraceNodeKind::Compute ? stepOf(stream, part, whole, shares[part.number])
                                                            : messageOf(stream, part, whole.action);
    for (uint32_t other : part.after)
      node.nodes.push_back({places_[step].phase, first + other});
    node.send = {places_[step].phase, first + part.send};
    nodes.push_back(std::move(node));
  }
}

/// The gathers' operands, which the first step reads.
static llvm::SmallVector<ValueId, 2> ownBlocks(const Stream &stream, const Body &body) {
  llvm::SmallVector<ValueId, 2> blocks;
  for (OpId gather : stream.gathers)
    blocks.push_back(body.op(gather).operands[0]);
  return blocks;
}

/// What a step has of the kernel: it reads what comes instead of the gathered operands. Results are there from the
/// first step on, and later ones add to them.
NodeTemplate TemplateMaker::stepOf(const Stream &stream, const StreamNode &part, const NodeTemplate &whole,
                                   StepShare share) {
  NodeTemplate node = whole;
  node.flops = share.flops;
  node.bytes = share.bytes;
  for (NodeTemplate::Uneven &uneven : node.uneven) {
    StepShare own = sharesOf(stream, uneven.flops, uneven.bytes)[part.number];
    uneven = {uneven.split, own.flops, own.bytes};
  }
  node.name += stepSuffix(stream, part.number);
  llvm::erase_if(node.nodes, [&](NodePlace place) { return isInStream(stream, place); });
  bool isLast = part.number + 1 == stream.steps();
  if (!isLast) {
    node.scalarsWritten.clear();
    node.buffersWritten.clear();
  }
  if (part.isFirstOf())
    for (ValueId block : ownBlocks(stream, body_)) {
      dependOn(block, node);
      sortUnique(node.inputSlots);
      if (detail_ == UnrollDetail::Annotations)
        node.reads.push_back(stored(block));
    }
  else
    node.reads.insert(node.reads.end(), std::make_move_iterator(node.writes.begin()),
                      std::make_move_iterator(node.writes.end()));
  if (!part.isFirstOf())
    node.writes.clear();
  return node;
}

bool TemplateMaker::isInStream(const Stream &stream, NodePlace place) const {
  uint32_t step = kernels_.stepOfOp[stream.call.index], first = firstOfStream_.at(step);
  return place.phase == places_[step].phase && place.index >= first &&
         place.index < first + streamNodes_.at(step).nodes.size();
}

/// `attn.k/send(cp+1)/2of3`: the second hop of three.
NodeTemplate TemplateMaker::messageOf(const Stream &stream, const StreamNode &part, char action) {
  const Op &op = body_.op(part.moved);
  bool isSend = part.kind == TraceNodeKind::Send, isGather = op.kind == OpKind::AllGather;
  NodeTemplate node;
  node.kind = part.kind;
  node.action = action;
  node.groupKind = groups_.kindOf(stream.atoms);
  node.shift = part.shift;
  node.name = tensorName(op.operands[0]) + messageSuffix(stream, op.kind, isSend, part.number, program_.mesh);
  node.bytes = count(streams_.hopBytes(part.moved, part.number), "bytes", op);
  if (uint32_t split = kernels_.loads.splitOf(op.operands[0]); split != ExpertLoads::kEven)
    node.uneven.push_back({split, 0, node.bytes});
  ValueId held = isGather ? op.results[0] : op.operands[0];
  bool isOwn = isSend && isGather && (part.isFirstOf() || !stream.isRing());
  if (isOwn)
    dependOn(op.operands[0], node);
  sortUnique(node.inputSlots);
  if (detail_ == UnrollDetail::Costs)
    return node;
  annotate(op, node);
  bool isLast = part.number == stream.hops();
  if (!isSend && isGather && part.isFirstOf())
    write(held, node);
  else
    node.reads.push_back(stored(isOwn ? op.operands[0] : held));
  if (!isSend && !isGather && isLast)
    write(op.results[0], node);
  return node;
}

} // namespace stg::templates
