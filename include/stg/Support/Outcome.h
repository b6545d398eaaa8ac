//===- Outcome.h - whether a phase succeeded ------------------------------===//
#pragma once

namespace stg {

/// Failed: diagnostics say why.
enum class [[nodiscard]] Outcome { Done, Failed };

} // namespace stg
