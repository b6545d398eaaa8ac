//===- WorkloadChecks.cpp - workloads that contradict themselves or each other ------------------===//
#include "stg/Sema/Workload.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Path.h"

using namespace stg;
using llvm::cast;
using llvm::StringRef;

/// `blocks[3].attn.mask`, however it is spaced.
static std::string spelled(const ast::Selector &selector, const SourceManager &sources) {
  std::string text;
  for (char c : sources.text(selector.range))
    if (c != ' ' && c != '\t')
      text += c;
  return text;
}

/// `folder` is where the traces of a workload go below the output, `place` what says so.
static void checkFolder(const ast::WorkloadItem &workload, std::string folder, SourceRange place,
                        llvm::StringMap<const ast::WorkloadItem *> &folders, Diagnostics &diags) {
  llvm::SmallString<64> path(folder);
  llvm::sys::path::remove_dots(path);
  auto [first, inserted] = folders.insert({path, &workload});
  if (inserted)
    return;
  diags
      .report(place,
              diag::SameOutputFolder{.first = first->second->name.text, .second = workload.name.text, .folder = folder})
      .noteAt(first->second->name.range, "the other one is here");
}

void stg::checkWorkloads(const Module &module, const SourceManager &sources, Diagnostics &diags) {
  llvm::StringMap<const ast::WorkloadItem *> folders;
  for (const ast::Item *item : module.declared(ast::ItemKind::Workload)) {
    auto *workload = cast<ast::WorkloadItem>(item);
    llvm::StringMap<SourceRange> overrides;
    std::string folder = workload->name.text.str();
    SourceRange place = workload->name.range;
    for (const ast::WorkItem *line : workload->items) {
      if (auto *set = llvm::dyn_cast<ast::WorkSet>(line)) {
        auto [first, inserted] = overrides.insert({spelled(set->target, sources), set->range});
        if (!inserted)
          diags.report(set->range, diag::StatementTwice{}).noteAt(first->second, "the other one is here");
      }
      auto *emit = llvm::dyn_cast<ast::WorkEmit>(line);
      for (const ast::KeyValue &option : emit ? emit->options.items : llvm::ArrayRef<ast::KeyValue>())
        if (auto *text = llvm::dyn_cast<ast::StringLit>(option.value); text && option.key.text == "dir") {
          folder = text->value.str();
          place = option.range;
        }
    }
    checkFolder(*workload, folder, place, folders, diags);
  }
}
