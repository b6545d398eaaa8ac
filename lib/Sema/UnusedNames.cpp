//===- UnusedNames.cpp - inputs and values that nothing reads ------------------------------------===//
// By name over a whole declaration, whatever the order and the branch: what is read anywhere is used. Parameters of
// layers are left alone (a layer may be one of several that are called alike), and so are results of a call that has
// several, names that begin with `_`, and states (E254) and weights (W253).
//===----------------------------------------------------------------------===//
#include "UnusedNames.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace stg;
using llvm::cast;
using llvm::StringRef;

namespace {

class NameUses {
public:
  void walk(const ast::Block &block) {
    for (const ast::Stmt *stmt : block.stmts)
      walk(*stmt);
  }
  void report(UnusedValues values, Diagnostics &diags) const;

private:
  void walk(const ast::Stmt &stmt);
  void read(const ast::Expr *expr);
  void read(llvm::ArrayRef<const ast::Expr *> exprs) {
    for (const ast::Expr *expr : exprs)
      read(expr);
  }

  /// The first place of each, in order.
  llvm::MapVector<StringRef, SourceRange> inputs_, values_;
  llvm::StringSet<> read_, states_;
  bool hasResult_ = false; ///< a `return`, `loss` or `output`: otherwise the last value is what the model is for
};

void NameUses::read(const ast::Expr *expr) {
  if (!expr)
    return;
  switch (expr->kind) {
  case ast::ExprKind::Path:
    read_.insert(cast<ast::PathExpr>(expr)->parts.front().text);
    return;
  case ast::ExprKind::Call:
    read_.insert(cast<ast::CallExpr>(expr)->callee.front().text);
    for (const ast::Arg &arg : cast<ast::CallExpr>(expr)->args)
      read(arg.value);
    return;
  case ast::ExprKind::List:
    read(cast<ast::ListExpr>(expr)->elements);
    return read(cast<ast::ListExpr>(expr)->rangeEnd);
  case ast::ExprKind::Tuple:
    return read(cast<ast::TupleExpr>(expr)->elements);
  case ast::ExprKind::Index:
    read(cast<ast::IndexExpr>(expr)->base);
    for (const ast::Name &member : cast<ast::IndexExpr>(expr)->members)
      read_.insert(member.text);
    return read(cast<ast::IndexExpr>(expr)->index);
  case ast::ExprKind::View:
    return read(cast<ast::ViewExpr>(expr)->base);
  case ast::ExprKind::Unary:
    return read(cast<ast::UnaryExpr>(expr)->operand);
  case ast::ExprKind::Chain:
    for (const ast::ChainTerm &term : cast<ast::ChainExpr>(expr)->terms)
      read(term.value);
    return;
  case ast::ExprKind::Binary:
    read(cast<ast::BinaryExpr>(expr)->lhs);
    return read(cast<ast::BinaryExpr>(expr)->rhs);
  case ast::ExprKind::Reduce:
    return read(cast<ast::ReduceExpr>(expr)->operand);
  case ast::ExprKind::If:
    read(cast<ast::IfExpr>(expr)->cond);
    read(cast<ast::IfExpr>(expr)->thenValue);
    return read(cast<ast::IfExpr>(expr)->elseValue);
  case ast::ExprKind::Int:
  case ast::ExprKind::Float:
  case ast::ExprKind::String:
  case ast::ExprKind::Bool:
  case ast::ExprKind::None:
    return;
  }
}

void NameUses::walk(const ast::Stmt &stmt) {
  switch (stmt.kind) {
  case ast::StmtKind::Let:
    for (const ast::Bind &bind : cast<ast::LetStmt>(stmt).binds)
      read(bind.value);
    return;
  case ast::StmtKind::Factor:
  case ast::StmtKind::Weight:
    return;
  case ast::StmtKind::Require:
    return read(cast<ast::RequireStmt>(stmt).cond);
  case ast::StmtKind::Input:
    for (const ast::Decl &decl : cast<ast::DeclStmt>(stmt).decls)
      inputs_.insert({decl.name.text, decl.name.range});
    return;
  case ast::StmtKind::State:
    for (const ast::Decl &decl : cast<ast::DeclStmt>(stmt).decls)
      states_.insert(decl.name.text);
    return;
  case ast::StmtKind::Share:
    return read(cast<ast::ShareStmt>(stmt).value);
  case ast::StmtKind::Repeat:
    read(cast<ast::RepeatStmt>(stmt).count);
    return walk(cast<ast::RepeatStmt>(stmt).body);
  case ast::StmtKind::Unit:
    return walk(cast<ast::UnitStmt>(stmt).body);
  case ast::StmtKind::If:
    read(cast<ast::IfStmt>(stmt).cond);
    walk(cast<ast::IfStmt>(stmt).thenBlock);
    if (cast<ast::IfStmt>(stmt).hasElse)
      walk(cast<ast::IfStmt>(stmt).elseBlock);
    return;
  case ast::StmtKind::Return:
    hasResult_ = true;
    return read(cast<ast::ReturnStmt>(stmt).values);
  case ast::StmtKind::Loss:
    hasResult_ = true;
    return read(cast<ast::LossStmt>(stmt).value);
  case ast::StmtKind::Output:
    hasResult_ = true;
    for (const ast::Name &name : cast<ast::OutputStmt>(stmt).names)
      read_.insert(name.text);
    return;
  case ast::StmtKind::Assign: {
    auto &assign = cast<ast::AssignStmt>(stmt);
    read(assign.value);
    if (assign.targets.size() == 1)
      values_.insert({assign.targets[0].name.text, assign.targets[0].name.range});
    return;
  }
  }
}

void NameUses::report(UnusedValues values, Diagnostics &diags) const {
  auto unused = [&](StringRef name) {
    return !read_.contains(name) && !states_.contains(name) && !name.starts_with("_");
  };
  for (auto &[name, range] : inputs_)
    if (unused(name))
      diags.report(range, diag::NameUnused{.name = name});
  if (!hasResult_ || values == UnusedValues::LeaveToTraining)
    return;
  for (auto &[name, range] : values_)
    if (unused(name) && !inputs_.contains(name))
      diags.report(range, diag::NameUnused{.name = name}).note("it is computed all the same");
}

} // namespace

void stg::checkUnusedNames(const ast::LayerItem &item, UnusedValues values, Diagnostics &diags) {
  NameUses uses;
  uses.walk(item.body);
  uses.report(values, diags);
}
