//===- Compile.cpp ------------------------------------------------------------------===//
#include "stg/Driver/Compile.h"
#include "MemoryLimit.h"
#include "stg/Passes/PassManager.h"
#include "stg/Support/ClosestName.h"
#include "stg/Syntax/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace stg;
using llvm::StringRef;

std::vector<std::string> stg::librarySearchPath(const CompileOptions &options) {
  std::vector<std::string> path = options.includePath;
  if (auto variable = llvm::sys::Process::GetEnv("STG_PATH")) {
    llvm::SmallVector<StringRef, 4> folders;
    StringRef(*variable).split(folders, ':', -1, /*KeepEmpty=*/false);
    for (StringRef folder : folders)
      path.push_back(folder.str());
  }
  static int anchor; // an address in this program
  std::string program = llvm::sys::fs::getMainExecutable(options.argv0.c_str(), &anchor);
  for (StringRef relative : {"../share/stgc/stdlib", "../../../stdlib"}) {
    llvm::SmallString<256> folder(llvm::sys::path::parent_path(program));
    llvm::sys::path::append(folder, relative);
    llvm::sys::path::remove_dots(folder, /*remove_dot_dot=*/true);
    if (llvm::sys::fs::is_directory(folder))
      path.push_back(folder.str().str());
  }
  return path;
}

const Module *Compilation::load(StringRef path) {
  const Module *module = loader_.load(path);
  if (!module)
    return nullptr;
  // Names are checked in the file itself and in those that it names by path; the standard library is right.
  std::vector<const Module *> pending{module}, seen;
  while (!pending.empty()) {
    const Module *next = pending.back();
    pending.pop_back();
    if (llvm::is_contained(seen, next))
      continue;
    seen.push_back(next);
    checkDeclarations(*next, sources_, diags_);
    checkPlans(*next, sources_, diags_);
    checkWorkloads(*next, sources_, diags_);
    for (auto &[alias, used] : next->aliases)
      pending.push_back(used);
  }
  return module;
}

std::vector<CommandLineSetting> Compilation::parseSettings() {
  std::vector<CommandLineSetting> settings;
  for (const std::string &text : options_.settings) {
    auto [target, value] = StringRef(text).split('=');
    CommandLineSetting setting;
    setting.text = "--set " + text;
    auto malformed = [&] {
      diags_.report(diag::SettingMalformed{.setting = setting.text})
          .help("--set model.L=16, --set plan.tp=4, --set blocks[0].attn.KV=4");
    };
    if (target.empty() || value.empty()) {
      malformed();
      continue;
    }
    size_t errors = diags_.numErrors();
    FileId targetFile = sources_.addBuffer("--set " + target.str(), target.str());
    FileId valueFile = sources_.addBuffer("--set " + text, value.str());
    auto selector = parseSelector(targetFile, sources_, context_, diags_);
    const ast::Expr *expr = parseExpr(valueFile, sources_, context_, diags_);
    if (!selector || !expr) {
      if (diags_.numErrors() == errors)
        malformed();
      continue;
    }
    setting.target = *selector;
    setting.value = expr;
    setting.where = SourceRange();
    settings.push_back(std::move(setting));
  }
  return settings;
}

std::optional<ast::Selector> Compilation::parsePath(StringRef text, StringRef option) {
  FileId file = sources_.addBuffer(option.str(), text.str());
  return parseSelector(file, sources_, context_, diags_);
}

std::optional<int64_t> Compilation::memoryLimit() {
  if (!std::exchange(hasReadLimit_, true) && !options_.hbm.empty())
    memoryLimit_ = readMemoryLimit(options_.hbm, diags_);
  return memoryLimit_;
}

void Compilation::checkMemory(const Program &program, const WorkloadSource &source) {
  if (memoryLimit() && program.level == Level::Scheduled)
    warnIfTooLarge(program, {source.item.item->name.text, source.item.item->name.range, *memoryLimit(), options_.hbm},
                   diags_);
}

std::vector<CompiledWorkload> Compilation::compile(const Module &module) {
  std::vector<CompiledWorkload> compiled;
  std::vector<CommandLineSetting> settings = parseSettings();
  (void)memoryLimit();
  if (diags_.hasErrors())
    return compiled;
  std::vector<WorkloadSource> all = workloadsOf(module), wanted;
  std::vector<StringRef> names;
  for (const ast::Item *item : module.ast->items)
    if (item->kind == ast::ItemKind::Workload || item->kind == ast::ItemKind::Model)
      names.push_back(item->name.text);
  if (options_.workload.empty()) {
    wanted = all;
    if (all.empty())
      diags_.report(diag::NothingToBuild{.path = sources_.path(module.file)})
          .help("workload w { model m(B = 8) }, where m is a model of this file or of one it uses");
  } else {
    // A model by name is its plain forward pass.
    for (const ast::Item *item : module.ast->items)
      if ((item->kind == ast::ItemKind::Workload || item->kind == ast::ItemKind::Model) &&
          item->name.text == options_.workload)
        wanted.push_back({{&module, item}});
    if (wanted.empty()) {
      auto builder = diags_.report(diag::NoSuchWorkload{.name = options_.workload});
      builder.note("here are: " + llvm::join(names, " "));
      if (auto close = closestName(options_.workload, names))
        builder.help("-w " + close->str());
    }
  }
  for (const WorkloadSource &source : wanted) {
    ResolvedWorkload resolved = resolveWorkload(source, settings, sources_, diags_);
    if (!resolved.program)
      continue;
    resolved.program->routing.exchange = options_.exchange;
    CompiledWorkload one{resolved.name, resolved.outputFolder, std::move(*resolved.program), resolved.stats.opVisits};
    std::vector<PassRun> runs;
    // The first of the default pipeline, `elaborate`, is done.
    auto pipeline = llvm::ArrayRef(kDefaultPipeline).drop_front().take_while([&](PassId id) {
      return passInfo(id).gives <= passLevel(options_.level) && passInfo(id).needs < passLevel(options_.level);
    });
    if (runPasses(one.program, pipeline, diags_, &runs) != Outcome::Done)
      continue;
    for (const PassRun &run : runs)
      one.opVisits += run.stats.opVisits;
    checkMemory(one.program, source);
    compiled.push_back(std::move(one));
  }
  return compiled;
}

void Compilation::check(const Module &module) {
  bool isFaulty = diags_.hasErrors();
  (void)memoryLimit();
  // Workloads, and every model whose sizes all have defaults.
  for (const ast::Item *item : module.ast->items) {
    auto *model = llvm::dyn_cast<ast::LayerItem>(item);
    bool complete =
        item->kind == ast::ItemKind::Model &&
        llvm::all_of(model->signature.statics, [](const ast::StaticParam &param) { return param.value != nullptr; });
    if (!complete && item->kind != ast::ItemKind::Workload)
      continue;
    WorkloadSource source{{&module, item}};
    ResolvedWorkload resolved = resolveWorkload(source, {}, sources_, diags_);
    if (resolved.program && !isFaulty &&
        runPasses(*resolved.program, llvm::ArrayRef(kDefaultPipeline).drop_front(), diags_) == Outcome::Done)
      checkMemory(*resolved.program, source);
  }
}
