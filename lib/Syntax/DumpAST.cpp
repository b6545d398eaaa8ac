//===- DumpAST.cpp - the AST as text --------------------------------------===//
#include "stg/Syntax/DumpAST.h"
#include "Dumper.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

namespace stg::ast {

namespace {

const char *spelling(ChainOp op) {
  constexpr const char *kSpellings[] = {"+", "-", "*", "/", "//", "%"};
  return kSpellings[static_cast<size_t>(op)];
}
const char *spelling(BinaryOp op) {
  constexpr const char *kSpellings[] = {"==", "!=", "<", "<=", ">", ">=", "in", "and", "or"};
  return kSpellings[static_cast<size_t>(op)];
}
const char *spelling(Reduction op) {
  constexpr const char *kSpellings[] = {"sum", "mean", "max", "min", "prod", "softmax", "each"};
  return kSpellings[static_cast<size_t>(op)];
}
const char *spelling(StmtKind kind) {
  constexpr const char *kSpellings[] = {"let",    "factor", "require", "input",  "weight", "state",  "share",
                                        "repeat", "unit",   "if",      "return", "loss",   "output", "assign"};
  return kSpellings[static_cast<size_t>(kind)];
}
const char *spelling(ItemKind kind) {
  constexpr const char *kSpellings[] = {"use", "let", "layer", "op", "optimizer", "model", "plan", "workload"};
  return kSpellings[static_cast<size_t>(kind)];
}

} // namespace

void Dumper::dump(const File &file) {
  os_ << "(file " << file.edition;
  ++depth_;
  for (const Item *item : file.items)
    dump(*item);
  --depth_;
  os_ << ")\n";
}

void Dumper::dump(const Expr *expr) {
  if (!expr) {
    os_ << " -";
    return;
  }
  os_ << ' ';
  switch (expr->kind) {
  case ExprKind::Int: {
    auto value = llvm::cast<IntLit>(expr)->value;
    value ? os_ << *value : os_ << "too-large";
    return;
  }
  case ExprKind::Float:
    os_ << llvm::format("%.17gf", llvm::cast<FloatLit>(expr)->value);
    return;
  case ExprKind::String:
    string(llvm::cast<StringLit>(expr)->value);
    return;
  case ExprKind::Bool:
    os_ << (llvm::cast<BoolLit>(expr)->value ? "true" : "false");
    return;
  case ExprKind::None:
    os_ << "none";
    return;
  case ExprKind::Path:
    os_ << "(path";
    dump(llvm::cast<PathExpr>(expr)->parts);
    break;
  case ExprKind::Call: {
    auto *call = llvm::cast<CallExpr>(expr);
    os_ << (call->hasSemicolon ? "(call;" : "(call");
    if (!call->label.empty())
      os_ << " :" << call->label.text;
    list(call->callee);
    args(call->args);
    break;
  }
  case ExprKind::List: {
    auto *node = llvm::cast<ListExpr>(expr);
    os_ << (node->rangeEnd ? "(range" : "(list");
    dump(node->elements);
    if (node->rangeEnd)
      dump(node->rangeEnd);
    break;
  }
  case ExprKind::Tuple:
    os_ << "(tuple";
    dump(llvm::cast<TupleExpr>(expr)->elements);
    break;
  case ExprKind::Index: {
    auto *node = llvm::cast<IndexExpr>(expr);
    os_ << "(index";
    dump(node->base);
    dump(node->index);
    dump(node->members);
    break;
  }
  case ExprKind::View: {
    auto *node = llvm::cast<ViewExpr>(expr);
    os_ << "(view";
    dump(node->base);
    for (const ViewItem &item : node->items) {
      os_ << " (";
      dump(item.from);
      os_ << " as";
      dump(item.to);
      os_ << ')';
    }
    break;
  }
  case ExprKind::Unary: {
    auto *node = llvm::cast<UnaryExpr>(expr);
    os_ << (node->op == UnaryOp::Neg ? "(neg" : "(not");
    dump(node->operand);
    break;
  }
  case ExprKind::Chain:
    os_ << "(chain";
    for (const ChainTerm &term : llvm::cast<ChainExpr>(expr)->terms) {
      os_ << ' ' << spelling(term.op);
      dump(term.value);
    }
    break;
  case ExprKind::Binary: {
    auto *node = llvm::cast<BinaryExpr>(expr);
    os_ << '(' << spelling(node->op);
    dump(node->lhs);
    dump(node->rhs);
    break;
  }
  case ExprKind::Reduce: {
    auto *node = llvm::cast<ReduceExpr>(expr);
    os_ << '(' << spelling(node->op);
    if (node->ellipsis)
      os_ << " ...";
    else
      list(node->dims);
    dump(node->operand);
    break;
  }
  case ExprKind::If: {
    auto *node = llvm::cast<IfExpr>(expr);
    os_ << "(if";
    dump(node->cond);
    dump(node->thenValue);
    dump(node->elseValue);
    break;
  }
  }
  os_ << ')';
}

void Dumper::string(llvm::StringRef text) {
  os_ << '"';
  os_.write_escaped(text);
  os_ << '"';
}

void Dumper::dump(const Name &name) {
  os_ << ' ';
  name.empty() ? os_ << '-' : os_ << name.text;
}

void Dumper::dump(llvm::ArrayRef<Name> names) {
  for (const Name &name : names)
    dump(name);
}

void Dumper::dump(llvm::ArrayRef<const Expr *> exprs) {
  for (const Expr *expr : exprs)
    dump(expr);
}

void Dumper::list(llvm::ArrayRef<Name> names) {
  os_ << " (";
  llvm::ListSeparator separator(" ");
  for (const Name &name : names)
    os_ << separator << name.text;
  os_ << ')';
}

void Dumper::args(llvm::ArrayRef<Arg> args) {
  for (const Arg &arg : args) {
    if (arg.afterSemicolon)
      os_ << " ;";
    if (!arg.name.empty())
      os_ << ' ' << arg.name.text << '=';
    dump(arg.value);
  }
}

void Dumper::dump(const ViewDim &dim) {
  if (dim.composite)
    list(dim.names);
  else
    dump(dim.names);
}

void Dumper::dump(const Dims &dims) {
  os_ << " [";
  for (const Dim &dim : dims.dims) {
    os_ << (dim.ellipsis ? " ..." : dim.composite ? " (" : "");
    for (const DimPart &part : dim.parts)
      os_ << ' ' << part.name.text << (part.optional ? "?" : "");
    if (dim.composite)
      os_ << ')';
  }
  os_ << ']';
}

void Dumper::typed(const Name &name, const Dims &dims, const Name &dtype) {
  os_ << " (";
  dump(name);
  dump(dims);
  dump(dtype);
  os_ << ')';
}

void Dumper::dump(llvm::ArrayRef<StaticParam> params) {
  os_ << " (statics";
  for (const StaticParam &param : params) {
    os_ << " (";
    dump(param.name);
    dump(param.type);
    dump(param.value);
    os_ << ')';
  }
  os_ << ')';
}

void Dumper::dump(const Signature &signature) {
  for (const TensorParam &param : signature.tensors) {
    typed(param.name, param.dims, param.dtype);
    if (param.optional)
      os_ << '?';
  }
  dump(signature.statics);
  os_ << " ->";
  for (const Out &out : signature.outs)
    typed(out.name, out.dims, out.dtype);
}

void Dumper::dump(llvm::ArrayRef<Bind> binds) {
  for (const Bind &bind : binds) {
    os_ << " (";
    dump(bind.name);
    dump(bind.value);
    if (!bind.from.empty())
      list(bind.from);
    os_ << ')';
  }
}

void Dumper::begin(llvm::StringRef word) {
  os_ << '\n';
  os_.indent(2 * depth_) << '(' << word;
}

void Dumper::dump(const Block &block) {
  os_ << " (block";
  ++depth_;
  for (const Stmt *stmt : block.stmts)
    dump(*stmt);
  --depth_;
  os_ << ')';
}

void Dumper::dump(const Stmt &stmt) {
  begin(spelling(stmt.kind));
  switch (stmt.kind) {
  case StmtKind::Let:
    dump(llvm::cast<LetStmt>(stmt).binds);
    break;
  case StmtKind::Factor:
    dump(llvm::cast<FactorStmt>(stmt).dim);
    list(llvm::cast<FactorStmt>(stmt).parts);
    break;
  case StmtKind::Require:
    dump(llvm::cast<RequireStmt>(stmt).cond);
    dump(llvm::cast<RequireStmt>(stmt).message);
    break;
  case StmtKind::Input:
  case StmtKind::Weight:
  case StmtKind::State:
    for (const Decl &decl : llvm::cast<DeclStmt>(stmt).decls)
      typed(decl.name, decl.dims, decl.dtype);
    break;
  case StmtKind::Share:
    dump(llvm::cast<ShareStmt>(stmt).name);
    dump(llvm::cast<ShareStmt>(stmt).value);
    break;
  case StmtKind::Repeat: {
    auto &repeat = llvm::cast<RepeatStmt>(stmt);
    dump(repeat.count);
    dump(repeat.name);
    dump(repeat.index);
    dump(repeat.body);
    break;
  }
  case StmtKind::Unit:
    dump(llvm::cast<UnitStmt>(stmt).name);
    dump(llvm::cast<UnitStmt>(stmt).body);
    break;
  case StmtKind::If: {
    auto &node = llvm::cast<IfStmt>(stmt);
    dump(node.cond);
    dump(node.thenBlock);
    if (node.hasElse)
      dump(node.elseBlock);
    break;
  }
  case StmtKind::Return:
    dump(llvm::cast<ReturnStmt>(stmt).values);
    break;
  case StmtKind::Loss:
    dump(llvm::cast<LossStmt>(stmt).value);
    break;
  case StmtKind::Output:
    dump(llvm::cast<OutputStmt>(stmt).names);
    break;
  case StmtKind::Assign:
    for (const Target &target : llvm::cast<AssignStmt>(stmt).targets) {
      if (target.hasDims)
        typed(target.name, target.dims, target.dtype);
      else
        dump(target.name);
    }
    os_ << " =";
    dump(llvm::cast<AssignStmt>(stmt).value);
    break;
  }
  os_ << ')';
}

void Dumper::dump(const OpItem &op) {
  dump(op.signature);
  ++depth_;
  for (const LetStmt *let : op.lets)
    dump(*let);
  for (const KindOf &kind : op.kinds) {
    begin("kind");
    list(kind.dims);
    dump(kind.kind);
    dump(kind.args);
    dump(kind.along);
    os_ << ')';
  }
  const std::pair<const char *, const Expr *> formulas[] = {
      {"flops", op.flops}, {"other", op.other}, {"bytes", op.bytes}, {"where", op.where}};
  for (auto [word, formula] : formulas)
    if (formula) {
      begin(word);
      dump(formula);
      os_ << ')';
    }
  if (op.hasSave) {
    begin("save");
    dump(op.save);
    os_ << ')';
  }
  if (op.hasDefine) {
    begin("define");
    dump(op.define);
    os_ << ')';
  }
  if (op.gradKind != OpItem::Grad::Missing) {
    begin("grad");
    if (op.gradKind == OpItem::Grad::Block) {
      list(op.gradParams);
      dump(op.grad);
    }
    os_ << ')';
  }
  --depth_;
}

void Dumper::dump(const Item &item) {
  begin(spelling(item.kind));
  if (item.kind != ItemKind::Use)
    dump(item.name);
  if (!item.doc.empty()) {
    os_ << ' ';
    string(item.doc);
  }
  switch (item.kind) {
  case ItemKind::Use: {
    auto &use = llvm::cast<UseItem>(item);
    dump(use.path);
    if (!use.picks.empty())
      list(use.picks);
    if (use.file)
      dump(use.file);
    dump(use.alias);
    break;
  }
  case ItemKind::Constant:
    dump(llvm::cast<ConstantItem>(item).value);
    break;
  case ItemKind::Layer:
  case ItemKind::Optimizer:
  case ItemKind::Model:
    dump(llvm::cast<LayerItem>(item).signature);
    dump(llvm::cast<LayerItem>(item).body);
    break;
  case ItemKind::Op:
    dump(llvm::cast<OpItem>(item));
    break;
  case ItemKind::Plan:
    dump(llvm::cast<PlanItemDecl>(item).statics);
    dump(llvm::cast<PlanItemDecl>(item).body);
    break;
  case ItemKind::Workload:
    dump(llvm::cast<WorkloadItem>(item).statics);
    ++depth_;
    for (const WorkItem *line : llvm::cast<WorkloadItem>(item).items)
      dump(*line);
    --depth_;
    break;
  }
  os_ << ')';
}

} // namespace stg::ast

namespace stg {

std::string dumpAST(const ast::File &file) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ast::Dumper(os).dump(file);
  return text;
}

std::string dumpExpr(const ast::Expr &expr) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ast::Dumper(os).dump(&expr);
  return llvm::StringRef(text).ltrim().str();
}

} // namespace stg
