//===- StreamNodes.cpp - a ring or a halo as nodes --------------------------===//
// A ring over 3 ranks, with K sent forward and dK behind it (V alike):
//
//   send K 1, recv K 1, step 0; send K 2 (of what came), recv K 2, step 1 (on what came), send dK 1 (of step 1),
//   recv dK 1; step 2, send dK 2 (what came, and step 2), recv dK 2 (home)
//
// Nothing but step i waits for the block of step i, so that it travels while step i - 1 computes.
//===----------------------------------------------------------------------===//
#include "StreamNodes.h"

namespace stg {
namespace {

class Sequence {
public:
  explicit Sequence(const Stream &stream) : stream_(stream) {}

  StreamNodes ring() {
    for (uint32_t step = 0; step < stream_.ranks; ++step) {
      llvm::SmallVector<uint32_t, 4> needs = here_;
      if (step + 1 < stream_.ranks)
        passOn(stream_.gathers, step + 1, here_, 1);
      if (step > 0)
        needs.push_back(out_.lastStep);
      addStep(step, needs);
      if (step > 0)
        passOn(stream_.scatters, step, sums_, 1, out_.lastStep);
    }
    return std::move(out_);
  }

  StreamNodes halo() {
    llvm::SmallVector<uint32_t, 4> needs;
    for (uint32_t hop = 1; hop <= stream_.hops(); ++hop) {
      here_.clear();
      passOn(stream_.gathers, hop, here_, hop);
      needs.append(here_);
    }
    addStep(0, needs);
    for (uint32_t hop = 1; hop <= stream_.hops(); ++hop) {
      sums_.clear();
      passOn(stream_.scatters, hop, sums_, stream_.ranks - hop, out_.lastStep);
    }
    return std::move(out_);
  }

private:
  uint32_t add(StreamNode node) {
    out_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(out_.nodes.size() - 1);
  }

  void addStep(uint32_t step, llvm::ArrayRef<uint32_t> needs) {
    StreamNode node{.number = step};
    node.after.assign(needs.begin(), needs.end());
    out_.lastStep = add(std::move(node));
  }

  /// One message of each collective: what came last is sent `shift` places further, and its successor arrives.
  void passOn(llvm::ArrayRef<OpId> collectives, uint32_t hop, llvm::SmallVectorImpl<uint32_t> &came, uint32_t shift,
              std::optional<uint32_t> madeBy = std::nullopt) {
    llvm::SmallVector<uint32_t, 4> sent;
    for (size_t i = 0; i < collectives.size(); ++i) {
      StreamNode node{.kind = TraceNodeKind::Send, .moved = collectives[i], .number = hop, .shift = shift};
      if (madeBy)
        node.after.push_back(*madeBy);
      if (!came.empty())
        node.after.push_back(came[i]);
      sent.push_back(add(std::move(node)));
    }
    came.clear();
    for (size_t i = 0; i < collectives.size(); ++i) {
      came.push_back(add({.kind = TraceNodeKind::Recv,
                          .moved = collectives[i],
                          .number = hop,
                          .shift = stream_.ranks - shift,
                          .send = sent[i]}));
      auto &arrived = out_.arrived[collectives[i].index];
      if (stream_.isRing())
        arrived.clear();
      arrived.push_back(came.back());
    }
  }

  const Stream &stream_;
  StreamNodes out_;
  llvm::SmallVector<uint32_t, 4> here_, sums_; ///< receives of the last hop, by collective
};

} // namespace

StreamNodes nodesOf(const Stream &stream) {
  return stream.isRing() ? Sequence(stream).ring() : Sequence(stream).halo();
}

} // namespace stg
