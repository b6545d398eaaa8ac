//===- Modules.cpp ----------------------------------------------------------===//
#include "stg/Sema/Modules.h"
#include "stg/Import/HuggingFace.h"
#include "stg/Support/ClosestName.h"
#include "stg/Syntax/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>

using namespace stg;
using llvm::StringRef;

NamedItem Module::find(StringRef name) const {
  auto it = names.find(name);
  return it == names.end() ? NamedItem{} : it->second;
}

NamedItem Module::find(llvm::ArrayRef<ast::Name> path) const {
  if (path.size() == 1)
    return find(path[0].text);
  if (path.size() != 2)
    return {};
  auto alias = aliases.find(path[0].text);
  if (alias == aliases.end())
    return {};
  return path[1].text.starts_with("_") ? NamedItem{} : alias->second->find(path[1].text);
}

std::vector<const ast::Item *> Module::declared(ast::ItemKind kind) const {
  std::vector<const ast::Item *> items;
  for (const ast::Item *item : ast->items)
    if (item->kind == kind)
      items.push_back(item);
  return items;
}

/// One spelling per file, so that it is loaded once however it is reached.
static std::string normalised(StringRef path) {
  llvm::SmallString<256> text(path);
  llvm::sys::path::remove_dots(text, /*remove_dot_dot=*/true);
  return text.str().str();
}

const Module *ModuleLoader::load(StringRef path) { return loadAt(normalised(path), SourceRange()); }

const Module *ModuleLoader::loadBuffer(FileId file) {
  std::string path = normalised(sources_.path(file));
  auto &slot = byPath_[path];
  if (!slot) {
    loading_.push_back(path);
    parse(file);
    loading_.pop_back();
  }
  return byPath_[path].get();
}

const Module *ModuleLoader::loadAt(StringRef path, SourceRange mention) {
  if (llvm::is_contained(loading_, path)) {
    std::string chain;
    for (auto it = std::find(loading_.begin(), loading_.end(), path.str()); it != loading_.end(); ++it)
      chain += *it + " uses ";
    diags_.report(mention, diag::CyclicUse{.path = path})
        .note(chain + path.str())
        .help("move what both need into a third file");
    return nullptr;
  }
  auto found = byPath_.find(path);
  if (found != byPath_.end())
    return found->second.get();
  LoadResult result = sources_.addFile(path);
  if (result.status != LoadStatus::Loaded) {
    reportLoadFailure(result, path, mention, diags_);
    byPath_[path] = nullptr;
    return nullptr;
  }
  loading_.push_back(path.str());
  const Module *module = parse(result.file);
  loading_.pop_back();
  return module;
}

const Module *ModuleLoader::parse(FileId file) {
  std::string path = normalised(sources_.path(file));
  const ast::File *ast = parseFile(file, sources_, context_, diags_);
  if (!ast) {
    byPath_[path] = nullptr;
    return nullptr;
  }
  auto owned = std::make_unique<Module>();
  Module &module = *owned;
  module.file = file;
  module.ast = ast;
  // Own names first: what a file declares itself hides nothing, a clash with an imported name is reported at the `use`.
  for (const ast::Item *item : ast->items)
    if (!item->name.empty())
      declare(module, item->name.text, {&module, item}, item->name.range);
  for (const ast::Item *item : ast->items)
    if (auto *use = llvm::dyn_cast<ast::UseItem>(item))
      resolveUse(module, *use);
  loadConfigs(module);
  byPath_[path] = std::move(owned);
  return byPath_[path].get();
}

bool stg::namesConfig(const ast::Expr *call) {
  auto isHf = [](llvm::ArrayRef<ast::Name> path) { return path.size() == 1 && path[0].text == "hf"; };
  if (auto *named = llvm::dyn_cast<ast::CallExpr>(call))
    return isHf(named->callee);
  auto *path = llvm::dyn_cast<ast::PathExpr>(call);
  return path && isHf(path->parts);
}

const ast::StringLit *stg::configOf(const ast::Expr *call) {
  auto *named = llvm::dyn_cast<ast::CallExpr>(call);
  if (!named || !namesConfig(call) || named->args.empty() || !named->args[0].name.empty())
    return nullptr;
  return llvm::dyn_cast<ast::StringLit>(named->args[0].value);
}

/// The .stg text that a config stands for is a file of its own, which uses the library as any other.
const Module *ModuleLoader::loadConfig(StringRef path, SourceRange mention) {
  LoadResult result = sources_.addFile(path);
  if (result.status != LoadStatus::Loaded) {
    reportLoadFailure(result, path, mention, diags_);
    return nullptr;
  }
  std::string imported = path.str() + " as .stg";
  if (auto known = byPath_.find(imported); known != byPath_.end())
    return known->second.get();
  std::optional<std::string> text = importHuggingFace(result.file, sources_, diags_);
  if (!text) {
    byPath_[imported] = nullptr;
    return nullptr;
  }
  return parse(sources_.addBuffer(imported, std::move(*text)));
}

void ModuleLoader::loadConfigs(Module &module) {
  for (const ast::Item *item : module.declared(ast::ItemKind::Workload))
    for (const ast::WorkItem *statement : llvm::cast<ast::WorkloadItem>(item)->items) {
      if (statement->kind != ast::WorkItemKind::Model)
        continue;
      const ast::StringLit *config = configOf(llvm::cast<ast::WorkUse>(statement)->value);
      if (!config || module.find("hf"))
        continue;
      llvm::SmallString<256> path(config->value);
      if (!llvm::sys::path::is_absolute(path)) {
        path = llvm::sys::path::parent_path(sources_.path(module.file));
        llvm::sys::path::append(path, config->value);
      }
      module.configs[config->value] = loadConfig(normalised(path), config->range);
    }
}

void ModuleLoader::declare(Module &module, StringRef name, NamedItem item, SourceRange where) {
  auto [it, inserted] = module.names.insert({name, item});
  if (!inserted && it->second.item != item.item)
    diags_.report(where, diag::NameTwice{.name = name})
        .noteAt(it->second.item->name.range, "the other one is here")
        .help("rename one, or bring the file in with `use \"…\" as m` and write `m." + name.str() + "`");
}

void ModuleLoader::bring(Module &module, const Module &from, StringRef name, SourceRange where) {
  NamedItem item = from.find(name);
  if (item && item.module == &from && !name.starts_with("_"))
    return declare(module, name, item, where);
  module.lacking.insert(name);
  std::vector<StringRef> candidates;
  for (auto &[candidate, named] : from.names)
    if (named.module == &from && !candidate.starts_with("_"))
      candidates.push_back(candidate);
  auto builder = diags_.report(where, diag::NotInModule{.module = sources_.path(from.file), .name = name});
  if (name.starts_with("_") && item)
    builder.note("names that start with `_` are private to their file");
  else
    builder.note("it declares: " + llvm::join(candidates, " "));
  if (auto close = closestName(name, candidates))
    builder.fixit(where, close->str());
}

void ModuleLoader::resolveUse(Module &module, const ast::UseItem &use) {
  if (use.file) {
    llvm::SmallString<256> path(use.file->value);
    if (!llvm::sys::path::is_absolute(path)) {
      path = llvm::sys::path::parent_path(sources_.path(module.file));
      llvm::sys::path::append(path, use.file->value);
    }
    if (const Module *used = loadAt(normalised(path), use.file->range)) {
      if (!module.aliases.insert({use.alias.text, used}).second)
        diags_.report(use.alias.range, diag::NameTwice{.name = use.alias.text});
    } else {
      module.lacking.insert(use.alias.text);
    }
    return;
  }
  std::string relative;
  for (const ast::Name &part : use.path)
    relative += (relative.empty() ? "" : "/") + part.text.str();
  SourceRange pathRange = use.path.front().range.upTo(use.path.back().range);
  // A library file is called by its place in the library, wherever that is installed.
  auto loadLibrary = [&](StringRef file, StringRef name, SourceRange where) {
    const Module *used = loadAt(normalised(file), where);
    if (used)
      sources_.setName(used->file, name);
    return used;
  };
  auto bringAll = [&](StringRef file, StringRef libraryName, SourceRange where) {
    const Module *used = loadLibrary(file, libraryName, where);
    if (!used) {
      module.lacksAny = true;
      return;
    }
    for (auto &[name, item] : used->names)
      if (item.module == used && !name.starts_with("_"))
        declare(module, name, item, where);
  };
  auto missing = [&](StringRef name, SourceRange where, std::vector<std::string> siblings) {
    module.lacksAny |= use.picks.empty() || isFolderInSearchPath(relative);
    for (const ast::Name &pick : use.picks)
      module.lacking.insert(pick.text);
    auto builder = diags_.report(where, diag::NoSuchModule{.name = name});
    std::vector<StringRef> candidates(siblings.begin(), siblings.end());
    if (auto close = closestName(name.rsplit('.').second.empty() ? name : name.rsplit('.').second, candidates))
      builder.help("did you mean `" + close->str() + "`?");
    else if (!candidates.empty())
      builder.note("modules here: " + llvm::join(candidates, " "));
    builder.note("searched: " + llvm::join(searchPath_, ", "));
  };
  std::string dotted = relative;
  std::replace(dotted.begin(), dotted.end(), '/', '.');
  std::string file = findInSearchPath(relative + ".stg");
  if (!file.empty()) {
    if (use.picks.empty())
      return bringAll(file, relative + ".stg", pathRange);
    if (const Module *used = loadLibrary(file, relative + ".stg", pathRange))
      for (const ast::Name &pick : use.picks)
        bring(module, *used, pick.text, pick.range);
    return;
  }
  if (isFolderInSearchPath(relative) && !use.picks.empty()) {
    for (const ast::Name &pick : use.picks) {
      std::string picked = findInSearchPath(relative + "/" + pick.text.str() + ".stg");
      if (picked.empty())
        missing(dotted + "." + pick.text.str(), pick.range, modulesIn(relative));
      else
        bringAll(picked, relative + "/" + pick.text.str() + ".stg", pick.range);
    }
    return;
  }
  missing(dotted, pathRange,
          modulesIn(StringRef(relative).rsplit('/').first == relative ? "" : StringRef(relative).rsplit('/').first));
}

std::string ModuleLoader::findInSearchPath(StringRef relative) const {
  for (const std::string &folder : searchPath_) {
    llvm::SmallString<256> path(folder);
    llvm::sys::path::append(path, relative);
    if (llvm::sys::fs::is_regular_file(path))
      return path.str().str();
  }
  return {};
}

bool ModuleLoader::isFolderInSearchPath(StringRef relative) const {
  return llvm::any_of(searchPath_, [&](const std::string &folder) {
    llvm::SmallString<256> path(folder);
    llvm::sys::path::append(path, relative);
    return llvm::sys::fs::is_directory(path);
  });
}

std::vector<std::string> ModuleLoader::modulesIn(StringRef relative) const {
  std::vector<std::string> names;
  for (const std::string &folder : searchPath_) {
    llvm::SmallString<256> path(folder);
    llvm::sys::path::append(path, relative);
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
      if (llvm::sys::path::extension(it->path()) == ".stg" || llvm::sys::fs::is_directory(it->path()))
        names.push_back(llvm::sys::path::stem(it->path()).str());
  }
  llvm::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}
