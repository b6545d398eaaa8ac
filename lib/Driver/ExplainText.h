//===- ExplainText.h - the words that all explanations use ------------------===//
#ifndef STG_LIB_DRIVER_EXPLAINTEXT_H
#define STG_LIB_DRIVER_EXPLAINTEXT_H

#include "stg/IR/Program.h"

namespace stg {

/// `4 MiB`; a size that has no number as a formula.
std::string bytesText(DimExpr bytes);
std::string bytesText(double bytes);
/// `plans/megatron.stg:9` and, in backquotes, what stands there; empty for ranges that are not valid.
std::string quotedText(SourceRange where, const SourceManager &sources);
/// A rule of the plan by its line; empty for -1.
std::string ruleText(int32_t rule, const Program &program, const SourceManager &sources);
/// `[B/dp, S/cp, D @ tp]`.
std::string layoutText(const Layout &layout, const Value &value, const Program &program);

} // namespace stg

#endif
