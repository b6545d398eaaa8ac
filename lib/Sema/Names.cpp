//===- Names.cpp - scopes, dims and types by name ---------------------------===//
#include "Elaborator.h"
#include "stg/Support/ClosestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace stg;
using llvm::StringRef;

Scope *Elaborator::newScope(Scope *parent, Frame *frame) {
  scopes_.push_back(std::make_unique<Scope>());
  scopes_.back()->parent = parent;
  scopes_.back()->frame = frame;
  return scopes_.back().get();
}

DimExpr DimGroup::size(DimContext &dims) const {
  DimExpr product = dims.constant(1);
  for (const Dim &part : parts) {
    if (!part.size)
      return {}; // a dim that a builtin makes, `slice(x; S, Sq, 0)`, and nothing declares
    product = product * part.size;
  }
  return product;
}

void Elaborator::registerLets(const ast::Block &block, Scope &scope) {
  for (const ast::Stmt *stmt : block.stmts)
    if (auto *let = llvm::dyn_cast<ast::LetStmt>(stmt))
      for (const ast::Bind &bind : let->binds) {
        bool taken = scope.dims.count(bind.name.text) != 0 || scope.values.count(bind.name.text) != 0;
        if (taken)
          diags_.report(bind.name.range, diag::NameTwice{.name = bind.name.text})
              .note("a `let` does not change a parameter; give it another name");
        else
          scope.values.insert({bind.name.text, LazyLet{&bind}});
      }
}

/// Evaluates a `let` that is used before it stands. False if it is being evaluated: it depends on itself.
bool Elaborator::requireLet(Scope *scope, Scope *where, StringRef name) {
  auto &variable = where->values[name];
  auto *let = std::get_if<LazyLet>(&variable);
  if (!let)
    return true;
  if (let->running) {
    diags_.report(let->bind->range, diag::LetDependsOnItself{.name = name});
    variable = StaticValue{UnknownStatic()};
    return false;
  }
  let->running = true;
  const ast::Bind *bind = let->bind;
  bindLet(*bind, *where);
  return true;
}

Variable *Elaborator::findVariable(Scope *scope, StringRef name, Scope **where) {
  for (Scope *at = scope; at; at = at->parent) {
    auto it = at->values.find(name);
    if (it == at->values.end())
      continue;
    if (std::holds_alternative<LazyLet>(it->second) && !requireLet(scope, at, name))
      return nullptr;
    // A `let` in upper case has become a dim by now.
    it = at->values.find(name);
    if (it == at->values.end())
      return nullptr;
    if (where)
      *where = at;
    return &it->second;
  }
  return nullptr;
}

const DimGroup *Elaborator::findDim(Scope *scope, StringRef name, Scope **where) {
  for (Scope *at = scope; at; at = at->parent) {
    auto let = at->values.find(name);
    if (let != at->values.end() && std::holds_alternative<LazyLet>(let->second))
      requireLet(scope, at, name);
    auto it = at->dims.find(name);
    if (it != at->dims.end()) {
      if (where)
        *where = at;
      return &it->second;
    }
  }
  return nullptr;
}

std::vector<StringRef> Elaborator::visibleDims(Scope *scope) {
  std::vector<StringRef> names;
  for (Scope *at = scope; at; at = at->parent)
    for (auto &[name, group] : at->dims)
      if (!llvm::is_contained(names, name))
        names.push_back(name);
  return names;
}

void Elaborator::reportUnknownDim(const ast::Name &name, Scope *scope) {
  std::vector<StringRef> names = visibleDims(scope);
  auto builder = diags_.report(name.range, diag::UnknownDim{.dim = name.text});
  if (auto close = closestName(name.text, names))
    builder.fixit(name.range, close->str());
  if (!names.empty())
    builder.note("dimensions here: " + llvm::join(names, " "));
  withInstances(builder, scope->frame);
}

/// The first assignment to `name` inside an `if`, `repeat` or `unit` of the block; `around` is that statement.
static const ast::Target *assignedInside(StringRef name, const ast::Block &block, const ast::Stmt *around,
                                         StringRef &word) {
  for (const ast::Stmt *stmt : block.stmts) {
    const ast::Target *found = nullptr;
    if (auto *assign = llvm::dyn_cast<ast::AssignStmt>(stmt)) {
      for (const ast::Target &target : assign->targets)
        if (around && target.name.text == name)
          return &target;
    } else if (auto *branch = llvm::dyn_cast<ast::IfStmt>(stmt)) {
      word = "if";
      found = assignedInside(name, branch->thenBlock, stmt, word);
      if (!found && branch->hasElse)
        found = assignedInside(name, branch->elseBlock, stmt, word);
    } else if (auto *unit = llvm::dyn_cast<ast::UnitStmt>(stmt)) {
      word = "unit";
      found = assignedInside(name, unit->body, stmt, word);
    } else if (auto *repeat = llvm::dyn_cast<ast::RepeatStmt>(stmt)) {
      word = "repeat";
      found = assignedInside(name, repeat->body, stmt, word);
    }
    if (found)
      return found;
  }
  return nullptr;
}

/// Says it once: what is called so is unknown from here to the end of the declaration.
void Elaborator::reportUnknownValue(const ast::Name &name, Scope *scope) {
  Scope *outermost = scope;
  while (outermost->parent && outermost->parent->frame == scope->frame)
    outermost = outermost->parent;
  outermost->values[name.text] = Tensor::makeUnknown();
  auto *declaration = llvm::dyn_cast_or_null<ast::LayerItem>(scope->frame->item.item);
  StringRef word;
  const ast::Target *inside = declaration ? assignedInside(name.text, declaration->body, nullptr, word) : nullptr;
  if (!inside || inside->range.begin > name.range.begin)
    return reportUnknownName(name, scope);
  auto builder = diags_.report(name.range, diag::UnknownName{.name = name.text});
  builder.label(inside->name.range, "defined inside `" + word.str() + "`, and not visible after it");
  withInstances(builder, scope->frame);
}

void Elaborator::reportUnknownName(const ast::Name &name, Scope *scope) {
  if (scope->frame->item.module->lacks(name.text))
    return;
  std::vector<StringRef> candidates;
  for (Scope *at = scope; at; at = at->parent)
    for (auto &[known, variable] : at->values)
      candidates.push_back(known);
  for (auto &[known, item] : scope->frame->item.module->names)
    candidates.push_back(known);
  for (StringRef dim : visibleDims(scope))
    candidates.push_back(dim);
  auto builder = diags_.report(name.range, diag::UnknownName{.name = name.text});
  if (auto close = closestName(name.text, candidates))
    builder.fixit(name.range, close->str());
  withInstances(builder, scope->frame);
}

DiagnosticBuilder Elaborator::withInstances(DiagnosticBuilder builder, Frame *frame) {
  constexpr unsigned kMaxShown = 6;
  unsigned shown = 0, more = 0;
  for (Frame *at = frame; at && at->caller; at = at->caller) {
    if (!at->call.valid())
      continue;
    if (shown++ < kMaxShown)
      builder.within(at->call, at->callText);
    else
      ++more;
  }
  if (more)
    builder.detail("in " + std::to_string(more) + " more calls");
  return builder;
}

std::optional<DimGroup> Elaborator::dimOf(const ast::Name &name, Scope *scope) {
  if (const DimGroup *group = findDim(scope, name.text))
    return *group;
  // A static of that name that is a number, `let C = …` in lower case, is no dimension; say which names are.
  reportUnknownDim(name, scope);
  return std::nullopt;
}

/// Dims as written, `...` excluded (the caller knows what it stands for).
std::optional<llvm::SmallVector<DimGroup, 6>> Elaborator::dimsOf(const ast::Dims &dims, Scope *scope) {
  llvm::SmallVector<DimGroup, 6> groups;
  bool ok = true;
  for (const ast::Dim &dim : dims.dims) {
    if (dim.ellipsis) {
      if (const DimGroup *rest = findDim(scope, "..."))
        groups.push_back(*rest);
      continue;
    }
    DimGroup whole;
    for (const ast::DimPart &part : dim.parts) {
      auto group = dimOf(part.name, scope);
      if (!group) {
        ok = false;
        continue;
      }
      if (!dim.composite)
        whole = *group;
      else
        whole.parts.append(group->parts.begin(), group->parts.end());
    }
    if (dim.composite)
      whole.name = program_.context->name(
          "(" + llvm::join(llvm::map_range(dim.parts, [](auto &p) { return p.name.text; }), ", ") + ")");
    if (ok)
      groups.push_back(std::move(whole));
  }
  if (!ok)
    return std::nullopt;
  return groups;
}

std::optional<ElementType> Elaborator::elementOf(const ast::Name &dtype) {
  if (auto element = elementTypeFrom(dtype.text))
    return element;
  static constexpr StringRef kNames[] = {"f32", "bf16", "f16", "f8e4m3", "f8e5m2", "f4e2m1",
                                         "i64", "i32",  "i8",  "u8",     "bool"};
  auto builder = diags_.report(dtype.range, diag::UnknownElementType{.name = dtype.text});
  builder.note("element types: " + llvm::join(llvm::ArrayRef(kNames), " "));
  if (auto close = closestName(dtype.text, kNames))
    builder.fixit(dtype.range, close->str());
  return std::nullopt;
}

std::optional<TensorType> Elaborator::typeOf(const ast::Dims &dims, const ast::Name &dtype, TensorClass cls,
                                             Scope *scope, StringRef path) {
  auto groups = dimsOf(dims, scope);
  std::optional<ElementType> element;
  if (!dtype.empty())
    element = elementOf(dtype);
  else
    element = inOptimizer_ ? inOptimizer_->moment : settings_.precision.of(cls, path);
  if (!groups || !element)
    return std::nullopt;
  TensorType type;
  type.element = *element;
  for (const DimGroup &group : *groups)
    for (const Dim &dim : group.parts) {
      if (type.has(dim.name)) {
        auto builder = diags_.report(dims.range, diag::DuplicateDim{.dim = program_.text(dim.name)});
        builder.help("name one of them differently, as in `w[D, Do]`");
        withInstances(builder, scope->frame);
        return std::nullopt;
      }
      type.dims.push_back(dim);
    }
  return type;
}

llvm::SmallVector<DimGroup, 6> Elaborator::grouped(const TensorType &type, Scope *scope) {
  llvm::SmallVector<DimGroup, 6> groups;
  for (size_t i = 0; i < type.dims.size();) {
    const DimGroup *best = nullptr;
    for (Scope *at = scope; at; at = at->parent)
      for (auto &[name, group] : at->dims) {
        if (group.parts.size() < 2 || name == "..." || i + group.parts.size() > type.dims.size())
          continue;
        if (best && best->parts.size() >= group.parts.size())
          continue;
        bool matches = true;
        for (size_t k = 0; k < group.parts.size(); ++k)
          matches &= group.parts[k].name == type.dims[i + k].name;
        if (matches)
          best = &group;
      }
    if (best) {
      DimGroup group = *best;
      for (size_t k = 0; k < group.parts.size(); ++k)
        group.parts[k] = type.dims[i + k];
      i += group.parts.size();
      groups.push_back(std::move(group));
    } else {
      groups.push_back({type.dims[i].name, {type.dims[i]}});
      ++i;
    }
  }
  return groups;
}

std::string Elaborator::describe(const TensorType &type, Scope *scope) {
  std::string text = "[";
  for (const DimGroup &group : grouped(type, scope)) {
    if (text.size() > 1)
      text += ", ";
    text += program_.text(group.name);
  }
  return text + "]";
}

std::string Elaborator::describeOperand(const ast::Expr *expr, const TensorType &type, Scope *scope) {
  std::string text = sourceText(expr->range);
  if (expr->kind != ast::ExprKind::Path)
    text = "`" + text + "` ";
  return text + describe(type, scope);
}

std::string Elaborator::sizesIn(const ast::Expr *expr, Scope &scope) {
  if (auto *binary = llvm::dyn_cast<ast::BinaryExpr>(expr)) {
    std::string left = sizesIn(binary->lhs, scope), right = sizesIn(binary->rhs, scope);
    return left + (left.empty() || right.empty() ? "" : ", ") + right;
  }
  if (auto *chain = llvm::dyn_cast<ast::ChainExpr>(expr)) {
    std::string text;
    for (const ast::ChainTerm &term : chain->terms)
      if (std::string sizes = sizesIn(term.value, scope); !sizes.empty())
        text += (text.empty() ? "" : ", ") + sizes;
    return text;
  }
  auto *path = llvm::dyn_cast<ast::PathExpr>(expr);
  const DimGroup *group = path && path->parts.size() == 1 ? findDim(&scope, path->parts[0].text) : nullptr;
  std::optional<int64_t> size = group ? group->size(program_.context->dims).size() : std::nullopt;
  if (!size)
    return "";
  StringRef name = path->parts[0].text;
  StringRef called = program_.text(group->name);
  return name.str() + (called == name ? "" : " is " + called.str()) + " = " + std::to_string(*size);
}

std::string Elaborator::instancePath(const Frame *frame) const {
  std::string path =
      iterationPath_ + StringRef(frame->path).drop_front(std::min(unitBase_.size(), frame->path.size())).str();
  if (!path.empty())
    path.pop_back(); // the final dot
  return path;
}

ElementType Elaborator::elementFor(const Context &context) {
  if (context.element)
    return *context.element;
  if (inOptimizer_)
    return inOptimizer_->master;
  return settings_.precision.of(TensorClass::Act, instancePath(context.scope->frame));
}
