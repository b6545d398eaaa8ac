//===- InterpReportTest.cpp -----------------------------------------------===//
#include "stg/Interp/InterpReport.h"
#include "TinyProgram.h"
#include "gtest/gtest.h"

namespace stg::interp {
namespace {

TEST(InterpReport, ListsFewElementsAndSumsMany) {
  TinyProgram tiny;
  ValueId few = tiny.input("few", tiny.tensor({{"B", 2}}, {0.1, -1e-17}));
  std::vector<double> numbers(17, 1);
  numbers[3] = -0.5;
  tiny.output("few", few);
  tiny.output("many", tiny.input("many", tiny.tensor({{"S", 17}}, numbers, ElementType::BF16)));
  tiny.body().losses.push_back(tiny.op(OpKind::Constant, {}, ConstantFields{.number = 2.5}, "aux.loss"));
  std::string text;
  llvm::raw_string_ostream os(text);
  printResult(tiny.run(KeepValues::All), tiny.context(), os);
  EXPECT_EQ(text, "value all.few f32[B = 2]: 0.1 0\n"
                  "value all.many bf16[S = 17]: sum 15.5, sum of absolute values 16.5\n"
                  "value all.aux.loss f32[]: 2.5\n"
                  "loss all.aux.loss f32[]: 2.5\n"
                  "output few f32[B = 2]: 0.1 0\n"
                  "output many bf16[S = 17]: sum 15.5, sum of absolute values 16.5\n"
                  "loss 2.5\n");
}

} // namespace
} // namespace stg::interp
