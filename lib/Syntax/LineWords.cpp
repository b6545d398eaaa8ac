//===- LineWords.cpp - the words that lines begin with --------------------===//
#include "LineWords.h"
#include "StgParser.h"

#include "llvm/ADT/StringExtras.h"

namespace stg {

namespace {

using P = antlr::StgParser;

constexpr llvm::StringRef kFile[] = {"use", "let", "layer", "op", "optimizer", "model", "plan", "workload"};
constexpr llvm::StringRef kStatement[] = {"let",    "factor", "require", "input",  "weight", "state", "share",
                                          "repeat", "unit",   "if",      "return", "loss",   "output"};
constexpr llvm::StringRef kOp[] = {"kind", "flops", "other", "bytes", "where", "save", "define", "grad", "let"};
constexpr llvm::StringRef kPlan[] = {"let",   "require",   "include", "if",         "mesh",     "fold",
                                     "split", "keep",      "pin",     "run",        "fuse",     "zero",
                                     "store", "recompute", "offload", "microbatch", "pipeline", "precision"};
constexpr llvm::StringRef kPipeline[] = {"schedule", "cut"};
constexpr llvm::StringRef kWorkload[] = {"let",   "model", "plan",    "train", "prefill",   "decode",
                                         "sweep", "ranks", "routing", "set",   "optimizer", "emit"};

const LineWords kLists[] = {
    {P::RuleFile, "a declaration", kFile},
    {P::RuleBlock, "a statement", kStatement},
    {P::RuleOpBlock, "a property of an op", kOp},
    {P::RulePlanBlock, "a rule of a plan", kPlan},
    {P::RulePipeBlock, "a line of a pipeline", kPipeline},
    {P::RuleWorkBlock, "a line of a workload", kWorkload},
};

} // namespace

std::string LineWords::sentence() const { return (thing + " begins with " + llvm::join(words, ", ")).str(); }

const LineWords *lineWordsOf(size_t rule) {
  auto *list = llvm::find_if(kLists, [&](const LineWords &candidate) { return candidate.rule == rule; });
  return list == std::end(kLists) ? nullptr : list;
}

const LineWords *lineWordsWith(llvm::StringRef word) {
  auto *list = llvm::find_if(kLists, [&](const LineWords &candidate) { return candidate.contains(word); });
  return list == std::end(kLists) ? nullptr : list;
}

llvm::ArrayRef<LineWords> allLineWords() { return kLists; }

} // namespace stg
