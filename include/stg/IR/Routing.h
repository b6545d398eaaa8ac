//===- Routing.h - how many tokens experts get --------------------------------===//
// One table for all layers and micro-batches: what differs between layers of a real model would cost an image per
// layer.
//===----------------------------------------------------------------------===//
#ifndef STG_IR_ROUTING_H
#define STG_IR_ROUTING_H

#include "stg/Support/SourceManager.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stg {

enum class RoutingKind : uint8_t { Uniform, Zipf, Trace };
llvm::StringRef spelling(RoutingKind kind);
std::optional<RoutingKind> routingKindFrom(llvm::StringRef text);

/// How an all-to-all of uneven parts is written: Chakra has none of its own. Pad: one collective, all parts as large as
/// the largest. Peers: a send and a receive for each peer, with the true sizes.
enum class UnevenExchange : uint8_t { Pad, Peers };
llvm::StringRef spelling(UnevenExchange exchange);
std::optional<UnevenExchange> unevenExchangeFrom(llvm::StringRef text);

/// Experts of low places get nothing long before.
inline constexpr int kMostExponent = 64;

/// `routing zipf(s = 1.2, seed = 7, drop = true)`.
struct Routing {
  RoutingKind kind = RoutingKind::Uniform;
  /// Zipf: the expert of place i has a share proportional to 1 / (i + 1)^exponent; `seed` says which expert that is.
  double exponent = 1;
  uint64_t seed = 0;
  /// Trace: relative loads by expert, not all 0.
  std::vector<uint64_t> loads;
  /// Tokens that find all slots of their expert taken are dropped; else experts take all.
  bool drops = false;
  UnevenExchange exchange = UnevenExchange::Pad;
  SourceRange where = {};

  bool isUneven() const { return kind != RoutingKind::Uniform; }
};

/// `zipf(s = 1.2, seed = 7)`, without blanks around `=`.
std::string toString(const Routing &routing);

} // namespace stg

#endif
