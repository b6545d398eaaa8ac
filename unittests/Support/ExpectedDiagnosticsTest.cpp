//===- ExpectedDiagnosticsTest.cpp - messages that a test file announces --===//
#include "stg/Support/ExpectedDiagnostics.h"

#include <gtest/gtest.h>

using namespace stg;

namespace {

class ExpectedDiagnosticsTest : public testing::Test {
protected:
  std::string differences() {
    std::string out;
    llvm::raw_string_ostream os(out);
    bool same = matchExpectedDiagnostics(diags, os);
    EXPECT_EQ(same, out.empty());
    return out;
  }

  SourceManager sources;
  Diagnostics diags{sources};
};

TEST_F(ExpectedDiagnosticsTest, placesCodesAndWordsAgree) {
  FileId file = sources.addBuffer("a.stg", "x # expected-error {{dimension S twice}} [E206]\n"
                                           "# expected-warning@+1 {{never applies}} [W303]\n"
                                           "y\n"
                                           "# expected-error@* {{cannot read}} [E603]\n");
  diags.report({file, 0, 1}, diag::DuplicateDim{.dim = "S"});
  uint32_t y = sources.lineStart(file, 3);
  diags.report({file, y, y + 1}, diag::RuleNeverApplies{});
  diags.report(diag::FileUnreadable{.path = "b", .reason = "no"});
  EXPECT_EQ(differences(), "");
}

TEST_F(ExpectedDiagnosticsTest, whatDiffersIsNamed) {
  FileId file = sources.addBuffer("a.stg", "x # expected-error {{dimension T twice}} [E206]\n"
                                           "y # expected-error {{dimension S}} [E205]  expected-error: S\n");
  diags.report({file, 0, 1}, diag::DuplicateDim{.dim = "S"});
  EXPECT_EQ(differences(), "a.stg:2: write expected-error@+1 {{text}} [E101]\n"
                           "a.stg:1:1: unexpected error: a tensor cannot have the dimension S twice [E206]\n"
                           "a.stg:1: expected error did not come: dimension T twice [E206]\n"
                           "a.stg:2: expected error did not come: dimension S [E205]\n");
}

TEST_F(ExpectedDiagnosticsTest, oneAnnouncementOneMessage) {
  FileId file = sources.addBuffer("a.stg", "xy # expected-error {{S twice}} [E206]\n");
  diags.report({file, 0, 1}, diag::DuplicateDim{.dim = "S"});
  diags.report({file, 1, 2}, diag::DuplicateDim{.dim = "S"});
  EXPECT_EQ(differences(), "a.stg:1:2: unexpected error: a tensor cannot have the dimension S twice [E206]\n");
}

} // namespace
