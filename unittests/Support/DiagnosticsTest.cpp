//===- DiagnosticsTest.cpp - the catalogue and the collector --------------===//
#include "stg/Support/DiagnosticRenderer.h"

#include "llvm/Support/JSON.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace stg;
using stg::detail::findTextFault;
using stg::detail::TextFault;

namespace {

// What must not compile in Diagnostics.def.
static_assert(findTextFault("no {kind} `{name}`", {"kind", "name"}) == TextFault::None);
static_assert(findTextFault("fold {{ ep = {n} }}", {"n"}) == TextFault::None);
static_assert(findTextFault("no {kind}.", {"kind"}) == TextFault::FullStop);
static_assert(findTextFault("no {kind} here", {"kind", "name"}) == TextFault::UnusedArgument);
static_assert(findTextFault("no {kind} {nam}", {"kind", "name"}) == TextFault::UnusedArgument);
static_assert(findTextFault("no {kind} {nam}", {"kind"}) == TextFault::UnknownArgument);
static_assert(findTextFault("fold {{n}", {"n"}) == TextFault::UnusedArgument);
static_assert(findTextFault("fold { ep", {}) == TextFault::Braces);
static_assert(findTextFault("fold ep }", {}) == TextFault::Braces);

// A forgotten argument does not compile either.
template <class Row>
concept NeedsNoDim = requires { Row{.layer = "swiglu"}; };
template <class Row>
concept TakesLayerAndDim = requires { Row{.layer = "swiglu", .dim = "F"}; };
static_assert(TakesLayerAndDim<diag::MissingSize>);
static_assert(!NeedsNoDim<diag::MissingSize>);
static_assert(!std::is_default_constructible_v<diagarg::Name>);
static_assert(!std::is_constructible_v<diagarg::Count, bool>);

class DiagnosticsTest : public testing::Test {
protected:
  std::vector<std::string> order() {
    std::vector<std::string> codes;
    for (const Diagnostic *diagnostic : diags.sorted())
      codes.push_back(diagnostic->info.code() +
                      (diagnostic->range.valid() ? "@" + sources.describe(diagnostic->range) : ""));
    return codes;
  }

  SourceManager sources;
  FileId a = sources.addBuffer("a.stg", "one\ntwo\n");
  FileId b = sources.addBuffer("b.stg", "three\n");
  Diagnostics diags{sources};
};

TEST_F(DiagnosticsTest, sortedByPlaceWithPlacelessFirst) {
  diags.report({b, 0, 5}, diag::DuplicateDim{.dim = "S"});
  diags.report({a, 4, 7}, diag::DuplicateDim{.dim = "S"});
  diags.report({a, 0, 3}, diag::RuleNeverApplies{});
  diags.report(diag::UnknownOverride{.setting = "model.layers=16", .model = "llama3_8b", .parameter = "layers"});
  EXPECT_THAT(order(), testing::ElementsAre("E601", "W303@a.stg:1:1", "E206@a.stg:2:1", "E206@b.stg:1:1"));
}

TEST_F(DiagnosticsTest, sameCodeAtSamePlaceIsKeptOnce) {
  diags.report({a, 0, 3}, diag::DuplicateDim{.dim = "S"});
  diags.report({a, 0, 3}, diag::RuleNeverApplies{});
  diags.report({a, 0, 3}, diag::DuplicateDim{.dim = "T"});
  diags.report(diag::FileUnreadable{.path = "x", .reason = "no"});
  diags.report(diag::FileUnreadable{.path = "x", .reason = "no"});
  diags.report(diag::FileUnreadable{.path = "y", .reason = "no"});
  EXPECT_THAT(order(), testing::ElementsAre("E603", "E603", "E206@a.stg:1:1", "W303@a.stg:1:1"));
  EXPECT_EQ(diags.sorted()[2]->message, "a tensor cannot have the dimension S twice");
}

TEST_F(DiagnosticsTest, exitStatusTellsInputFromEnvironment) {
  EXPECT_EQ(diags.exitStatus(), ExitStatus::Done);
  diags.report({a, 0, 3}, diag::RuleNeverApplies{});
  EXPECT_FALSE(diags.hasErrors());
  EXPECT_EQ(diags.exitStatus(), ExitStatus::Done);
  diags.report({a, 0, 3}, diag::DuplicateDim{.dim = "S"});
  EXPECT_TRUE(diags.hasErrors());
  EXPECT_EQ(diags.exitStatus(), ExitStatus::InputWrong);
  diags.report(diag::FileUnreadable{.path = "x", .reason = "no"});
  EXPECT_EQ(diags.exitStatus(), ExitStatus::Environment);
}

TEST_F(DiagnosticsTest, argumentUsedTwice) {
  diags.report({a, 0, 3}, diag::IdleAxis{.axis = "dp", .ranks = 16});
  EXPECT_EQ(diags.sorted()[0]->message, "nothing is split over dp = 16: its 16 ranks would all do the same work");
}

TEST_F(DiagnosticsTest, loadFailuresBecomeDiagnostics) {
  reportLoadFailure(sources.addFile("/nonexistent/x.stg"), "/nonexistent/x.stg", {}, diags);
  ASSERT_EQ(diags.sorted().size(), 1u);
  EXPECT_EQ(diags.sorted()[0]->message, "cannot read /nonexistent/x.stg: No such file or directory");
  reportLoadFailure({.status = LoadStatus::NotUtf8, .badByte = 7}, "l1.stg", {a, 0, 3}, diags);
  EXPECT_EQ(diags.sorted()[1]->message, "l1.stg is not UTF-8: no character starts at byte 7");
}

TEST_F(DiagnosticsTest, jsonHasPlacesAndEdits) {
  FileId file = sources.addBuffer("j.stg", "é sum(Dff) x\n");
  SourceRange dff{file, 7, 10};
  diags.report(dff, diag::NothingToSum{.operands = "`x` does not have", .dim = "Dff"})
      .label("x[B, D]")
      .label({file, 12, 13}, "here")
      .fixit(dff, "D", "sum(D)")
      .note("a note")
      .noteAt({a, 0, 3}, "a place")
      .help("write D")
      .fixit(dff, "D");
  std::string out;
  llvm::raw_string_ostream os(out);
  printDiagnosticsJson(diags, os);
  llvm::Expected<llvm::json::Value> got = llvm::json::parse(out);
  ASSERT_TRUE(bool(got)) << out;
  llvm::Expected<llvm::json::Value> wanted = llvm::json::parse(R"json([{
    "code": "E205", "severity": "error", "message": "nothing to sum: `x` does not have dimension Dff",
    "file": "j.stg", "line": 1, "column": 7, "endLine": 1, "endColumn": 10, "begin": 7, "end": 10,
    "label": "x[B, D]",
    "labels": [{"message": "here", "file": "j.stg", "line": 1, "column": 12, "endLine": 1, "endColumn": 13,
                "begin": 12, "end": 13}],
    "notes": [{"message": "a note"},
              {"message": "a place", "file": "a.stg", "line": 1, "column": 1, "endLine": 1, "endColumn": 4,
               "begin": 0, "end": 3}],
    "helps": [{"message": "sum(D)", "edits": [{"file": "j.stg", "line": 1, "column": 7, "endLine": 1, "endColumn": 10,
               "begin": 7, "end": 10, "replacement": "D"}]},
              {"message": "write D", "edits": [{"file": "j.stg", "line": 1, "column": 7, "endLine": 1,
               "endColumn": 10, "begin": 7, "end": 10, "replacement": "D"}]}]
  }])json");
  ASSERT_TRUE(bool(wanted));
  EXPECT_EQ(*got, *wanted) << out;
}

TEST_F(DiagnosticsTest, noDiagnosticsAreAnEmptyArray) {
  std::string out;
  llvm::raw_string_ostream os(out);
  printDiagnosticsJson(diags, os);
  EXPECT_EQ(out, "[]\n");
}

TEST(DiagnosticCatalogue, codesHaveTheLetterOfTheirSeverity) {
  EXPECT_EQ(diag::MissingSize::kInfo.code(), "E201");
  EXPECT_EQ(diag::WeightWithoutGradient::kInfo.code(), "W211");
  EXPECT_EQ(diag::FileUnreadable::kInfo.code(), "E603");
  EXPECT_EQ(diagnosticCatalogue().front().code(), "E101");
}

} // namespace
