//===- VerifierTest.cpp - each promise, broken on purpose --------------------===//
#include "stg/IR/Verifier.h"
#include "stg/IR/Reader.h"
#include "stg/Shape/VerifyTypes.h"
#include "gmock/gmock.h"

using namespace stg;

namespace {

constexpr const char *kText = R"(stgir typed
program p mode decode
mesh dp = 2
sizes B = 2, S = 3, D = 4
factor H = (B, S)
input x : f32[B, D]
weight tied : f32[D, S]
state counter : f32[B]

body twice {
  input x : f32[B, D]
  %x : f32[B, D] = input x kernel 0
  %y : f32[B, D] = add(%x, %x) kernel 0
  output y = %y
}

body block {
  input x : f32[B, D]
  weight w : f32[D, S]
  weight v : f32[D, S] shared
  state s : f32[B] shared
  %x : f32[B, D] = input x kernel 0
  %w : f32[D, S] = weight w kernel 0
  %v : f32[D, S] = weight v kernel 0
  %s : f32[B] = state s kernel 0
  %h : f32[B, S] = contract(%x, %w) sum(D) kernel 1
  %g : f32[B, S] = contract(%x, %v) sum(D) kernel 2
  %c : f32[B, D] = call op(%x{b, d}) -> (f32{b, d}) factors (b is [B] map, d is [D] whole) define twice kernel 3
  update s(%s) kernel 3
  %l : f32[] = reduce(%h) sum(B, S) kernel 4
  output x = %c
  output h = %h
  loss %l
}

unit @a[0] : block(x = input x) weights(v = weight tied) states(s = state counter)
unit @a[1] : block(x = @a[0]:x) weights(v = @a[0]:w) states(s = state counter)
output x = @a[1]:x
)";

class VerifierTest : public ::testing::Test {
protected:
  SourceManager sources;
  Diagnostics diags{sources};
  Program program;
  VerifierTest() : program(*readProgram(sources.addBuffer("p.stgir", kText), diags)) {}

  Body &block() { return program.bodies[1]; }
  /// The op that defines the value.
  Op &op(llvm::StringRef name) {
    for (Value &value : block().values)
      if (program.text(value.name) == name)
        return block().ops[value.def.index];
    throw std::runtime_error("no such value");
  }
  ValueId value(llvm::StringRef name) { return op(name).results[0]; }
  std::vector<std::string> violations() {
    std::vector<std::string> texts;
    std::vector<Violation> found = verify(program);
    if (found.empty())
      found = verifyTypes(program);
    for (const Violation &violation : found)
      texts.push_back(violation.op + ": " + violation.text);
    return texts;
  }
  void expectViolation(const char *text) { EXPECT_THAT(violations(), ::testing::Contains(::testing::HasSubstr(text))); }
};

TEST_F(VerifierTest, AcceptsTheProgram) { EXPECT_THAT(violations(), ::testing::IsEmpty()); }

// Header.
TEST_F(VerifierTest, SizesAreUniqueSymbols) {
  program.sizes.push_back(program.sizes[0]);
  expectViolation("size B: is there twice");
}
TEST_F(VerifierTest, SizesAreTheSymbolsOfTheirNames) {
  program.sizes[0].symbol = program.sizes[0].symbol * 2;
  expectViolation("size B: is not the symbol of its name");
}
TEST_F(VerifierTest, SizesStandInTheOrderOfTheirCreation) {
  std::swap(program.sizes[0], program.sizes[1]);
  expectViolation("made later");
}
TEST_F(VerifierTest, SizesOfTypesAreKnownToTheHeader) {
  program.sizes.pop_back();
  expectViolation("uses `D`, which is no size parameter");
}
TEST_F(VerifierTest, MeshAxesHaveRanks) {
  program.mesh.axes[0].size = 0;
  expectViolation("mesh axis dp: has the size 0");
}
TEST_F(VerifierTest, MeshAxesAreUnique) {
  program.mesh.axes.push_back(program.mesh.axes[0]);
  expectViolation("mesh axis dp: is there twice");
}
TEST_F(VerifierTest, FactoringsHaveParts) {
  program.factorings[0].parts.clear();
  expectViolation("factor H: lacks a name or its parts");
}
TEST_F(VerifierTest, GlobalsAreUnique) {
  program.weights.push_back(program.weights[0]);
  expectViolation("weight tied: is there twice");
}
TEST_F(VerifierTest, TypesHaveDistinctDims) {
  program.inputs[0].type.dims.push_back(program.inputs[0].type.dims[0]);
  expectViolation("input x: has the dim B twice");
}
TEST_F(VerifierTest, TypesHaveSizes) {
  program.inputs[0].type.dims[0].size = DimExpr();
  expectViolation("input x: has the dim B without a size");
}

// Bodies.
TEST_F(VerifierTest, BodiesHaveNamesOfTheirOwn) {
  block().name = program.bodies[0].name;
  expectViolation("another body has this name");
}
TEST_F(VerifierTest, SlotsAreUnique) {
  block().weights[1].name = block().weights[0].name;
  expectViolation("weight slot w of body block: is there twice");
}
TEST_F(VerifierTest, OperandsAreDefinedBefore) {
  std::swap(block().ops[0], block().ops[4]);
  expectViolation("uses a value that is not defined before it");
}
TEST_F(VerifierTest, OperandsAreInRange) {
  op("h").operands[0] = ValueId(99);
  expectViolation("uses a value that is not defined before it");
}
TEST_F(VerifierTest, ResultsNameTheirOp) {
  block().values[value("h").index].def = OpId(0);
  expectViolation("do not name each other");
}
TEST_F(VerifierTest, ResultsAreInRange) {
  op("h").results[0] = ValueId(99);
  expectViolation("do not name each other");
}
TEST_F(VerifierTest, ValuesAreDefined) {
  block().values.push_back(block().values[0]);
  block().values.back().name = NameId();
  expectViolation("has no op that defines it");
}
TEST_F(VerifierTest, ValueNamesAreUnique) {
  block().values[value("g").index].name = block().value(value("h")).name;
  expectViolation("shares its name with another value");
}
TEST_F(VerifierTest, OperandCountsFit) {
  op("l").operands.push_back(value("h"));
  expectViolation("has 2 operands");
}
TEST_F(VerifierTest, NaryFunctionsTakeTwo) {
  program.bodies[0].ops[1].operands.pop_back();
  expectViolation("has 1 operands");
}
TEST_F(VerifierTest, ResultCountsFit) {
  op("l").results.clear();
  expectViolation("has 0 results instead of 1");
}
TEST_F(VerifierTest, FieldsAreThoseOfTheKind) {
  op("h").fields = StopFields();
  expectViolation("has the fields of another kind");
}
TEST_F(VerifierTest, SlotsAreInRange) {
  op("w").get<SlotFields>().slot = 7;
  expectViolation("names slot 7 of 2");
}
TEST_F(VerifierTest, OutputsAreValues) {
  block().outputs[0].value = ValueId(99);
  expectViolation("output x of body block: is no value of the body");
}
TEST_F(VerifierTest, OutputsHaveNamesOfTheirOwn) {
  block().outputs[0].name = block().outputs[1].name;
  expectViolation("has no name of its own");
}
TEST_F(VerifierTest, LossesAreScalars) {
  block().losses[0] = value("h");
  expectViolation("is f32[B, S] instead of f32[]");
}
TEST_F(VerifierTest, LossesAreValues) {
  block().losses[0] = ValueId(99);
  expectViolation("loss of body block: is no value of the body");
}

// Calls.
TEST_F(VerifierTest, FactorsAreInRange) {
  op("c").get<CallFields>().operandFactors[0][0] = 9;
  expectViolation("names factor 9 of 2");
}
TEST_F(VerifierTest, FactorsRunAlongOthersOfTheCall) {
  op("c").get<CallFields>().factors[0].along = 9;
  expectViolation("has a factor along one that it has not");
}
TEST_F(VerifierTest, FactorsHaveDims) {
  op("c").get<CallFields>().factors[0].dim.size = DimExpr();
  expectViolation("has a factor without a dim");
}
TEST_F(VerifierTest, DefinesExist) {
  op("c").get<CallFields>().define = BodyId(9);
  expectViolation("names a define body that is not there");
}
TEST_F(VerifierTest, DefinesTakeTheOperands) {
  program.bodies[0].outputs.clear();
  expectViolation("does not fit its define body twice");
}
TEST_F(VerifierTest, DefinesOwnNothing) {
  program.bodies[0].weights.push_back(block().weights[0]);
  expectViolation("has a block with weights, states or losses");
}
TEST_F(VerifierTest, DefinesDoNotCallThemselves) {
  Op call = op("c");
  Body &twice = program.bodies[0];
  call.operands = {twice.ops[0].results[0]};
  call.results = twice.ops[1].results;
  call.get<CallFields>().define = BodyId(0);
  twice.ops[1] = call;
  expectViolation("calls itself through its define");
}

// Types.
TEST_F(VerifierTest, TypedValuesHaveTypes) {
  block().values[value("h").index].type.reset();
  expectViolation("has no type, although the level is typed");
}
TEST_F(VerifierTest, ElaboratedValuesNeedNone) {
  program.level = Level::Elaborated;
  block().values[value("h").index].type.reset();
  EXPECT_TRUE(verify(program).empty());
}
TEST_F(VerifierTest, TypesAreWhatTheRulesGive) {
  block().values[value("h").index].type->element = ElementType::BF16;
  expectViolation("has a result of type bf16[B, S] where its rule gives f32[B, S]");
}
TEST_F(VerifierTest, RulesHold) {
  op("h").get<ContractFields>().reduced[0] = program.context->name("Q");
  expectViolation("reduces Q, which no operand has");
}

// Units.
TEST_F(VerifierTest, UnitsHaveBodies) {
  program.units[0].body = BodyId(9);
  expectViolation("unit a[0]: has no body");
}
TEST_F(VerifierTest, UnitsHavePathsOfTheirOwn) {
  program.units[1].index = 0;
  expectViolation("unit a[0]: has no path of its own");
}
TEST_F(VerifierTest, UnitsBindEveryInput) {
  program.units[0].inputs.clear();
  expectViolation("unit a[0]: binds 0 of 1 inputs");
}
TEST_F(VerifierTest, UnitsReadEarlierUnits) {
  program.units[0].inputs[0] = UnitValue{UnitId(1), 0};
  expectViolation("unit a[0]: binds x to nothing that exists before it");
}
TEST_F(VerifierTest, UnitsBindOutputsThatExist) {
  program.units[1].inputs[0] = UnitValue{UnitId(0), 9};
  expectViolation("unit a[1]: binds x to nothing that exists before it");
}
TEST_F(VerifierTest, UnitsBindTheTypeOfTheSlot) {
  program.units[1].inputs[0] = UnitValue{UnitId(0), 1};
  expectViolation("unit a[1]: binds x, which is f32[B, D], to f32[B, S]");
}
TEST_F(VerifierTest, UnitsBindEverySharedWeight) {
  program.units[0].weights.clear();
  expectViolation("unit a[0]: binds 0 of 1 shared weights");
}
TEST_F(VerifierTest, UnitsBindWeightsThatAreOwned) {
  program.units[1].weights[0] = UnitSlot{UnitId(0), 1};
  expectViolation("unit a[1]: binds v to nothing that exists before it");
}
TEST_F(VerifierTest, UnitsBindStatesThatExist) {
  program.units[1].states[0] = StateId(9);
  expectViolation("unit a[1]: binds s to nothing that exists before it");
}
TEST_F(VerifierTest, OutputsComeFromUnits) {
  program.outputs[0].value.unit = UnitId(9);
  expectViolation("output x: is no output of a unit");
}
TEST_F(VerifierTest, OutputsOfTheProgramHaveNamesOfTheirOwn) {
  program.outputs.push_back(program.outputs[0]);
  expectViolation("output x: has no name of its own");
}

} // namespace
