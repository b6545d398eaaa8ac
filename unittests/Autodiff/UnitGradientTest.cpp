//===- UnitGradientTest.cpp - cotangents from unit to unit ----------------------===//
#include "GradientCheck.h"
#include "gmock/gmock.h"

namespace stg {
namespace {

/// A chain of blocks between an embedding and a loss; `header` has the plan, `blocks` the units.
std::string chain(const std::string &header, const std::string &units) {
  return R"(stgir elaborated
program chain mode train
sizes B = 2, D = 3, V = 5
)" + header +
         R"(
input ids : i32[B]
weight wte : f32[V, D]

body first {
  input ids : i32[B]
  weight wte : f32[V, D] shared
  %ids = input ids kernel 0
  %wte = weight wte kernel 0
  %x = gather(%wte, %ids) V kernel 1
  output x = %x
}

body block {
  input x : f32[B, D]
  weight w : f32[D, E = 3]
  weight b : f32[D]
  %x = input x kernel 0
  %w = weight w kernel 0
  %b = weight b kernel 0
  %h = contract(%x, %w) sum(D) -> f32 kernel 1
  %t = tanh(%h) -> f32 kernel 2
  %r = view(%t) E as [D = 3] kernel 2
  %y = add(%x, %r, %b) -> f32 kernel 2
  output x = %y
}

/// As block, with a second input that it reads, a loss and a shared gain.
body wide {
  input x : f32[B, D]
  input e : f32[B, D]
  weight w : f32[D, E = 3]
  weight g : f32[D] shared
  %x = input x kernel 0
  %e = input e kernel 0
  %w = weight w kernel 0
  %g = weight g kernel 0
  %h = contract(%x, %w) sum(D) -> f32 kernel 1
  %s = sigmoid(%h) -> f32 kernel 2
  %v = view(%s) E as [D = 3] kernel 2
  %m = mul(%v, %e, %g) -> f32 kernel 2
  %y = add(%x, %m) -> f32 kernel 3
  %c = cos(%m) -> f32 kernel 4
  %aux = reduce(%c) sum(B, D) -> f32 kernel 4
  loss %aux
  output x = %y
  output m = %m
}

body gain {
  weight g : f32[D]
  %g = weight g kernel 0
}

body last {
  input x : f32[B, D]
  weight wte : f32[V, D] shared
  %x = input x kernel 0
  %wte = weight wte kernel 0
  %z = contract(%x, %wte) sum(D) -> f32 kernel 1
  %e = exp(%z) -> f32 kernel 2
  %sum = reduce(%e) sum(V) -> f32 kernel 2
  %log = log(%sum) -> f32 kernel 2
  %l = reduce(%log) sum(B) -> f32 kernel 3
  loss %l
  output z = %z
}

unit @first : first(ids = input ids) weights(wte = weight wte)
)" + units;
}

const char *const kBlocks = R"(
unit @blocks[0] : block(x = @first:x)
unit @blocks[1] : block(x = @blocks[0]:x)
unit @blocks[2] : block(x = @blocks[1]:x)
unit @last : last(x = @blocks[2]:x) weights(wte = weight wte)
output z = @last:z
)";

Program read(const std::string &text) {
  std::optional<Program> program = readTyped(text);
  EXPECT_TRUE(program);
  return program ? *program : Program(std::make_shared<IRContext>());
}

std::vector<std::string> bodiesOf(const Program &program) {
  std::vector<std::string> names;
  for (const Unit &unit : program.units)
    names.push_back(program.unitPath(unit) + ":" + program.text(program.body(unit).name).str());
  return names;
}

TEST(UnitGradient, AChainWithATiedWeightSharesItsBodies) {
  Program program = read(chain("optimizer sgd", kBlocks));
  checkGradients(program);
  EXPECT_THAT(
      bodiesOf(differentiated(program)),
      testing::ElementsAre("first:first", "blocks[0]:block", "blocks[1]:block", "blocks[2]:block", "last:last"));
}

/// What the program makes up for the inputs of one micro-batch.
interp::InterpInputs inputsOf(const Program &program, int64_t microBatch) {
  interp::InterpInputs inputs;
  for (uint32_t i = 0; i < program.inputs.size(); ++i) {
    const ProgramInput &input = program.inputs[i];
    interp::TensorDims dims;
    for (const Dim &dim : input.type.dims)
      dims.push_back({dim.name, dim.size.size().value_or(0)});
    std::string name = program.text(input.name).str();
    int64_t bound = isFloat(input.type.element) ? 1 : interp::indexBound(program, InputId(i));
    inputs.given[name] =
        interp::madeUpTensor(input.type.element, dims, interp::seedOf(inputs.seed, microBatch), name, bound);
  }
  return inputs;
}

TEST(UnitGradient, AStepIsTheMeanOverMicroBatches) {
  Program one = read(chain("optimizer sgd", kBlocks)), four = read(chain("optimizer sgd\nmicrobatches 4", kBlocks));
  interp::InterpResult step = interp::interpret(differentiated(four), {});
  ASSERT_TRUE(step.gradient("wte"));
  std::vector<double> sum(step.gradient("wte")->data.size(), 0);
  for (int64_t m = 0; m < 4; ++m) {
    interp::InterpResult alone = interp::interpret(differentiated(one), inputsOf(one, m));
    ASSERT_TRUE(alone.gradient("wte"));
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += alone.gradient("wte")->data[i] / 4;
  }
  for (size_t i = 0; i < sum.size(); ++i)
    EXPECT_NEAR(step.gradient("wte")->data[i], sum[i], 1e-12);
}

TEST(UnitGradient, FrozenWeights) {
  for (const char *plan : {"optimizer none in (\"blocks[1..2]\")", "optimizer none in (\"wte\")",
                           "optimizer none in (\"blocks\")", "optimizer none in (\"b\")"})
    checkGradients(read(chain(std::string(plan) + "\noptimizer sgd", kBlocks)));
}

TEST(UnitGradient, NothingIsMadeBelowTheLowestTrainedWeight) {
  Program program =
      read(chain("optimizer none in (\"wte\")\noptimizer none in (\"blocks[0..2]\")\noptimizer sgd", kBlocks));
  Program result = differentiated(program);
  EXPECT_THAT(bodiesOf(result), testing::ElementsAre("first:first", "blocks[0]:block", "blocks[1]:block",
                                                     "blocks[2]:block'1", "last:last"));
  for (size_t unit : {0, 1, 2})
    for (const Op &op : result.body(result.units[unit]).ops)
      EXPECT_EQ(op.part, Part::Forward) << unit;
  // blocks[2] trains, but what it reads does not lead to a trained weight.
  const Body &body = result.body(result.units[3]);
  EXPECT_EQ(body.outputs.size(), 1u);
  EXPECT_EQ(body.inputs.size(), 2u);
}

TEST(UnitGradient, NoOptimizerTrainsNothing) {
  Program result = differentiated(read(chain("", kBlocks)));
  for (const Body &body : result.bodies)
    for (const Op &op : body.ops)
      EXPECT_EQ(op.part, Part::Forward);
}

TEST(UnitGradient, OtherModesOnlyChangeTheLevel) {
  Program program = read(chain("optimizer sgd", kBlocks));
  program.mode = Mode::Forward;
  Program result = differentiated(program);
  EXPECT_EQ(result.level, Level::Differentiated);
  EXPECT_EQ(result.bodies[1].ops.size(), program.bodies[1].ops.size());
}

/// `e` is read by every block, the gain is owned by one unit and read by three, each block has a loss.
const char *const kCaptured = R"(
unit @gain : gain()
unit @enc : block(x = @first:x)
unit @blocks[0] : wide(x = @first:x, e = @enc:x) weights(g = @gain:g)
unit @blocks[1] : wide(x = @blocks[0]:x, e = @enc:x) weights(g = @gain:g)
unit @blocks[2] : wide(x = @blocks[1]:x, e = @enc:x) weights(g = @gain:g)
unit @last : last(x = @blocks[2]:x) weights(wte = weight wte)
)";

TEST(UnitGradient, CapturedValuesSharedWeightsAndLossesInARepeat) {
  Program program = read(chain("optimizer sgd", kCaptured));
  checkGradients(program);
  Program result = differentiated(program);
  // The last reader of `e` has nothing to add to; the others share a body.
  EXPECT_THAT(bodiesOf(result), testing::ElementsAre("first:first", "gain:gain", "enc:block", "blocks[0]:wide",
                                                     "blocks[1]:wide", "blocks[2]:wide'1", "last:last"));
  EXPECT_TRUE(result.body(result.units[1]).weights[0].trained) << "its readers train it";
}

TEST(UnitGradient, LossesOnTheWayNeedNoLastOne) {
  // The chain ends in blocks: the last block's output goes nowhere, its loss does.
  Program program = read(chain("optimizer sgd", R"(
unit @gain : gain()
unit @enc : block(x = @first:x)
unit @blocks[0] : wide(x = @first:x, e = @enc:x) weights(g = @gain:g)
unit @blocks[1] : wide(x = @blocks[0]:x, e = @enc:x) weights(g = @gain:g)
unit @tail : block(x = @blocks[1]:x)
output y = @tail:x
)"));
  checkGradients(program);
  Program result = differentiated(program);
  for (const Op &op : result.body(result.units[5]).ops)
    EXPECT_EQ(op.part, Part::Forward) << "no loss depends on it";
}

TEST(UnitGradient, OneUnitReadsAValueThroughTwoSlots) {
  checkGradients(read(chain("optimizer sgd", R"(
unit @gain : gain()
unit @blocks[0] : wide(x = @first:x, e = @first:x) weights(g = @gain:g)
unit @blocks[1] : wide(x = @blocks[0]:x, e = @blocks[0]:x) weights(g = @gain:g)
unit @blocks[2] : wide(x = @blocks[1]:x, e = @first:x) weights(g = @gain:g)
unit @last : last(x = @blocks[2]:x) weights(wte = weight wte)
)")));
}

TEST(UnitGradient, SeveralOutputsAndUnitsThatReadThem) {
  checkGradients(read(chain("optimizer sgd", R"(
unit @gain : gain()
unit @blocks[0] : wide(x = @first:x, e = @first:x) weights(g = @gain:g)
unit @side : block(x = @blocks[0]:m)
unit @blocks[1] : wide(x = @blocks[0]:m, e = @side:x) weights(g = @side:b)
unit @last : last(x = @blocks[1]:x) weights(wte = weight wte)
)")));
}

TEST(UnitGradient, ValuesThatPassThroughAndLeaveTwice) {
  checkGradients(read(R"(stgir elaborated
program pass mode train
sizes B = 2
optimizer sgd
weight w : f32[B]
body source { weight w : f32[B] shared %w = weight w kernel 0 output a = %w output b = %w }
body through { input a : f32[B] input b : f32[B] %a = input a kernel 0 %b = input b kernel 0
  %c = exp(%a) -> f32 kernel 1 output a = %a output c = %c output d = %c output b = %b }
body sum { input a : f32[B] input b : f32[B] input c : f32[B] input d : f32[B]
  %a = input a kernel 0 %b = input b kernel 0 %c = input c kernel 0 %d = input d kernel 0
  %m = mul(%a, %b, %c, %d) -> f32 kernel 1 %l = reduce(%m) sum(B) -> f32 kernel 1 loss %l loss %l }
unit @source : source() weights(w = weight w)
unit @through : through(a = @source:a, b = @source:b)
unit @sum : sum(a = @through:a, b = @through:b, c = @through:c, d = @through:d)
)"));
}

TEST(UnitGradient, DropoutAndStatesInUnits) {
  checkGradients(read(R"(stgir elaborated
program drop mode train
sizes B = 6
optimizer sgd
input x : f32[B]
body block { input x : f32[B] weight w : f32[B] state s : f32[B]
  %x = input x kernel 0 %w = weight w kernel 0 %s = state s kernel 0
  %m = mul(%x, %w) -> f32 kernel 1 %d = dropout(%m) p 0.5 stream 0 kernel 1 %a = add(%d, %s, %x) -> f32 kernel 1
  update s(%m) kernel 2 output x = %a }
body last { input x : f32[B] %x = input x kernel 0 %q = square(%x) -> f32 kernel 1
  %l = reduce(%q) sum(B) -> f32 kernel 1 loss %l }
unit @blocks[0] : block(x = input x)
unit @blocks[1] : block(x = @blocks[0]:x)
unit @last : last(x = @blocks[1]:x)
)"));
}

/// A call with its gradient as a body: y = a * b over dims that are one to the caller and two to the op.
TEST(UnitGradient, CallsInlineTheirGradient) {
  checkGradients(read(R"(stgir elaborated
program calls mode train
sizes S = 3, C = 2
optimizer sgd
body scores { input q : f32[S, C] input k : f32[t = S, C]
  %q = input q kernel 0 %k = input k kernel 0 %p = contract(%q, %k) sum(C) -> f32 kernel 1
  %o = reduce(%p) sum(t) -> f32 kernel 2 %e = exp(%o) -> f32 kernel 2 output y = %e output o = %o }
body scores_grad { input q : f32[S, C] input k : f32[t = S, C] input y : f32[S] input o : f32[S] input dy : f32[S]
  %q = input q kernel 0 %k = input k kernel 0 %y = input y kernel 0 %dy = input dy kernel 0
  %do = mul(%dy, %y) -> f32 kernel 1
  %dq = contract(%do, %k) sum(t) -> f32 kernel 2
  %dk0 = contract(%do, %q) sum(S) -> f32 kernel 3
  %dk = broadcast(%dk0) to [t = S, C] kernel 3
  output dq = %dq output dk = %dk }
body all { weight w : f32[S, C] weight v : f32[S, C] %w = weight w kernel 0 %v = weight v kernel 0
  %sq = square(%w) -> f32 kernel 1
  %y, %o = call scores(%sq{s, c}, %v{t, c}) -> (f32{s}, f32{s})
    factors (s is [S] map, t is [S] whole, c is [C] whole) define scores grad scores_grad (0, 1) kernel 2
  %l = reduce(%y) sum(S) -> f32 kernel 3 loss %l }
unit @all : all()
)"));
}

/// The cost law: ops visited depend on the bodies, not on the units.
TEST(UnitGradient, VisitsDoNotGrowWithTheLayers) {
  auto visits = [](int layers) {
    std::string units;
    for (int i = 0; i < layers; ++i)
      units += "unit @blocks[" + std::to_string(i) + "] : block(x = @" +
               (i ? "blocks[" + std::to_string(i - 1) + "]" : std::string("first")) + ":x)\n";
    units += "unit @last : last(x = @blocks[" + std::to_string(layers - 1) + "]:x) weights(wte = weight wte)\n";
    return opVisits(read(chain("optimizer none in (\"blocks[0..4].b\")\noptimizer sgd", units)));
  };
  EXPECT_EQ(visits(32), visits(128));
}

} // namespace
} // namespace stg
