//===- KernelsTest.cpp - FLOPs, kernels and their bytes ------------------------===//
#include "stg/Analysis/Kernels.h"
#include "RandomProgram.h"
#include "stg/Analysis/Factors.h"
#include "stg/IR/Reader.h"
#include "gtest/gtest.h"

using namespace stg;

namespace {

constexpr const char *kHeader = "stgir typed program p mode forward sizes B = 2, S = 3, D = 4, F = 8, V = 10, T = 6\n";

struct Source {
  SourceManager sources;
  Diagnostics diags{sources};
  std::optional<Program> program;
  explicit Source(const std::string &body) {
    program = readProgram(sources.addBuffer("k.stgir", kHeader + ("body b {\n" + body + "}")), diags);
    for (const Diagnostic *diagnostic : diags.sorted())
      ADD_FAILURE() << sources.describe(diagnostic->range) << " " << diagnostic->message;
  }
  const Body &body() const { return program->bodies[0]; }
  IRContext &context() { return *program->context; }
  const Op &op(llvm::StringRef name) const {
    for (const Value &value : body().values)
      if (program->text(value.name) == name)
        return body().op(value.def);
    throw std::runtime_error("no value");
  }
  std::string cost(llvm::StringRef name) {
    OpCost cost = costOf(op(name), body(), context());
    return cost.contraction.str() + " " + cost.other.str();
  }
  std::string names(llvm::ArrayRef<ValueId> values) const {
    std::string text;
    for (ValueId value : values)
      text += (text.empty() ? "" : " ") + program->text(body().value(value).name).str();
    return text;
  }
  /// Per kernel: its ops by their first results, what it reads, what it writes, bytes.
  std::vector<std::string> kernels() {
    std::vector<std::string> list;
    for (const Kernel &kernel : groupKernels(body(), *program).kernels) {
      std::string ops;
      for (OpId id : kernel.ops)
        ops += (ops.empty() ? "" : " ") + names(body().op(id).results);
      list.push_back(ops + ": " + names(kernel.reads) + " -> " + names(kernel.writes) + ", " + kernel.bytes.str());
    }
    return list;
  }
  /// Per factor: kind, dims of operands and results ("-" where it is not).
  std::vector<std::string> factors(llvm::StringRef name) {
    std::vector<std::string> list;
    for (const OpFactor &factor : factorsOf(op(name), body())) {
      auto dims = [&](llvm::ArrayRef<NameId> ids) {
        std::string text;
        for (NameId id : ids)
          text += " " + (id.valid() ? program->text(id).str() : "-");
        return text;
      };
      list.push_back((spelling(factor.kind) + dims(factor.operandDims) + " ->" + dims(factor.resultDims)).str());
    }
    return list;
  }
};

using Strings = std::vector<std::string>;

TEST(CostTest, EachKindCountsAsItsFormulaSays) {
  Source s(R"(
    input x : bf16[B, S, D]
    input ids : i32[B, S]
    weight w : bf16[D, F]
    weight e : bf16[V, D]
    %x : bf16[B, S, D] = input x kernel 0
    %ids : i32[B, S] = input ids kernel 0
    %w : bf16[D, F] = weight w kernel 0
    %e : bf16[V, D] = weight e kernel 0
    %two : bf16[B, S, F] = contract(%x, %w) sum(D) kernel 1
    %three : bf16[B, F] = contract(%x, %w, %x) sum(S, D) kernel 2
    %one : bf16[B, S] = contract(%x) sum(D) kernel 3
    %add : bf16[B, S, D] = add(%x, %x, %x) kernel 4
    %gelu : bf16[B, S, D] = gelu(%x) kernel 5
    %cast : f32[B, S, D] = cast(%x) kernel 6
    %max : bf16[B] = reduce(%x) max(S, D) kernel 7
    %drop : bf16[B, S, D] = dropout(%x) p 0.1 stream 0 kernel 8
    %mask : bf16[B, S, D] = masked(%x) causal query S key D kernel 9
    %rows : bf16[B, S, D] = gather(%e, %ids) V kernel 10
    %sums : f32[V, D] = scatter(%x, %ids) into [V] replacing (B, S) kernel 11
    %view : bf16[B, D, S] = view(%x) order (B, D, S) kernel 12
    %call : bf16[B, S, D] = call op(%x{b, s, d}) -> (bf16{b, s, d}) factors (b is [B] map, s is [S] map, d is [D] whole) flops [7*B] other [5*S] kernel 13
    %bare : bf16[B, S, D] = call op(%x{b, s, d}) -> (bf16{b, s, d}) factors (b is [B] map, s is [S] map, d is [D] whole) kernel 14
  )");
  EXPECT_EQ(s.cost("two"), "2*B*S*D*F 0");
  EXPECT_EQ(s.cost("three"), "3*B*S*D*F 0");
  EXPECT_EQ(s.cost("one"), "B*S*D 0");
  EXPECT_EQ(s.cost("add"), "0 2*B*S*D");
  EXPECT_EQ(s.cost("gelu"), "0 8*B*S*D");
  EXPECT_EQ(s.cost("cast"), "0 0");
  EXPECT_EQ(s.cost("max"), "0 B*S*D");
  EXPECT_EQ(s.cost("drop"), "0 2*B*S*D");
  EXPECT_EQ(s.cost("mask"), "0 B*S*D");
  EXPECT_EQ(s.cost("rows"), "0 0");
  EXPECT_EQ(s.cost("sums"), "0 B*S*D");
  EXPECT_EQ(s.cost("view"), "0 0");
  EXPECT_EQ(s.cost("call"), "7*B 5*S");
  EXPECT_EQ(s.cost("bare"), "0 0");
}

TEST(KernelsTest, AStatementFusesItsElementWisePart) {
  // y = x * rsqrt(mean(x * x)); the constant costs nothing, inner values never reach memory.
  Source s(R"(
    input x : bf16[B, D]
    %x : bf16[B, D] = input x kernel 0
    %sq : f32[B, D] = mul(%x, %x) kernel 1
    %sum : f32[B] = reduce(%sq) sum(D) kernel 1
    %n : f32[] = constant 0.25 kernel 1
    %mean : f32[B] = mul(%sum, %n) kernel 1
    %r : f32[B] = rsqrt(%mean) kernel 1
    %y : bf16[B, D] = mul(%x, %r) kernel 1
    output y = %y
  )");
  EXPECT_EQ(s.kernels(), Strings{"sq sum mean r y: x -> y, 4*B*D"});
}

TEST(KernelsTest, ContractionsStandAloneAndSplitTheirStatement) {
  // y = silu(sum(D) exp(x) * w): the exp before and the silu behind the contraction are two kernels.
  Source s(R"(
    input x : bf16[B, D]
    weight w : bf16[D, F]
    %x : bf16[B, D] = input x kernel 0
    %w : bf16[D, F] = weight w kernel 0
    %e : bf16[B, D] = exp(%x) kernel 1
    %h : bf16[B, F] = contract(%e, %w) sum(D) kernel 1
    %y : bf16[B, F] = silu(%h) kernel 1
    output y = %y
  )");
  EXPECT_EQ(s.kernels(), (Strings{"e: x -> e, 4*B*D", "h: e w -> h, 2*B*D + 2*B*F + 2*D*F", "y: h -> y, 4*B*F"}));
}

TEST(KernelsTest, AnotherStatementBetweenSplitsToo) {
  // y = a * f(a), f inlined: no path may leave the fused kernel and come back.
  Source s(R"(
    input x : bf16[B]
    %x : bf16[B] = input x kernel 0
    %a : bf16[B] = exp(%x) kernel 1
    %f : bf16[B] = log(%a) kernel 2
    %y : bf16[B] = mul(%a, %f) kernel 1
    output y = %y
  )");
  EXPECT_EQ(s.kernels(), (Strings{"a: x -> a, 4*B", "f: a -> f, 4*B", "y: a f -> y, 6*B"}));
}

TEST(KernelsTest, WhatDoesNotComeBackStaysTogether) {
  // The second op of statement 1 does not depend on statement 2, so both are one kernel, which runs first.
  Source s(R"(
    input x : bf16[B]
    %x : bf16[B] = input x kernel 0
    %a : bf16[B] = exp(%x) kernel 1
    %f : bf16[B] = log(%a) kernel 2
    %b : bf16[B] = sin(%x) kernel 1
    output f = %f
    output b = %b
  )");
  EXPECT_EQ(s.kernels(), (Strings{"a b: x -> a b, 6*B", "f: a -> f, 4*B"}));
}

TEST(KernelsTest, JoiningLaterKeepsTheOrderAcyclic) {
  // b makes statement 1 depend on p; c of statement 2 reads q, which depends on statement 1, hence on p: it cannot join
  // p.
  Source s(R"(
    input x : bf16[B]
    %x : bf16[B] = input x kernel 0
    %a : bf16[B] = exp(%x) kernel 1
    %q : bf16[B] = log(%a) kernel 3
    %p : bf16[B] = sin(%x) kernel 2
    %b : bf16[B] = cos(%p) kernel 1
    %c : bf16[B] = neg(%q) kernel 2
    output b = %b
    output c = %c
  )");
  EXPECT_EQ(s.kernels(), (Strings{"p: x -> p, 4*B", "a b: x p -> a b, 8*B", "q: a -> q, 4*B", "c: q -> c, 4*B"}));
}

TEST(KernelsTest, ViewsAreLookedThrough) {
  Source s(R"(
    input x : bf16[B, D]
    %x : bf16[B, D] = input x kernel 0
    %v : bf16[D, B] = view(%x) order (D, B) kernel 1
    %y : bf16[D, B] = add(%v, %x) kernel 2
    %z : bf16[E = B*D] = view(%y) (D, B) as [E = B*D] kernel 3
    output z = %z
  )");
  EXPECT_EQ(s.kernels(), Strings{"y: x -> y, 4*B*D"});
}

TEST(KernelsTest, GatherReadsItsRowsOnly) {
  Source s(R"(
    input ids : i32[B, S]
    weight e : bf16[V, D]
    %ids : i32[B, S] = input ids kernel 0
    %e : bf16[V, D] = weight e kernel 0
    %rows : bf16[B, S, D] = gather(%e, %ids) V kernel 1
    %last : bf16[B, D] = at(%rows) S index [2] kernel 2
    %both : bf16[V, D] = mul(%e, %e) kernel 3
    %some : bf16[T, D] = slice(%e) V as [T] from [0] kernel 3
    output a = %last
    output b = %both
    output c = %some
  )");
  EXPECT_EQ(s.kernels(), (Strings{"rows: e ids -> rows, 4*B*S*D + 4*B*S", "last: rows -> last, 4*B*D",
                                  // Read whole anyway, the part is not read again.
                                  "both some: e -> both some, 4*D*V + 2*D*T"}));
}

TEST(KernelsTest, AppendMovesTheAdditionOnly) {
  Source s(R"(
    input k : bf16[B, S, D]
    state kc : bf16[B, T, D]
    %k : bf16[B, S, D] = input k kernel 0
    %kc : bf16[B, T, D] = state kc kernel 0
    %new : bf16[B, T, D] = append(%kc, %k) S into T kernel 1
    update kc(%new) kernel 1
    %y : bf16[B] = reduce(%new) sum(T, D) kernel 2
    output y = %y
  )");
  EXPECT_EQ(s.kernels(), (Strings{"new: k -> new, 4*B*S*D", "y: new -> y, 2*B*D*T + 2*B"}));
}

TEST(KernelsTest, CallsMoveWhatTheySay) {
  Source s(R"(
    input x : bf16[B, D]
    %x : bf16[B, D] = input x kernel 0
    %o : bf16[B, D], %unused : f32[B] = call op(%x{b, d}) -> (bf16{b, d}, f32{b}) factors (b is [B] map, d is [D] whole) kernel 1
    %p : bf16[B, D] = call op(%x{b, d}) -> (bf16{b, d}) factors (b is [B] map, d is [D] whole) bytes [99*B] kernel 1
    output o = %o
    output p = %p
  )");
  EXPECT_EQ(s.kernels(), (Strings{"o unused: x -> o unused, 4*B*D + 4*B", "p: x -> p, 99*B"}));
}

/// A program at level Explicit on a mesh dp 2 x tp 2; one body.
struct Sharded {
  SourceManager sources;
  Diagnostics diags{sources};
  std::optional<Program> program;
  explicit Sharded(const std::string &body) {
    program =
        readProgram(sources.addBuffer("s.stgir", "stgir explicit program p mode train mesh dp = 2, tp = 2 sizes B = "
                                                 "4, D = 8, F = 16 body b {\n" +
                                                     body + "}"),
                    diags);
    for (const Diagnostic *diagnostic : diags.sorted())
      ADD_FAILURE() << sources.describe(diagnostic->range) << " " << diagnostic->message;
  }
  std::string names(llvm::ArrayRef<ValueId> values) const {
    std::string text;
    for (ValueId value : values)
      text += (text.empty() ? "" : " ") + program->text(program->bodies[0].value(value).name).str();
    return text;
  }
  /// Per step: its ops (collectives in brackets), what it reads, what it writes, FLOPs and bytes as numbers.
  std::vector<std::string> steps() const {
    const Body &body = program->bodies[0];
    BodyKernels grouped = groupKernels(body, *program);
    auto number = [](DimExpr size) { return toString(*size.integer()); };
    std::vector<std::string> list;
    for (const BodyKernels::Step &step : grouped.steps) {
      if (step.kernel == BodyKernels::kNone) {
        list.push_back("(" + names(body.op(step.op).results) + ")");
        continue;
      }
      const Kernel &kernel = grouped.kernels[step.kernel];
      std::string ops;
      for (OpId id : kernel.ops)
        ops += (ops.empty() ? "" : " ") +
               (body.op(id).results.empty() ? std::string(mnemonic(body.op(id).kind)) : names(body.op(id).results));
      list.push_back(ops + ": " + names(kernel.reads) + " -> " + names(kernel.writes) + ", " +
                     number(kernel.flops.contraction + kernel.flops.other) + ", " + number(kernel.bytes));
    }
    return list;
  }
};

TEST(KernelsTest, CollectivesCutFusedKernels) {
  // x * rsqrt(mean(D) x * x) with D over tp: the sum is completed between two kernels of one statement.
  Sharded s(R"(
    input x : f32[B, D] layout [B/dp, D/tp]
    %x : f32[B, D] layout [B/dp, D/tp] = input x kernel 0
    %sq : f32[B, D] layout [B/dp, D/tp] = square(%x) kernel 1 compute (0, 1)
    %sum : f32[B] layout [B/dp @ tp] = reduce(%sq) sum(D) kernel 1 compute (0, 1)
    %all : f32[B] layout [B/dp] = all_reduce(%sum) over (1) kernel 1
    %r : f32[B] layout [B/dp] = rsqrt(%all) kernel 1 compute (0, -1)
    %y : f32[B, D] layout [B/dp, D/tp] = mul(%x, %r) kernel 1 compute (0, 1)
    output y = %y
  )");
  // 2 x 4 elements a rank: two operations each, 32 bytes in, 8 out.
  EXPECT_EQ(s.steps(), (Strings{"sq sum: x -> sum, 16, 40", "(all)", "r y: all x -> y, 10, 72"}));
}

TEST(KernelsTest, SlicesAndBroadcastsAreNoWorkAndReadTheirPart) {
  Sharded s(R"(
    input x : f32[B, D] layout [B/dp, D]
    input g : f32[B] layout [B/dp]
    %x : f32[B, D] layout [B/dp, D] = input x kernel 0
    %g : f32[B] layout [B/dp] = input g kernel 0
    %part : f32[B, D] layout [B/dp, D/tp] = shard(%x) over (1) to D kernel 1
    %wide : f32[B, D] layout [B/dp, D/tp] = broadcast(%g) to [B, D] kernel 1
    %y : f32[B, D] layout [B/dp, D/tp] = mul(%part, %wide, %part) kernel 2 compute (0, 1)
    %z : f32[B, D] layout [B/dp, D] = neg(%x) kernel 3 compute (0, -1)
    output y = %y
    output z = %z
  )");
  EXPECT_EQ(s.steps(), (Strings{"y: x g -> y, 16, 72", "z: x -> z, 16, 128"}));
}

TEST(KernelsTest, PartsDoNotFuseAndAccumulationJoinsWhatMakesTheGradient) {
  Sharded s(R"(
    input x : f32[B, D] layout [B/dp, D]
    input dy : f32[B, F] cotangent of 0 layout [B/dp, F/tp]
    weight w : bf16[D, F] trained layout [D, F/tp] buffer [D, F/tp @ dp]
    weight c : f32[B, F] trained layout [B/dp, F/tp] buffer [B/dp, F/tp]
    %x : f32[B, D] layout [B/dp, D] = input x kernel 0
    %dy : f32[B, F] layout [B/dp, F/tp] = input dy kernel 0
    %y : f32[B, D] layout [B/dp, D] = neg(%x) kernel 1 compute (0, -1)
    %dx : f32[B, D] layout [B/dp, D] = neg(%y) part input-grad kernel 1 compute (0, -1)
    %dw : bf16[D, F] layout [D, F/tp @ dp] = contract(%x, %dy) sum(B) part weight-grad kernel 2 compute (2, 1)
    accumulate w(%dw) part weight-grad kernel 2
    accumulate c(%dy) part weight-grad kernel 3
    output y = %y
    output dx = %dx cotangent of 0
  )");
  // The buffer of w is f32 (256 bytes a rank, read and written); the gradient itself stays in the kernel. What a slot
  // brings is added by a kernel of its own: 2 x 8 values read, the buffer read and written.
  EXPECT_EQ(s.steps(), (Strings{"y: x -> y, 16, 128", "dx: y -> dx, 16, 128",
                                "dw accumulate: x dy -> , 256, " + std::to_string(64 + 64 + 2 * 256),
                                "accumulate: dy -> , 0, " + std::to_string(64 + 2 * 64)}));
}

TEST(KernelsTest, DeclaredBytesShrinkWithTheirOperands) {
  Sharded s(R"(
    input x : f32[B, D] layout [B/dp, D]
    %x : f32[B, D] layout [B/dp, D] = input x kernel 0
    %o : f32[B, D] layout [B/dp, D] = call op(%x{b, d}) -> (f32{b, d}) factors (b is [B] map, d is [D] whole) flops [6*B] bytes [100*B] kernel 1 compute (0, -1)
    output o = %o
  )");
  EXPECT_EQ(s.steps(), Strings{"o: x -> o, 12, 200"});
}

TEST(KernelsTest, TensOfThousandsOfKernelsTakeNoTimeToSpeakOf) {
  // Each statement has two ops around a contraction, and reads the one before.
  std::string text = std::string(kHeader) + "body b {\ninput x : bf16[D]\n%x : bf16[D] = input x kernel 0\n";
  std::string last = "x";
  constexpr int kStatements = 10000;
  for (int i = 1; i <= kStatements; ++i) {
    std::string n = std::to_string(i), kernel = " kernel " + n + "\n";
    text += "%a" + n + " : bf16[D] = neg(%" + last + ")" + kernel + "%b" + n + " : bf16[D] = contract(%a" + n +
            ") sum()" + kernel + "%c" + n + " : bf16[D] = neg(%b" + n + ")" + kernel;
    last = "c" + n;
  }
  text += "output y = %" + last + "\n}\n";
  SourceManager sources;
  Diagnostics diags(sources);
  std::optional<Program> program = readProgram(sources.addBuffer("long.stgir", text), diags);
  ASSERT_TRUE(program);
  EXPECT_EQ(groupKernels(program->bodies[0], *program).kernels.size(), 3u * kStatements);
}

TEST(KernelsTest, RandomBodiesGroupIntoOrderedConvexKernels) {
  uint64_t first = firstSeed(1);
  for (uint64_t seed = first; seed < first + 500; ++seed) {
    Program program = randomProgram(seed, {.maxOps = 30});
    for (const Body &body : program.bodies) {
      BodyKernels grouped = groupKernels(body, program);
      for (uint32_t i = 0; i < body.ops.size(); ++i) {
        const Op &op = body.ops[i];
        uint32_t kernel = grouped.kernelOfOp[i];
        ASSERT_EQ(kernel == BodyKernels::kNone, isFree(op.kind)) << "STG_SEED=" << seed;
        if (kernel == BodyKernels::kNone)
          continue;
        ASSERT_TRUE(llvm::is_contained(grouped.kernels[kernel].ops, OpId(i)));
        ASSERT_EQ(grouped.kernels[kernel].part, op.part);
        if (op.kind != OpKind::Accumulate)
          ASSERT_EQ(grouped.kernels[kernel].statement, op.kernel);
        // An order in which every kernel finds what it reads exists, and it is the one given: so no path comes back.
        for (ValueId operand : op.operands) {
          uint32_t producer = grouped.producer(body, operand);
          ASSERT_TRUE(producer == BodyKernels::kNone || producer <= kernel) << "STG_SEED=" << seed;
        }
      }
      for (const Kernel &kernel : grouped.kernels) {
        ASSERT_TRUE(kernel.bytes.rational()) << "STG_SEED=" << seed;
        ASSERT_GE(kernel.bytes.rational()->numerator, 0);
      }
    }
  }
}

TEST(CostTest, CountsEachBodyOnceWhateverItsUnits) {
  auto visitsOf = [](int layers, std::string &total) {
    std::string text = std::string(kHeader) + R"(
      input x : bf16[B, D]
      body layer {
        input x : bf16[B, D]
        weight w : bf16[D, F]
        %x : bf16[B, D] = input x kernel 0
        %w : bf16[D, F] = weight w kernel 0
        %h : bf16[B, F] = contract(%x, %w) sum(D) kernel 1
        %y : bf16[B, D] = contract(%h, %w) sum(F) kernel 2
        output x = %y
      }
      unit @blocks[0] : layer(x = input x)
    )";
    for (int i = 1; i < layers; ++i)
      text += "unit @blocks[" + std::to_string(i) + "] : layer(x = @blocks[" + std::to_string(i - 1) + "]:x)\n";
    SourceManager sources;
    Diagnostics diags(sources);
    std::optional<Program> program = readProgram(sources.addBuffer("l.stgir", text), diags);
    EXPECT_TRUE(program);
    PassStats stats;
    total = costOf(*program, stats).contraction.str() + ", " + parameterCount(*program).str();
    return stats.opVisits;
  };
  std::string few, many;
  EXPECT_EQ(visitsOf(32, few), visitsOf(128, many));
  EXPECT_EQ(few, "128*B*D*F, 32*D*F");
  EXPECT_EQ(many, "512*B*D*F, 128*D*F");
}

TEST(FactorsTest, KindsFollowTheTable) {
  Source s(R"(
    input x : bf16[B, S, D]
    input ids : i32[B, S]
    weight w : bf16[D, F]
    state c : bf16[B, T, D]
    %x : bf16[B, S, D] = input x kernel 0
    %ids : i32[B, S] = input ids kernel 0
    %w : bf16[D, F] = weight w kernel 0
    %c : bf16[B, T, D] = state c kernel 0
    %h : bf16[B, S, F] = contract(%x, %w) sum(D) kernel 1
    %add : bf16[B, S, D] = add(%x, %x) kernel 1
    %max : bf16[B] = reduce(%x) max(S, D) kernel 1
    %prod : bf16[B] = reduce(%x) prod(S, D) kernel 1
    %split : bf16[B, S, P = 2, Q = 2] = view(%x) factored D as [P = 2, Q = 2] kernel 1
    %cut : bf16[B, S, P = 2, Q = 2] = view(%x) D as [P = 2, Q = 2] kernel 1
    %merged : bf16[M = B*S, D] = view(%x) factored (B, S) as [M = B*S] kernel 1
    %renamed : bf16[B, T = S, D] = view(%x) S as [T = S] kernel 1
    %cat : bf16[B, S = 2*S, D] = concat(%x, %x) along [S = 2*S] kernel 1
    %at : bf16[B, D] = at(%x) S index [0] kernel 1
    %new : bf16[B, T, D] = append(%c, %x) S into T kernel 1
    %rows : bf16[B, S, F] = gather(%w, %ids) D kernel 1
    %sums : bf16[V, D] = scatter(%x, %ids) into [V] replacing (B, S) kernel 1
    %o : bf16[S, B] = call op(%x{b, s, d}) -> (bf16{s, b}) factors (b is [B] map, s is [S] sum, d is [D] whole) kernel 1
  )");
  EXPECT_EQ(s.factors("h"), (Strings{"map B - -> B", "map S - -> S", "map - F -> F", "sum D D -> -"}));
  EXPECT_EQ(s.factors("add"), (Strings{"map B B -> B", "map S S -> S", "map D D -> D"}));
  EXPECT_EQ(s.factors("max"), (Strings{"map B -> B", "max S -> -", "max D -> -"}));
  EXPECT_EQ(s.factors("prod"), (Strings{"map B -> B", "whole S -> -", "whole D -> -"}));
  EXPECT_EQ(s.factors("split"), (Strings{"map B -> B", "map S -> S", "map D -> P", "map D -> Q"}));
  EXPECT_EQ(s.factors("cut"), (Strings{"map B -> B", "map S -> S", "whole - -> P", "whole - -> Q", "whole D -> -"}));
  EXPECT_EQ(s.factors("merged"), (Strings{"map B -> M", "map S -> M", "map D -> D"}));
  EXPECT_EQ(s.factors("renamed"), (Strings{"map B -> B", "map S -> T", "map D -> D"}));
  EXPECT_EQ(s.factors("cat"),
            (Strings{"map B B -> B", "whole - - -> S", "map D D -> D", "whole S - -> -", "whole - S -> -"}));
  EXPECT_EQ(s.factors("at"), (Strings{"map B -> B", "map D -> D", "whole S -> -"}));
  EXPECT_EQ(s.factors("new"),
            (Strings{"map B B -> B", "whole - - -> T", "map D D -> D", "whole T - -> -", "whole - S -> -"}));
  EXPECT_EQ(s.factors("rows"), (Strings{"map - B -> B", "map - S -> S", "map F - -> F", "sum D - -> -"}));
  EXPECT_EQ(s.factors("sums"), (Strings{"map - - -> V", "map D - -> D", "sum B B -> -", "sum S S -> -"}));
  EXPECT_EQ(s.factors("o"), (Strings{"sum S -> S", "map B -> B", "whole D -> -"}));
  EXPECT_EQ(s.factors("w"), Strings{});
}

} // namespace
