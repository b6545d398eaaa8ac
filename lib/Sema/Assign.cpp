//===- Assign.cpp - definitions ------------------------------------------------------===//
// `y[B, S, F]: f32 = e`: the written type is checked against the value, or believed where a declaration is checked and
// the value is unknown; then the name is bound, in the scope that has it already or here.
//===----------------------------------------------------------------------===//
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace stg;
using llvm::cast;
using llvm::StringRef;

void Elaborator::assignStatement(const ast::AssignStmt *stmt, Scope &scope) {
  Context context;
  context.scope = &scope;
  context.kernel = units_.nextKernel();
  context.firstOp = units_.isOpen() ? units_.numOps() : 0;
  context.name = stmt->targets[0].name.text.str();
  // A rebinding of a carried value keeps its name; the builder tells them apart.
  if (stmt->targets.size() == 1) {
    context.target = &stmt->targets[0];
    if (!stmt->targets[0].dtype.empty())
      context.element = elementOf(stmt->targets[0].dtype);
  } else {
    for (const ast::Target &target : stmt->targets)
      context.names.push_back(target.name.text.str());
  }
  EvalResult result;
  // `h = x` between units is another name, not a value of the code there.
  auto *path = llvm::dyn_cast<ast::PathExpr>(stmt->value);
  Variable *alias = path && path->parts.size() == 1 && unitDepth_ == 0 && stmt->targets.size() == 1
                        ? findVariable(&scope, path->parts[0].text)
                        : nullptr;
  if (alias && std::holds_alternative<Tensor>(*alias) && !stmt->targets[0].hasDims && stmt->targets[0].dtype.empty())
    result = EvalResult::of(std::get<Tensor>(*alias));
  else
    result = eval(stmt->value, context);
  if (stmt->targets.size() == 1)
    return assign(stmt->targets[0], std::move(result), scope, context, stmt->value);
  if (result.isTensors() && result.tensors.size() == 1 && result.tensors[0].unknown)
    result = EvalResult::failed();
  if (result.isFailed()) {
    for (const ast::Target &target : stmt->targets)
      assign(target, EvalResult::failed(), scope, context, stmt->value);
    return;
  }
  size_t count = result.isTensors() ? result.tensors.size() : 1;
  if (count != stmt->targets.size()) {
    auto builder = diags_.report(stmt->value->range, diag::ResultCount{.expression = sourceText(stmt->value->range),
                                                                       .count = count,
                                                                       .wanted = stmt->targets.size()});
    withInstances(builder, scope.frame);
    result = EvalResult::failed();
  }
  for (size_t i = 0; i < stmt->targets.size(); ++i)
    assign(stmt->targets[i], result.isFailed() ? result : EvalResult::of(result.tensors[i]), scope, context,
           stmt->value);
}

void Elaborator::assign(const ast::Target &target, EvalResult result, Scope &scope, Context &context,
                        const ast::Expr *value) {
  StringRef name = target.name.text;
  context.name = name.str();
  context.inner = false;
  // `dx = none` in a grad block: x is never trained.
  if (scope.frame->inGrad && result.isStatic() && result.value.isNone()) {
    scope.values[name] = result.value;
    return;
  }
  Tensor tensor = Tensor::makeUnknown();
  if (result.isTensors() && result.tensors.size() > 1) {
    diags_
        .report(value->range,
                diag::ResultCount{.expression = sourceText(value->range), .count = result.tensors.size(), .wanted = 1})
        .help(name.str() + ", ... = " + sourceText(value->range));
  } else if (!result.isFailed()) {
    if (result.isStatic() && !result.value.isUnknown() && !result.value.getIf<double>() &&
        !result.value.getIf<DimExpr>()) {
      auto builder = diags_.report(value->range, diag::NotUsableHere{.expression = sourceText(value->range),
                                                                     .actual = result.value.kindName(),
                                                                     .expected = "a tensor"});
      builder.help("a static value is named by `let`: let " + name.str() + " = " + sourceText(value->range));
      withInstances(builder, scope.frame);
    } else if (auto known = tensorOf(std::move(result), value, context)) {
      tensor = *known;
    }
  }
  // The written type: checked against, or believed where nothing is known.
  if (target.hasDims) {
    llvm::SmallVector<NameId, 6> order;
    bool known = true;
    const ast::Dim *twice[2] = {nullptr, nullptr};
    std::map<NameId, const ast::Dim *> seen;
    bool ellipsis = false;
    for (const ast::Dim &dim : target.dims.dims) {
      ellipsis |= dim.ellipsis;
      if (dim.ellipsis) {
        order.push_back(NameId());
        continue;
      }
      for (const ast::DimPart &part : dim.parts) {
        const DimGroup *group = findDim(&scope, part.name.text);
        DimGroup own;
        if (!group) {
          // A dim that only the tensors carry (`b[B as Bn]`) need not be declared.
          NameId id = program_.context->name(part.name.text);
          if (tensor.unknown || !tensor.type.has(id)) {
            known = false;
            if (tensor.unknown)
              continue;
            reportUnknownDim(part.name, &scope);
            continue;
          }
          own = {id, {*tensor.type.find(id)}};
          group = &own;
        }
        for (const Dim &one : group->parts) {
          auto [it, inserted] = seen.insert({one.name, &dim});
          if (!inserted) {
            twice[0] = it->second;
            twice[1] = &dim;
          }
          order.push_back(one.name);
        }
      }
    }
    if (twice[0]) {
      StringRef dim = twice[0]->parts[0].name.text;
      auto builder = diags_.report(twice[0]->range, diag::DuplicateDim{.dim = dim});
      builder.label(twice[1]->range);
      std::vector<std::string> operands;
      if (auto *reduce = llvm::dyn_cast<ast::ReduceExpr>(value))
        if (auto *chain = llvm::dyn_cast<ast::ChainExpr>(reduce->operand))
          for (const ast::ChainTerm &term : chain->terms)
            if (term.value->kind == ast::ExprKind::Path)
              operands.push_back(sourceText(term.value->range));
      if (operands.size() == 2) {
        builder.note("`" + operands[0] + "` and `" + operands[1] + "` both have " + dim.str() + ", so `" + operands[0] +
                     " * " + operands[1] + "` pairs position i with position i only");
        std::string dims = sourceText({target.range.file, target.range.begin, twice[1]->range.begin});
        std::string rest = sourceText({target.range.file, twice[1]->range.end, value->range.end});
        size_t at = rest.rfind(operands[1]);
        if (at != std::string::npos)
          rest.insert(at + operands[1].size(), "[" + dim.str() + " as T]");
        builder.help("name the keys' positions: " + dims + "T" + rest);
        if (at != std::string::npos) {
          uint32_t end =
              value->range.end - static_cast<uint32_t>(rest.size() - (at + operands[1].size() + dim.size() + 7));
          builder.fixit(twice[1]->range, "T").fixit({value->range.file, end, end}, "[" + dim.str() + " as T]");
        }
        builder.note("or use the fused kernel: o, lse = attend(q, k, v)");
      } else {
        builder.help("rename one of them in the expression: x[" + dim.str() + " as T]");
      }
      withInstances(builder, scope.frame);
      tensor = Tensor::makeUnknown();
      known = false;
    }
    if (known && !tensor.unknown) {
      llvm::SmallVector<NameId, 6> complete;
      std::vector<std::string> extra, lacking;
      for (NameId dim : order) {
        if (!dim.valid()) {
          for (const Dim &own : tensor.type.dims)
            if (!llvm::is_contained(order, own.name))
              complete.push_back(own.name);
        } else if (tensor.type.has(dim)) {
          complete.push_back(dim);
        } else {
          lacking.push_back(program_.text(dim).str());
        }
      }
      if (!ellipsis)
        for (const DimGroup &own : grouped(tensor.type, &scope))
          if (!llvm::is_contained(order, own.parts[0].name))
            extra.push_back(program_.text(own.name).str());
      if (!extra.empty()) {
        std::string dims = llvm::join(extra, ", ");
        auto builder =
            diags_.report(value->range, diag::ForgottenContraction{.dims = dims, .target = sourceText(target.range)});
        builder.label("is " + describe(tensor.type, &scope));
        auto *chain = llvm::dyn_cast<ast::ChainExpr>(value);
        std::string fixed = chain && chain->isSum() ? "sum(" + dims + ") (" + sourceText(value->range) + ")"
                                                    : "sum(" + dims + ") " + sourceText(value->range);
        builder.help(sourceText(target.range) + " = " + fixed).fixit(value->range, fixed);
        withInstances(builder, scope.frame);
        tensor = Tensor::makeUnknown();
      } else if (!lacking.empty()) {
        auto builder = diags_.report(target.dims.range, diag::TargetDimMissing{.target = sourceText(target.range),
                                                                               .dims = llvm::join(lacking, ", ")});
        builder.label(value->range, "is " + describe(tensor.type, &scope));
        withInstances(builder, scope.frame);
        tensor = Tensor::makeUnknown();
      } else {
        tensor = reorder(tensor, complete, context, target.range.upTo(value->range));
      }
    } else if (known && tensor.unknown && abstract_ && !ellipsis) {
      Tensor declared;
      TensorType type;
      type.element = ElementType::BF16;
      for (const ast::Dim &dim : target.dims.dims)
        for (const ast::DimPart &part : dim.parts)
          for (const Dim &one : findDim(&scope, part.name.text)->parts)
            type.dims.push_back(one);
      Op op;
      op.kind = OpKind::Input;
      op.fields = SlotFields{0};
      ensureOpen();
      tensor = units_.add(std::move(op), type, std::string("declared"))[0];
    }
  }
  if (!target.dtype.empty() && !tensor.unknown) {
    auto element = elementOf(target.dtype);
    if (element && tensor.type.element != *element)
      tensor = emit(OpKind::Map, {tensor}, MapFields{MapFn::Cast, *element}, context, target.range.upTo(value->range),
                    {valueName(context)})[0];
  }
  // Where the name lives: an outer scope of this declaration that has it, else here.
  Scope *where = nullptr;
  Variable *variable = nullptr;
  for (Scope *at = &scope; at && !variable; at = at->parent) {
    auto it = at->values.find(name);
    if (it != at->values.end() && !std::holds_alternative<LazyLet>(it->second)) {
      variable = &it->second;
      where = at;
    }
  }
  if (!tensor.unknown && units_.isOpen() && tensor.unit == units_.current() &&
      units_.madeSince(tensor.value, context.firstOp))
    units_.rename(tensor.value, valueName(context));
  if (variable && std::holds_alternative<Stored>(*variable)) {
    Stored &stored = std::get<Stored>(*variable);
    if (!stored.isState) {
      diags_.report(target.name.range, diag::WeightAssigned{.weight = name})
          .note("weights change in the optimizer step only");
      return;
    }
    if (tensor.unknown || abstract_)
      return;
    UnitBuilder &units = units_;
    bool repeated = unitDepth_ > 0 && !(stored.unit.valid() && stored.unit == units_.current());
    if (!writtenStates_.insert({stored.unit, stored.index}).second || repeated) {
      auto builder = diags_.report(target.name.range, diag::StateWrittenTwice{.state = name});
      builder.note(repeated ? "it is declared outside and written in every iteration"
                            : "a state keeps one value from a step to the next; write it once, at the end");
      withInstances(builder, scope.frame);
      return;
    }
    SourceRange where = target.range.upTo(value->range);
    if (inOptimizer_ && tensor.type.element != stored.type.element)
      tensor = emit(OpKind::Map, {tensor}, MapFields{MapFn::Cast, stored.type.element}, context, where,
                    {valueName(context)})[0];
    uint32_t slot = units.slotOf(stored);
    emit(OpKind::Update, {tensor}, SlotFields{slot}, context, where, {});
    // An optimizer's formulas speak of the new moment from here on.
    if (inOptimizer_)
      *variable = tensor;
    return;
  }
  if (variable &&
      (std::holds_alternative<StaticValue>(*variable) ||
       std::holds_alternative<std::shared_ptr<RepeatIterations>>(*variable)) &&
      !(std::holds_alternative<StaticValue>(*variable) &&
        (std::get<StaticValue>(*variable).isUnknown() || std::get<StaticValue>(*variable).isNone()))) {
    diags_.report(target.name.range, diag::NameTwice{.name = name})
        .note("`" + name.str() + "` names something else here; take another name");
    return;
  }
  if (variable)
    *variable = tensor;
  else
    scope.values[name] = tensor;
  (void)where;
}
