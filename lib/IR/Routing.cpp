//===- Routing.cpp - how many tokens experts get ------------------------------===//
#include "stg/IR/Routing.h"
#include "ProgramPrinter.h"

namespace stg {

llvm::StringRef spelling(RoutingKind kind) {
  constexpr llvm::StringRef kSpellings[] = {"uniform", "zipf", "trace"};
  return kSpellings[static_cast<size_t>(kind)];
}

std::optional<RoutingKind> routingKindFrom(llvm::StringRef text) {
  for (RoutingKind kind : {RoutingKind::Uniform, RoutingKind::Zipf, RoutingKind::Trace})
    if (spelling(kind) == text)
      return kind;
  return std::nullopt;
}

llvm::StringRef spelling(UnevenExchange exchange) { return exchange == UnevenExchange::Pad ? "pad" : "p2p"; }

std::optional<UnevenExchange> unevenExchangeFrom(llvm::StringRef text) {
  for (UnevenExchange exchange : {UnevenExchange::Pad, UnevenExchange::Peers})
    if (spelling(exchange) == text)
      return exchange;
  return std::nullopt;
}

std::string toString(const Routing &routing) {
  std::string text = spelling(routing.kind).str(), drops = routing.drops ? ", drop=true" : "";
  switch (routing.kind) {
  case RoutingKind::Uniform:
    return text;
  case RoutingKind::Zipf:
    return text + "(s=" + detail::doubleText(routing.exponent) + ", seed=" + std::to_string(routing.seed) + drops + ")";
  case RoutingKind::Trace:
    return text + "(" + std::to_string(routing.loads.size()) + " experts" + drops + ")";
  }
  return text;
}

} // namespace stg
