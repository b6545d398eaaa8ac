//===- Dumper.h - writes the AST as text ------------------------------------===//
// One overload of `dump` for each part of the AST. Layers, models and ops are written in DumpAST.cpp, plans and
// workloads in DumpPlans.cpp.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_SYNTAX_DUMPER_H
#define STG_LIB_SYNTAX_DUMPER_H

#include "stg/Syntax/AST.h"
#include "llvm/Support/raw_ostream.h"

namespace stg::ast {

class Dumper {
public:
  explicit Dumper(llvm::raw_ostream &os) : os_(os) {}
  void dump(const File &file);
  void dump(const Expr *expr);

private:
  void string(llvm::StringRef text);
  void dump(const Name &name);
  void dump(llvm::ArrayRef<Name> names);
  void dump(llvm::ArrayRef<const Expr *> exprs);
  void list(llvm::ArrayRef<Name> names);
  void args(llvm::ArrayRef<Arg> args);
  void dump(const ViewDim &dim);
  void dump(const Dims &dims);
  void typed(const Name &name, const Dims &dims, const Name &dtype);
  void dump(llvm::ArrayRef<StaticParam> params);
  void dump(const Signature &signature);
  void dump(llvm::ArrayRef<Bind> binds);
  /// `(word` on a line of its own.
  void begin(llvm::StringRef word);
  void dump(const Block &block);
  void dump(const Stmt &stmt);
  void dump(const OpItem &op);
  void dump(const Item &item);

  void dump(const Selector &selector);
  void selectors(llvm::StringRef word, llvm::ArrayRef<Selector> selectors);
  void dump(const Options &options);
  void dump(const Config &config);
  void dump(llvm::ArrayRef<Axis> axes);
  void dump(const PlanBlock &block);
  void dump(const PlanItem &item);
  void dump(const WorkItem &item);

  llvm::raw_ostream &os_;
  unsigned depth_ = 0;
};

} // namespace stg::ast

#endif
