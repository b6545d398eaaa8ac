//===- AttentionTest.cpp - std.attention at tiny sizes ---------------------===//
// One meaning, said in several ways: the define block of `attend` and the reference in C++, grouped heads against plain
// ones, masks that let the same through, a cache against the whole pass.
//===----------------------------------------------------------------------===//
#include "StgText.h"
#include "gtest/gtest.h"
#include <cmath>
#include <map>

namespace stg::stdlib {
namespace {

using interp::InterpInputs;
using interp::InterpResult;
using interp::largestDifference;
using interp::Tensor;

void expectClose(const InterpResult &result, const char *a, const char *b, double tolerance = 1e-12) {
  const Tensor *first = result.output(a), *second = result.output(b);
  ASSERT_TRUE(first && second) << a << " " << b;
  ASSERT_FALSE(first->data.empty());
  EXPECT_LT(largestDifference(*first, *second), tolerance) << a << " and " << b;
}

struct AttendCase {
  const char *name;
  const char *sizes;   ///< B, S, T, KV, R of the model
  const char *operand; ///< further operand, or empty
  const char *statics; ///< behind `;`, or empty
};

class Attend : public testing::TestWithParam<AttendCase> {};

TEST_P(Attend, DefineBlockEqualsTheReference) {
  const AttendCase &one = GetParam();
  llvm::StringRef operand = one.operand;
  std::string text = std::string("use std.attention.{attend}\n") + "model m(" + one.sizes + ", C = 4, E = 6) {\n" +
                     "  let H = KV * R\n  factor H = (KV, R)\n" +
                     "  input q[B, S, H, C], k[B, T, KV, C], v[B, T, KV, E]" +
                     (operand.contains("bias") ? ", bias[S, T, H]" : "") +
                     (operand.contains("sink") ? ", sink[H]\n" : "\n") + "  o, lse = attend(q, k, v" + one.operand +
                     (*one.statics ? std::string("; ") + one.statics : "") + ")\n" + "  output o, lse\n}\n";
  std::optional<Program> program = compileText(text);
  ASSERT_TRUE(program);
  Program reference = *program;
  dropDefineBlocks(reference, "attend");
  InterpResult defined = interp::interpret(*program, {}), referred = interp::interpret(reference, {});
  for (const char *output : {"o", "lse"}) {
    ASSERT_TRUE(defined.output(output) && referred.output(output));
    EXPECT_LT(largestDifference(*defined.output(output), *referred.output(output)), 1e-12) << output;
  }
  double sum = 0;
  for (double value : defined.output("o")->data)
    sum += std::abs(value);
  EXPECT_GT(sum, 0.1);
}

INSTANTIATE_TEST_SUITE_P(
    Masks, Attend,
    testing::Values(AttendCase{"Causal", "B = 2, S = 4, T = 4, KV = 2, R = 2", "", ""},
                    AttendCase{"CausalPast", "B = 1, S = 2, T = 5, KV = 2, R = 1", "", ""},
                    AttendCase{"Full", "B = 2, S = 3, T = 5, KV = 1, R = 3", "", "mask = full"},
                    AttendCase{"Window", "B = 1, S = 6, T = 6, KV = 2, R = 2", "", "mask = window(3)"},
                    AttendCase{"Chunk", "B = 1, S = 6, T = 6, KV = 1, R = 2", "", "mask = chunk(2)"},
                    AttendCase{"Prefix", "B = 1, S = 5, T = 5, KV = 2, R = 1", "", "mask = prefix(3)"},
                    AttendCase{"Documents", "B = 1, S = 6, T = 6, KV = 1, R = 1", "", "mask = documents([2, 3, 1])"},
                    AttendCase{"Requests", "B = 1, S = 3, T = 8, KV = 1, R = 2", "", "mask = requests([1, 2], [3, 2])"},
                    AttendCase{"Bias", "B = 2, S = 4, T = 4, KV = 2, R = 2", ", bias", ""},
                    AttendCase{"Softcap", "B = 2, S = 4, T = 4, KV = 2, R = 2", "", "softcap = 0.5"},
                    AttendCase{"Sink", "B = 2, S = 4, T = 4, KV = 2, R = 2", ", none, sink", ""},
                    AttendCase{"All", "B = 1, S = 5, T = 5, KV = 2, R = 2", ", bias, sink",
                               "mask = window(2), softcap = 1.5"}),
    [](const auto &info) { return info.param.name; });

// Its own key is 0, so its logit is 0, and its value is 0.
TEST(Attend, ASinkIsOneMoreKeyWithoutAValue) {
  InterpResult result = runText(R"(
use std.attention.{attend}
model m(B = 2, S = 4, T = 4, H = 2, C = 4) {
  let One = 1, T1 = T + 1
  input q[B, S, H, C], k[B, T, H, C], v[B, T, H, C], s[H]
  o, lse = attend(q, k, v, none, 0.0 * s; mask = full)
  more_k = concat(0.0 * slice(k; T, One, 0), k[T as Tk]; T1)
  more_v = concat(0.0 * slice(v; T, One, 0), v[T as Tk]; T1)
  more_o, more_lse = attend(q, more_k, more_v; mask = full)
  plain_o, plain_lse = attend(q, k, v; mask = full)
  output o, lse, more_o, more_lse, plain_o
}
)");
  expectClose(result, "o", "more_o");
  expectClose(result, "lse", "more_lse");
  ASSERT_TRUE(result.output("o") && result.output("plain_o"));
  EXPECT_GT(largestDifference(*result.output("o"), *result.output("plain_o")), 1e-3);
}

TEST(Gqa, WithAHeadOfKeysForEveryQueryHeadIsMhaWithoutBiases) {
  std::optional<Program> program = compileText(R"(
use std.attention.{gqa, mha}
model m(B = 2, S = 5, D = 6, H = 3) {
  input x[B, S, D]
  a = a: gqa(x; H, KV = H, rope = identity)
  b = b: mha(x; H)
  output a, b
}
)");
  ASSERT_TRUE(program);
  InterpInputs inputs;
  giveEqualWeights(*program, {"a.", "b.heads."}, inputs);
  for (auto &[name, tensor] : inputs.given) {
    llvm::StringRef path(name);
    if (path.ends_with(".b") || path.ends_with(".bo"))
      std::fill(tensor.data.begin(), tensor.data.end(), 0);
  }
  expectClose(interp::interpret(*program, inputs), "a", "b");
}

TEST(Mqa, IsGqaWithOneHeadOfKeys) {
  std::optional<Program> program = compileText(R"(
use std.attention.{gqa, mqa}
model m(B = 2, S = 5, D = 12, H = 3) {
  input x[B, S, D]
  a = a: gqa(x; H, KV = 1)
  b = b: mqa(x; H)
  output a, b
}
)");
  ASSERT_TRUE(program);
  InterpInputs inputs;
  giveEqualWeights(*program, {"a.", "b.heads."}, inputs);
  expectClose(interp::interpret(*program, inputs), "a", "b");
}

TEST(CoreAttention, WithScoresInMemoryIsFlashAttention) {
  std::optional<Program> program = compileText(R"(
use std.attention.{gqa}
model m(B = 2, S = 5, D = 12, H = 6) {
  let T = 5
  input x[B, S, D], bias[S, T, H]
  a = a: gqa(x, bias; H, KV = 3, softcap = 2.0, mask = window(3))
  b = b: gqa(x, bias; H, KV = 3, softcap = 2.0, mask = window(3), fused = false)
  output a, b
}
)");
  ASSERT_TRUE(program);
  InterpInputs inputs;
  giveEqualWeights(*program, {"a.", "b."}, inputs);
  expectClose(interp::interpret(*program, inputs), "a", "b");
}

// Grouped heads against loops: no other test knows which query heads share which keys.
TEST(Gqa, NeighbouringQueryHeadsShareKeys) {
  std::optional<Program> program = compileText(R"(
use std.attention.{gqa}
model m(B = 1, S = 3, D = 8, H = 4) {
  input x[B, S, D]
  y = g: gqa(x; H, KV = 2, rope = identity, mask = full)
  output y
}
)");
  ASSERT_TRUE(program);
  InterpResult result = interp::interpret(*program, {}, interp::KeepValues::All);
  constexpr int S = 3, D = 8, H = 4, KV = 2, Dh = 2;
  auto numbers = [](const std::string &name, int count) {
    std::vector<double> data;
    for (int i = 0; i < count; ++i)
      data.push_back(interp::madeUp(ElementType::F32, 0, name, static_cast<uint64_t>(i), 1));
    return data;
  };
  auto x = numbers("x", S * D), wq = numbers("g.q.w", D * H * Dh), wk = numbers("g.k.w", D * KV * Dh),
       wv = numbers("g.v.w", D * KV * Dh), wo = numbers("g.wo", H * Dh * D);
  auto project = [&](const std::vector<double> &w, int heads, int s, int h, int c) {
    double sum = 0;
    for (int d = 0; d < D; ++d)
      sum += x[s * D + d] * w[(d * heads + h) * Dh + c];
    return sum;
  };
  const Tensor *y = result.output("y");
  ASSERT_TRUE(y);
  for (int s = 0; s < S; ++s)
    for (int d = 0; d < D; ++d) {
      double expected = 0;
      for (int h = 0; h < H; ++h) {
        int shared = h / (H / KV);
        double weight[S], total = 0;
        for (int t = 0; t < S; ++t) {
          double dot = 0;
          for (int c = 0; c < Dh; ++c)
            dot += project(wq, H, s, h, c) * project(wk, KV, t, shared, c);
          total += weight[t] = std::exp(dot / std::sqrt(double(Dh)));
        }
        for (int c = 0; c < Dh; ++c)
          for (int t = 0; t < S; ++t)
            expected += weight[t] / total * project(wv, KV, t, shared, c) * wo[(h * Dh + c) * D + d];
      }
      EXPECT_NEAR(y->data[static_cast<size_t>(s * D + d)], expected, 1e-12);
    }
}

TEST(Masks, AWindowAsLongAsTheSequenceIsCausal) {
  InterpResult result = runText(R"(
use std.attention.{attend}
model m(B = 1, S = 5, H = 2, C = 4) {
  input q[B, S, H, C], k[B, S, H, C], v[B, S, H, C]
  causal_o, causal_lse = attend(q, k, v)
  same_o, same_lse = attend(q, k, v; mask = window(5))
  longer_o, longer_lse = attend(q, k, v; mask = window(9))
  shorter_o, shorter_lse = attend(q, k, v; mask = window(2))
  output causal_o, same_o, longer_o, shorter_o
}
)");
  expectClose(result, "causal_o", "same_o");
  expectClose(result, "causal_o", "longer_o");
  ASSERT_TRUE(result.output("causal_o") && result.output("shorter_o"));
  EXPECT_GT(largestDifference(*result.output("causal_o"), *result.output("shorter_o")), 1e-3);
}

TEST(Rotary, KeepsLengthsAndItsInverseTurnsBack) {
  InterpResult result = runText(R"(
use std.attention.{rotary}
model m(B = 2, S = 4, H = 2, C = 6) {
  input x[B, S, H, C]
  y = rotary(x; start = 3)
  back = rotary(y; start = 3, inverse = true)
  length = sum(C) x * x
  turned = sum(C) y * y
  same = 1.0 * x
  output same, y, back, length, turned
}
)");
  expectClose(result, "same", "back");
  expectClose(result, "length", "turned");
  ASSERT_TRUE(result.output("y"));
  EXPECT_GT(largestDifference(*result.output("same"), *result.output("y")), 0.1);
}

TEST(Rotary, DefineBlockEqualsTheReference) {
  std::optional<Program> program = compileText(R"(
use std.attention.{rotary}
model m(B = 2, S = 3, H = 2, C = 6) {
  input x[B, S, H, C], z[B, S, C]
  a = rotary(x)
  b = rotary(x; base = 500.0, start = 7, inverse = true)
  c = rotary(z; start = 2)
  output a, b, c
}
)");
  ASSERT_TRUE(program);
  Program reference = *program;
  dropDefineBlocks(reference, "rotary");
  InterpResult defined = interp::interpret(*program, {}), referred = interp::interpret(reference, {});
  for (const char *output : {"a", "b", "c"}) {
    ASSERT_TRUE(defined.output(output) && referred.output(output));
    EXPECT_LT(largestDifference(*defined.output(output), *referred.output(output)), 1e-12) << output;
  }
  EXPECT_GT(largestDifference(*defined.output("a"), *defined.output("b")), 0.1);
}

// The reason to turn q and k at all: their product depends on how far apart they stand, not on where.
TEST(Rotary, ProductsDependOnDistanceOnly) {
  InterpResult result = runText(R"(
use std.attention.{rotary}
model m(B = 1, S = 4, C = 8) {
  input q[B, S, C], k[B, S, C]
  near_score = sum(C) rotary(q) * rotary(k)[S as T]
  far_score = sum(C) rotary(q; start = 100) * rotary(k; start = 100)[S as T]
  output near_score, far_score
}
)");
  expectClose(result, "near_score", "far_score", 1e-9);
}

/// A layer with a cache: its call on x, and how its states are called and shaped behind B and T.
struct CacheCase {
  const char *name, *call;
  int window; ///< past positions that the cache keeps, and the new one; 0: all
  std::map<std::string, std::vector<const char *>> states;
};

class KvCache : public testing::TestWithParam<CacheCase> {
protected:
  static constexpr int kBatch = 2, kWidth = 8;

  /// Works out x of `positions` positions from `first` on.
  InterpResult run(int positions, int first, const std::string &mode, const InterpInputs &states) {
    std::string text =
        std::string("use std.{attention, ffn, norm}\n"
                    "model m(L = 2, B = 2, D = 8, H = 4, KV = 2, F = 10, V = 7, S = 1, Rq = 5, Rkv = 6, "
                    "Dn = 3, Dr = 2) {\n"
                    "  input ids[B, S]: i32\n  weight wte[V, D]\n  x = lookup(ids, wte)\n"
                    "  repeat L as blocks {\n    x = x + attn: ") +
        GetParam().call +
        "\n    x = x + ffn: swiglu(norm2: rmsnorm(x); F)\n  }\n  output x\n}\nworkload w {\n  model m(S = " +
        std::to_string(positions) + ")\n" + mode + "}\n";
    std::optional<Program> program = compileText(text);
    EXPECT_TRUE(program) << text;
    InterpInputs inputs = states;
    Tensor ids;
    ids.element = ElementType::I32;
    if (!program)
      return InterpResult();
    ids.dims = {{program->context->name("B"), kBatch}, {program->context->name("S"), positions}};
    for (int b = 0; b < kBatch; ++b)
      for (int s = 0; s < positions; ++s)
        ids.data.push_back((3 * b + 2 * (first + s) + 1) % 7);
    inputs.given["ids"] = ids;
    // Names belong to a program: the states of the step before come under this one's.
    for (auto &[name, tensor] : inputs.given)
      if (name != "ids") {
        tensor.dims[0].name = program->context->name("B");
        tensor.dims[1].name = program->context->name("T");
        const std::vector<const char *> &rest = GetParam().states.at(name.substr(name.rfind('.') + 1));
        for (size_t i = 0; i < rest.size(); ++i)
          tensor.dims[i + 2].name = program->context->name(rest[i]);
      }
    return interp::interpret(*program, inputs);
  }

  static std::vector<double> position(const InterpResult &result, int positions, int s) {
    std::vector<double> rows;
    for (int b = 0; b < kBatch; ++b)
      for (int d = 0; d < kWidth; ++d)
        rows.push_back(result.output("x")->data[static_cast<size_t>((b * positions + s) * kWidth + d)]);
    return rows;
  }

  /// The states of the last step with room for `count` new positions at their end, behind those that the cache keeps.
  InterpInputs grown(const InterpResult &step, int past, int count) {
    InterpInputs states;
    int kept = GetParam().window ? std::min(past, GetParam().window - 1) : past;
    for (const interp::NamedTensor &state : step.states) {
      Tensor next = state.value;
      int64_t had = next.dims[1].size;
      EXPECT_GE(had, kept);
      next.dims[1].size = kept + count;
      int64_t perPosition = 1;
      for (size_t i = 2; i < next.dims.size(); ++i)
        perPosition *= next.dims[i].size;
      next.data.clear();
      for (int64_t b = 0; b < kBatch; ++b) {
        auto end = state.value.data.begin() + perPosition * had * (b + 1);
        next.data.insert(next.data.end(), end - perPosition * kept, end);
        next.data.insert(next.data.end(), static_cast<size_t>(perPosition * count), 0.0);
      }
      states.given[state.name] = next;
    }
    return states;
  }
};

// Six positions at once; three by prefill, one by decode, two by a prefill behind what is there, each from the cache
// that the step before left.
TEST_P(KvCache, DecodeAfterPrefillIsTheWholePass) {
  constexpr int kPrompt = 3, kAll = 6;
  InterpResult whole = run(kAll, 0, "", {});
  ASSERT_TRUE(whole.output("x"));
  InterpResult step = run(kPrompt, 0, "  prefill\n", {});
  ASSERT_TRUE(step.output("x"));
  for (int s = 0; s < kPrompt; ++s) {
    auto expected = position(whole, kAll, s), actual = position(step, kPrompt, s);
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i], 1e-12);
  }
  ASSERT_EQ(step.states.size(), 4u) << "two states of two blocks";
  struct Step {
    std::string mode;
    int past, count;
  };
  for (const Step &next : {Step{"  decode { past = 3, steps = 1 }\n", 3, 1}, Step{"  prefill { past = 4 }\n", 4, 2}}) {
    step = run(next.count, next.past, next.mode, grown(step, next.past, next.count));
    ASSERT_TRUE(step.output("x"));
    for (int s = 0; s < next.count; ++s) {
      auto expected = position(whole, kAll, next.past + s), actual = position(step, next.count, s);
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(actual[i], expected[i], 1e-12) << "position " << next.past + s;
    }
  }
}

const std::map<std::string, std::vector<const char *>> kHeads = {{"kc", {"KV", "Dh"}}, {"vc", {"KV", "Dh"}}},
                                                       kLatents = {{"kc", {"Rkv"}}, {"rc", {"Dr"}}};
INSTANTIATE_TEST_SUITE_P(
    Layers, KvCache,
    testing::Values(
        CacheCase{"Gqa", "gqa(norm1: rmsnorm(x); H, KV)", 0, kHeads},
        CacheCase{"Sliding", "gqa(norm1: rmsnorm(x); H, KV, sliding = 3, sinks = true)", 3, kHeads},
        CacheCase{"Mla", "mla(norm1: rmsnorm(x); H, Rq, Rkv, Dn, Dr)", 0, kLatents},
        CacheCase{"MlaExpanded", "mla(norm1: rmsnorm(x); H, Rq, Rkv, Dn, Dr, Dv = 5, absorb = false)", 0, kLatents},
        CacheCase{"MlaOfWholeQueries", "mla(norm1: rmsnorm(x); H, Rkv, Dn, Dr, q_latent = false)", 0, kLatents}),
    [](const auto &info) { return info.param.name; });

} // namespace
} // namespace stg::stdlib
