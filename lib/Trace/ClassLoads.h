//===- ClassLoads.h - what templates cost where loads of experts are uneven ---===//
#pragma once

#include "UnrollTemplates.h"

namespace stg {

/// A message of an all-to-all that is written as messages.
struct PeerMessage {
  bool isSend = false;
  uint32_t peer = 0;    ///< of the first rank of the class
  int64_t distance = 0; ///< of the peer in the group's ring, forward for sends
  uint64_t bytes = 0;
  uint64_t paddedBytes = 0; ///< if all parts were as large as the largest

  TraceNode node(uint32_t firstRank, uint32_t tag) const;
  /// `/send(ep+3)`: behind the name of what moves.
  std::string suffix(const std::string &axes) const;
};

/// The atoms, in mesh order, on whose coordinates the nodes of a rank depend because of the loads of its experts.
AtomList loadAtomsOf(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates);

/// For the ranks of one class.
class ClassLoads {
public:
  ClassLoads(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates, uint32_t firstRank);

  /// Gives the node its costs.
  void weigh(BodyId body, const NodeTemplate &from, TraceNode &node) const;
  uint64_t bytesOf(BodyId body, const TensorTemplate &tensor) const;
  /// Receives, then sends, nearest peers first. Without those of no bytes.
  llvm::ArrayRef<PeerMessage> messagesOf(const NodeTemplate &exchange) const;

private:
  struct ExchangeSizes {
    uint64_t bytes = 0, trueBytes = 0;
    std::vector<PeerMessage> messages;
  };
  ExchangeSizes sizesOf(const ExpertExchange &exchange, const ExpertLoads &loads, int64_t rank) const;

  std::vector<MeshAtom> atoms_;
  std::vector<std::vector<LoadRatio>> ratios_;  ///< by body and split
  std::map<uint32_t, ExchangeSizes> exchanges_; ///< by number of the template
};

} // namespace stg
