//===- AmbiguityTest.cpp - the grammar has one reading of every text ------===//
#include "ParseFixture.h"
#include "StgFiles.h"
#include "stg/Syntax/ParserProfile.h"

namespace stg {
namespace {

void expectOneReading(const SourceManager &sources, FileId file) {
  Diagnostics diags(sources);
  ParserProfile profile = profileParser(file, sources, diags);
  std::string messages;
  llvm::raw_string_ostream os(messages);
  printDiagnostics(diags, os, {.colours = Colours::Never});
  EXPECT_EQ(messages, "");
  EXPECT_GT(profile.predictions, 0) << "the profiler did not look";
  for (const ParserProfile::Ambiguity &ambiguity : profile.ambiguities)
    ADD_FAILURE() << sources.describe(ambiguity.range) << ": " << ambiguity.rule << " has two readings of `"
                  << sources.text(ambiguity.range).str() << "`";
}

TEST(Ambiguity, noneInAnyFileOfTheRepository) {
  std::vector<std::string> paths = correctStgFiles();
  EXPECT_GE(paths.size(), 28u);
  SourceManager sources;
  for (const std::string &path : paths) {
    LoadResult loaded = sources.addFile(path);
    ASSERT_EQ(loaded.status, LoadStatus::Loaded) << path;
    expectOneReading(sources, loaded.file);
  }
}

// The places where two alternatives begin alike, or where a word of the language is used as a name.
TEST(Ambiguity, noneWhereAlternativesBeginAlike) {
  const char *text = R"(stg 1
use std.norm.{rmsnorm}
use "x.stg" as m
let k = if a then b else if c then d else e
op f(x[b, ..., (g, r), t?]: f32?; mask = causal) -> y[b], [b]: f32 {
  kind (b, t): carry(t), g: sum, r: max
  kind t: halo(1, 2) along b
  other 2 * b
  save none
  let a = b from (b, t), c = 2
  define { from = f(x); return from }
  grad none
}
layer g(; F) -> [b] {
  loss = 1
  loss[B] = loss
  loss loss
  loss -loss
  loss (a)
  loss [a, b]
  output output, weight
  output, weight = f(x)
  weight weight[weight]: weight
  weight[B, S]: f32 = x
  state state[B]
  share share = share(F)
  unit unit { }
  let unit = 3, from = 4 from (from, B)
  repeat repeat_ as as_[i] { if a { } else if b { } else { } }
  x = 2 * sum(D) x * sum(E) y * -z + max(D, E) not q[S as T][(H, W) as D] - softmax(...) r
  x = blocks[k].v[0].w[i] % n // 3 == a or b and not c in [1 .. 3]
  x = f(a: g(x), b = c: h(y); d: e(), (H, Dh), [1, 2])
  x = f(; a = if i then j else k)
  if x in y { return a, b }
  else { return (a, b), [] }
  x = a +
    b; y = c
}
plan p(a, B: dim = 3) {
  mesh mesh = *, a = 2 * b, split
  fold fold over over_, b { c = *, d = 2 }
  split split? or replicate, pad pad, zigzag zigzag, over_ over mesh in in_, *[*].b[0 .. 4 by 2], x'2
  keep keep, whole whole in a
  pin a.b: [B/dp/cp, S @ tp dp]
  run a, b as run(c = 2)
  fuse fuse
  zero 3 over dp in a { b = c }
  store optimizer over dp
  store params over dp in a, b { b = c }
  recompute all
  recompute all { comm = keep }
  recompute none
  recompute all.b, all[2]
  offload a, to to to in a { }
  microbatch microbatch
  pipeline over pipeline { schedule cut(2); cut even
    cut [a * 2, b.c] * 3, [d] }
  pipeline over b { schedule 1f1b; schedule 1f1b(c = 2)
    cut balanced }
  precision { } in a
  if a { } else if b { } else { microbatch 1 }
  include a.b(c)
  require a, "b"
}
workload w(a) {
  model model
  model a.b(c = 3)
  plan plan; plan a.b
  train; prefill; decode { past = 3 }
  sweep a in [1, 2], b in c where a in b
  ranks ranks
  routing zipf(1, seed = 2) in a
  set a[3].b = relu
  optimizer none in a
  optimizer adamw in a
  optimizer adamw() in a
  emit emit { dir = "x" }
}
optimizer adamw(p[...], g[...]; lr = 1e-3) { state m[...] ; p = p - lr * g }
)";
  SourceManager sources;
  expectOneReading(sources, sources.addBuffer("alike.stg", text));
}

} // namespace
} // namespace stg
