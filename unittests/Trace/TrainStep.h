//===- TrainStep.h - a small step of training, written by hand --------------===//
// Two layers y = relu(x w) v on a mesh dp 2 x tp 2, batch over dp and F over tp, with gradients, a bucket for both
// weights, and plain SGD.
//===----------------------------------------------------------------------===//
#ifndef STG_UNITTESTS_TRACE_TRAINSTEP_H
#define STG_UNITTESTS_TRACE_TRAINSTEP_H

#include "stg/IR/Reader.h"
#include "stg/IR/Verifier.h"
#include "gtest/gtest.h"

namespace stg {

/// As text; `layers` units and `batches` micro-batches on `dp` x 2 ranks.
inline std::string trainStepText(int layers = 2, int batches = 2, int dp = 2) {
  std::string text = "stgir stored program toy mode train mesh dp = " + std::to_string(dp) +
                     ", tp = 2 sizes B = 8, D = 16, F = 32 microbatches " + std::to_string(batches);
  text += R"(
scalar loss
input x : f32[B, D]

body block {
  input x : f32[B, D] layout [B/dp, D]
  input dy : f32[B, D] cotangent of 0 layout [B/dp, D]
  weight w : f32[D, F] trained layout [D, F/tp] buffer [D, F/tp @ dp]
  weight v : f32[F, D] trained layout [F/tp, D] buffer [F/tp, D @ dp]
  %x : f32[B, D] layout [B/dp, D] = input x kernel 0
  %w : f32[D, F] layout [D, F/tp] = weight w kernel 0
  %v : f32[F, D] layout [F/tp, D] = weight v kernel 0
  %h : f32[B, F] layout [B/dp, F/tp] = contract(%x, %w) sum(D) kernel 1 compute (0, 1)
  %a : f32[B, F] layout [B/dp, F/tp] = relu(%h) kernel 2 compute (0, 1)
  %p : f32[B, D] layout [B/dp, D @ tp] = contract(%a, %v) sum(F) kernel 3 compute (0, 2)
  %y : f32[B, D] layout [B/dp, D] = all_reduce(%p) over (1) kernel 3
  %dy : f32[B, D] layout [B/dp, D] = input dy part input-grad kernel 9
  %dv : f32[F, D] layout [F/tp, D @ dp] = contract(%a, %dy) sum(B) part weight-grad kernel 10 compute (2, 0)
  accumulate v(%dv) part weight-grad kernel 10
  %da : f32[B, F] layout [B/dp, F/tp] = contract(%dy, %v) sum(D) part input-grad kernel 11 compute (0, 1)
  %dh : f32[B, F] layout [B/dp, F/tp] = where_positive(%da, %h) part input-grad kernel 12 compute (0, 1)
  %dw : f32[D, F] layout [D, F/tp @ dp] = contract(%x, %dh) sum(B) part weight-grad kernel 13 compute (2, 1)
  accumulate w(%dw) part weight-grad kernel 13
  %dp : f32[B, D] layout [B/dp, D @ tp] = contract(%dh, %w) sum(F) part input-grad kernel 14 compute (0, 2)
  %dx : f32[B, D] layout [B/dp, D] = all_reduce(%dp) over (1) part input-grad kernel 14
  %gw : f32[D, F] layout [D, F/tp @ dp] = gradient w part sync kernel 20
  %gv : f32[F, D] layout [F/tp, D @ dp] = gradient v part sync kernel 20
  %rw : f32[D, F] layout [D, F/tp], %rv : f32[F, D] layout [F/tp, D] = all_reduce(%gw, %gv) over (0) part sync kernel 20
  %lr : f32[] layout [] = constant 0.1 part step kernel 30
  %sw : f32[D, F] layout [D, F/tp] = mul(%rw, %lr) part step kernel 30 compute (-1, 1)
  %nw : f32[D, F] layout [D, F/tp] = sub(%w, %sw) part step kernel 30 compute (-1, 1)
  assign w(%nw) part step kernel 30
  %sv : f32[F, D] layout [F/tp, D] = mul(%rv, %lr) part step kernel 31 compute (-1, 0)
  %nv : f32[F, D] layout [F/tp, D] = sub(%v, %sv) part step kernel 31 compute (-1, 0)
  assign v(%nv) part step kernel 31
  output y = %y
  output dx = %dx cotangent of 0
}
body loss {
  input y : f32[B, D] layout [B/dp, D]
  %y : f32[B, D] layout [B/dp, D] = input y kernel 0
  %s : f32[B, D] layout [B/dp, D] = square(%y) kernel 1 compute (0, -1)
  %l : f32[] layout [@ dp] = reduce(%s) sum(B, D) kernel 1 compute (0, -1)
  tally loss(%l) kernel 1
  %seed : f32[] layout [] = constant 2 part input-grad kernel 2
  %dy : f32[B, D] layout [B/dp, D] = mul(%y, %seed) part input-grad kernel 2 compute (0, -1)
  output dy = %dy cotangent of 0
  loss %l
}
body finish {
  %t : f32[] layout [@ dp] = total loss part sync kernel 0
  %all : f32[] layout [] = all_reduce(%t) over (0) part sync kernel 0
  %mean : f32[] layout [] = neg(%all) part sync kernel 1
}
)";
  for (int i = 0; i < layers; ++i) {
    auto block = [](int at) { return "@blocks[" + std::to_string(at) + "]"; };
    text += "unit " + block(i) + " : block(x = " + (i == 0 ? "input x" : block(i - 1) + ":y") +
            ", dy = " + (i + 1 == layers ? "@loss:dy" : block(i + 1) + ":dx") + ")\n";
  }
  text += "unit @loss : loss(y = @blocks[" + std::to_string(layers - 1) + "]:y)\nunit @step : finish()\n";
  return text;
}

inline Program trainStep(const std::string &text = trainStepText()) {
  SourceManager sources;
  Diagnostics diags(sources);
  std::optional<Program> program = readProgram(sources.addBuffer("train.stgir", text), diags);
  for (const Diagnostic *diagnostic : diags.sorted())
    ADD_FAILURE() << sources.describe(diagnostic->range) << " " << diagnostic->message;
  if (!program)
    throw std::runtime_error("not read");
  for (const Violation &violation : verify(*program))
    ADD_FAILURE() << violation.op << " " << violation.text;
  return std::move(*program);
}

} // namespace stg

#endif
