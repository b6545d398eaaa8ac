//===- Modules.h - files, what they declare and what they use --------------===//
// A module is a parsed file with the names that are visible in it: its own and those that `use` brings in. Names that
// start with `_` are private to their file.
//===----------------------------------------------------------------------===//
#ifndef STG_SEMA_MODULES_H
#define STG_SEMA_MODULES_H

#include "stg/Support/Diagnostics.h"
#include "stg/Syntax/AST.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <memory>
#include <string>
#include <vector>

namespace stg {

struct Module;

/// The path of `hf("config.json", B = 8)`, which stands for the model of a Hugging Face config; null if `call` is
/// something else, or has no path.
const ast::StringLit *configOf(const ast::Expr *call);
/// Whether `call` is `hf(…)` or `hf`.
bool namesConfig(const ast::Expr *call);

/// A declaration and the module whose names its body sees.
struct NamedItem {
  const Module *module = nullptr;
  const ast::Item *item = nullptr;
  explicit operator bool() const { return item != nullptr; }
};

struct Module {
  FileId file;
  const ast::File *ast = nullptr;
  /// Visible names, in order of appearance.
  llvm::MapVector<llvm::StringRef, NamedItem> names;
  /// `use "x.stg" as m`.
  llvm::MapVector<llvm::StringRef, const Module *> aliases;
  /// What a `model hf("config.json")` names, as a module with one workload; null if it is faulty, which is reported.
  llvm::MapVector<llvm::StringRef, const Module *> configs;
  /// What a `use` was to bring in and could not, which is reported there: names, or any name.
  llvm::StringSet<> lacking;
  bool lacksAny = false;

  /// `gqa`, or `m.gqa`. Nothing if there is no such name.
  NamedItem find(llvm::ArrayRef<ast::Name> path) const;
  NamedItem find(llvm::StringRef name) const;
  /// Whether `name` (or `m.name`) may be unknown because of a faulty `use`.
  bool lacks(llvm::StringRef name) const { return lacksAny || lacking.contains(name.split('.').first); }
  /// The items of kind `kind` declared in this very file.
  std::vector<const ast::Item *> declared(ast::ItemKind kind) const;
};

/// Loads files and what they use. Each file is read once.
class ModuleLoader {
public:
  /// `searchPath`: folders in which `use std.ffn` finds `std/ffn.stg`; the first that has it wins.
  ModuleLoader(SourceManager &sources, ast::ASTContext &context, Diagnostics &diags,
               std::vector<std::string> searchPath)
      : sources_(sources), context_(context), diags_(diags), searchPath_(std::move(searchPath)) {}

  /// Null if it could not be read or parsed at all; otherwise what is there, faults being reported.
  const Module *load(llvm::StringRef path);
  /// The same for a text already known to the source manager (tests, editors).
  const Module *loadBuffer(FileId file);

private:
  const Module *loadAt(llvm::StringRef path, SourceRange mention);
  const Module *parse(FileId file);
  void resolveUse(Module &module, const ast::UseItem &use);
  void loadConfigs(Module &module);
  const Module *loadConfig(llvm::StringRef path, SourceRange mention);
  void bring(Module &module, const Module &from, llvm::StringRef name, SourceRange where);
  void declare(Module &module, llvm::StringRef name, NamedItem item, SourceRange where);
  /// `std/ffn.stg` in the search path, or empty.
  std::string findInSearchPath(llvm::StringRef relative) const;
  bool isFolderInSearchPath(llvm::StringRef relative) const;
  std::vector<std::string> modulesIn(llvm::StringRef relative) const;

  SourceManager &sources_;
  ast::ASTContext &context_;
  Diagnostics &diags_;
  std::vector<std::string> searchPath_;
  llvm::StringMap<std::unique_ptr<Module>> byPath_;
  /// Files being loaded, outermost first: finding one again is a cycle.
  std::vector<std::string> loading_;
};

} // namespace stg

#endif
