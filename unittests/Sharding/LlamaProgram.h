//===- LlamaProgram.h - a Llama with its gradients, for tests of layouts ----===//
#ifndef STG_UNITTESTS_SHARDING_LLAMAPROGRAM_H
#define STG_UNITTESTS_SHARDING_LLAMAPROGRAM_H

#include <string>

namespace stg::test {

struct LlamaText {
  std::string mesh; ///< `dp = 2, tp = 2`; empty: one rank
  std::string plan; ///< lines of rules, as .stgir says them
  std::string sizes = "B = 4, S = 16, D = 8, KV = 4, R = 2, Dh = 4, F = 8, V = 8";
  int layers = 2;
  bool tied = false;
  bool parallel = false; ///< PaLM: attention and ffn read one norm, both are added to x
};

/// The program as .stgir at level Differentiated: `first` (lookup), `blocks[i]` (GQA and SwiGLU with two norm gains, 9
/// weights), `last` (norm, logits, cross-entropy).
std::string text(const LlamaText &options);

} // namespace stg::test

#endif
