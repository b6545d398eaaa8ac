//===- OpCalls.cpp - calling user ops -------------------------------------------------===//
// A call of an `op` is one IR op that carries all that later passes ask: the iteration dims (factors) and their kinds,
// the dims of operands and results in terms of them, the costs with sizes bound.
//===----------------------------------------------------------------------===//
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace stg;
using llvm::cast;
using llvm::StringRef;

EvalResult Elaborator::callOp(const LayerValue &layer, const ast::CallExpr *expr, llvm::ArrayRef<EvalResult> tensors,
                              llvm::ArrayRef<const ast::Arg *> tensorArgs, std::vector<StaticArgument> statics,
                              Context &context) {
  auto *op = cast<ast::OpItem>(layer.item.item);
  StringRef name = op->name.text;
  const ast::Signature &signature = op->signature;
  EvalResult failed;
  failed.kind = EvalResult::Kind::Tensors;
  for (size_t i = 0; i < signature.outs.size(); ++i)
    failed.tensors.push_back(Tensor::makeUnknown());

  if (llvm::is_contained(callStack_, op)) {
    withInstances(diags_.report(expr->range, diag::RecursiveLayer{.layer = name}), context.scope->frame);
    return failed;
  }
  if (!mayCall(expr->range))
    return failed;
  Frame *frame = frames_.emplace_back(std::make_unique<Frame>()).get();
  frame->caller = context.scope->frame;
  frame->item = layer.item;
  frame->call = expr->range;
  frame->callText = name.str() + "(...)";
  frame->each = frame->caller->each;
  frame->path = frame->caller->path + name.str() + ".";
  Scope *scope = newScope(nullptr, frame);
  Matches matches;
  if (!bindTensors(signature, name, tensors, tensorArgs, *scope, context, expr->range, *frame, &matches) ||
      !bindStatics(name, signature.statics, statics, *scope, expr->range))
    return failed;
  if (llvm::any_of(tensors, [](const EvalResult &t) { return t.isTensors() && t.tensors[0].unknown; })) {
    if (abstract_)
      for (size_t i = 0; i < signature.outs.size(); ++i)
        failed.tensors[i] = declaredOut(signature.outs[i], *scope, context);
    return failed;
  }
  for (const ast::LetStmt *let : op->lets)
    for (const ast::Bind &bind : let->binds)
      scope->values.insert({bind.name.text, LazyLet{&bind}});
  Context inside;
  inside.scope = scope;
  if (op->where) {
    EvalResult holds = eval(op->where, inside);
    auto *flag = holds.isStatic() ? holds.value.getIf<bool>() : nullptr;
    if (flag && !*flag) {
      auto builder =
          diags_.report(expr->range, diag::OpConditionFails{.op = name, .condition = sourceText(op->where->range)});
      if (std::string sizes = sizesIn(op->where, *scope); !sizes.empty())
        builder.note(sizes);
      withInstances(builder, context.scope->frame);
      return failed;
    }
    if (holds.isFailed())
      return failed;
  }

  // Factors: of the first output, the other outputs, then the rest in signature order (language.md 5.3).
  CallFields fields;
  fields.callee = program_.context->name(name);
  opItems_[fields.callee] = op;
  std::map<std::pair<std::string, NameId>, uint32_t> factorOf;
  std::vector<std::string> variables; ///< per factor, as the op calls it
  auto factor = [&](StringRef variable, const Dim &dim) {
    auto [it, inserted] = factorOf.insert({{variable.str(), dim.name}, static_cast<uint32_t>(fields.factors.size())});
    if (inserted) {
      Factor one;
      one.name = variable.empty() || variable == "..." ? dim.name : program_.context->name(variable);
      one.dim = dim;
      fields.factors.push_back(std::move(one));
      variables.push_back(variable.str());
    }
    return it->second;
  };
  llvm::SmallVector<Dim, 2> riding;
  for (const DimGroup &each : frame->each)
    for (const Dim &dim : each.parts)
      for (const auto &match : matches)
        if (llvm::any_of(match, [&](auto &pair) { return pair.first.empty() && pair.second.name == dim.name; }) &&
            !llvm::is_contained(riding, dim))
          riding.push_back(dim);
  auto variablesOf = [&](const ast::Dims &dims) {
    std::vector<std::pair<StringRef, Dim>> pairs;
    for (const ast::Dim &dim : dims.dims) {
      llvm::SmallVector<StringRef, 2> variables;
      if (dim.ellipsis)
        variables.push_back("...");
      for (const ast::DimPart &part : dim.parts)
        variables.push_back(part.name.text);
      for (StringRef variable : variables) {
        const DimGroup *group = findDim(scope, variable);
        if (!group)
          continue;
        for (const Dim &part : group->parts)
          pairs.push_back({variable, part});
      }
    }
    return pairs;
  };
  bool ok = true;
  for (const ast::Out &out : signature.outs) {
    llvm::SmallVector<uint32_t, 6> indices;
    TensorType type;
    for (const Dim &dim : riding) {
      indices.push_back(factor("", dim));
      type.dims.push_back(dim);
    }
    for (const ast::Dim &dim : out.dims.dims)
      for (const ast::DimPart &part : dim.parts)
        if (!findDim(scope, part.name.text)) {
          reportUnknownDim(part.name, scope);
          ok = false;
        }
    for (auto &[variable, dim] : variablesOf(out.dims)) {
      if (type.has(dim.name)) {
        auto builder = diags_.report(expr->range, diag::DuplicateDim{.dim = program_.text(dim.name)});
        builder.note("`" + out.name.text.str() + sourceText(out.dims.range) + "` of " + name.str() +
                     " would have it twice");
        withInstances(builder, context.scope->frame);
        return failed;
      }
      indices.push_back(factor(variable, dim));
      type.dims.push_back(dim);
    }
    fields.resultFactors.push_back(indices);
    fields.resultElements.push_back(out.dtype.empty() ? elementFor(context)
                                                      : elementOf(out.dtype).value_or(ElementType::F32));
    type.element = fields.resultElements.back();
    if (!out.name.empty())
      frame->outputTypes[out.name.text] = type;
  }
  if (!ok)
    return failed;
  llvm::SmallVector<Tensor, 4> operands;
  std::vector<std::string> operandNames;
  for (size_t slot = 0; slot < signature.tensors.size(); ++slot) {
    auto *tensor = std::get_if<Tensor>(&scope->values[signature.tensors[slot].name.text]);
    if (!tensor)
      continue; // `none`
    operands.push_back(*tensor);
    operandNames.push_back(signature.tensors[slot].name.text.str());
    llvm::SmallVector<uint32_t, 6> indices;
    for (auto &[variable, dim] : matches[slot])
      indices.push_back(factor(variable, dim));
    fields.operandFactors.push_back(std::move(indices));
  }

  // Kinds. Undeclared: map if in every output, else whole.
  for (size_t i = 0; i < fields.factors.size(); ++i) {
    bool everywhere = llvm::all_of(fields.resultFactors, [&](auto &list) { return llvm::is_contained(list, i); });
    fields.factors[i].kind = everywhere ? FactorKind::Map : FactorKind::Whole;
  }
  for (const ast::KindOf &kind : op->kinds) {
    auto parsed = factorKindFrom(kind.kind.text);
    for (const ast::Name &dim : kind.dims) {
      const DimGroup *group = findDim(scope, dim.text);
      if (!group) {
        reportUnknownDim(dim, scope);
        return failed;
      }
      for (const Dim &part : group->parts) {
        auto it = factorOf.find({dim.text.str(), part.name});
        if (it == factorOf.end())
          continue;
        Factor &one = fields.factors[it->second];
        one.kind = *parsed;
        for (const ast::Expr *arg : kind.args) {
          auto *path = llvm::dyn_cast<ast::PathExpr>(arg);
          if (*parsed == FactorKind::Stream && path) {
            one.args.push_back(path->parts[0].text.str());
            continue;
          }
          if (*parsed == FactorKind::Carry && path) {
            if (const DimGroup *slots = findDim(scope, path->parts[0].text))
              for (auto &[key, index] : factorOf)
                if (key.first == path->parts[0].text && !slots->parts.empty())
                  one.along = index;
            continue;
          }
          EvalResult value = eval(arg, inside);
          DimExpr size = value.isStatic() ? value.value.asSize(program_.context->dims) : DimExpr();
          if (size)
            one.args.push_back(size);
        }
        if (!kind.along.empty())
          for (auto &[key, index] : factorOf)
            if (key.first == kind.along.text)
              one.along = index;
      }
    }
  }

  // Costs; dims that ride along multiply them.
  DimExpr times = program_.context->dims.constant(1);
  for (const Dim &dim : riding)
    times = times * dim.size;
  auto cost = [&](const ast::Expr *formula) -> DimExpr {
    if (!formula)
      return {};
    inCost_ = true;
    EvalResult value = eval(formula, inside);
    inCost_ = false;
    if (value.isStatic() && value.value.isUnknown())
      return {};
    DimExpr size = value.isStatic() ? value.value.asSize(program_.context->dims) : DimExpr();
    if (!size) {
      if (!value.isFailed())
        diags_.report(formula->range,
                      diag::NotUsableHere{.expression = sourceText(formula->range),
                                          .actual = value.isStatic() ? value.value.kindName() : "a tensor",
                                          .expected = "a whole number of FLOPs or bytes"});
      return {};
    }
    size = size * times;
    auto exact = size.rational();
    if (exact && exact->numerator < 0) {
      auto builder = diags_.report(
          formula->range,
          diag::OptionOutOfRange{.key = sourceText(formula->range),
                                 .value = size.str() + (size.isConstant() ? "" : " = " + toString(exact->numerator)),
                                 .least = 0});
      withInstances(builder, frame);
      return program_.context->dims.constant(0);
    }
    return exact && !exact->isInteger() ? program_.context->dims.apply(DimFn::Ceil, {size}) : size;
  };
  DimExpr zero = program_.context->dims.constant(0);
  fields.flops = op->flops ? cost(op->flops) : zero;
  fields.other = op->other ? cost(op->other) : zero;
  fields.bytes = cost(op->bytes);
  if (!fields.flops)
    fields.flops = zero;
  if (!fields.other)
    fields.other = zero;
  for (const ast::StaticParam &param : signature.statics) {
    StringRef known = param.name.text;
    StaticArg arg;
    if (auto dim = scope->dims.find(known); dim != scope->dims.end()) {
      arg = dim->second.size(program_.context->dims);
    } else {
      auto it = scope->values.find(known);
      auto *value = it == scope->values.end() ? nullptr : std::get_if<StaticValue>(&it->second);
      if (!value)
        continue;
      if (auto *size = value->getIf<DimExpr>())
        arg = *size;
      else if (auto *number = value->getIf<double>())
        arg = *number;
      else if (auto *flag = value->getIf<bool>())
        arg = *flag;
      else if (auto *text = value->getIf<std::string>())
        arg = *text;
      else if (auto *mask = value->getIf<MaskValue>())
        arg = *mask;
      else
        continue;
    }
    fields.statics.push_back({program_.context->name(known), std::move(arg)});
  }
  OpBlock block{*op, *frame, *scope, variables, operands, operandNames};
  callStack_.push_back(op);
  if (op->hasDefine && !abstract_)
    fields.define = elaborateDefine(block, fields);
  callStack_.pop_back();
  // Not on the call stack: the gradient of a rotation is a rotation.
  if (op->gradKind == ast::OpItem::Grad::Block && !abstract_ && settings_.mode == Mode::Train && !inGrad_)
    elaborateGrad(block, fields);

  // Results are named by the targets; below the statement's own expression by the op.
  std::vector<std::string> names;
  Context named = context;
  for (size_t i = 0; i < signature.outs.size(); ++i) {
    std::string out = signature.outs[i].name.empty() ? "out" : signature.outs[i].name.text.str();
    if (context.inner || context.name.empty()) {
      named.inner = false;
      named.name = name.str() + (signature.outs.size() > 1 ? "." + out : "");
    } else if (i < context.names.size()) {
      named.name = context.names[i];
    } else if (signature.outs.size() > 1) {
      named.name = context.name + "." + out;
    }
    names.push_back(valueName(named));
  }
  EvalResult result;
  result.kind = EvalResult::Kind::Tensors;
  for (Tensor &tensor : emit(OpKind::Call, operands, std::move(fields), context, expr->range, names))
    result.tensors.push_back(std::move(tensor));
  return result;
}
