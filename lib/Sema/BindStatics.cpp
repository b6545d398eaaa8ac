//===- BindStatics.cpp - static arguments to the parameters of a signature ---------===//
// Named arguments first, bare ones by their own name, then the `: dim` parameters in order; what `--set` or `set` says
// wins over the call, the call over the default.
//===----------------------------------------------------------------------===//
#include "Elaborator.h"
#include "stg/Support/ClosestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace stg;
using llvm::StringRef;

static bool isDimParam(const ast::StaticParam &param) {
  return param.type.text == "dim" || llvm::isUpper(param.name.text.front());
}

bool Elaborator::bindStatic(const ast::StaticParam &param, const StaticValue &value, Scope &scope, SourceRange where) {
  StringRef name = param.name.text;
  auto wrong = [&](StringRef expected) {
    auto builder =
        diags_.report(where, diag::WrongArgument{.parameter = name, .expected = expected, .actual = value.kindName()});
    withInstances(builder, scope.frame);
    return false;
  };
  if (value.isUnknown()) {
    if (isDimParam(param))
      scope.dims[name] = {program_.context->name(name),
                          {{program_.context->name(name), program_.context->dims.symbol(name, std::nullopt)}}};
    else
      scope.values[name] = value;
    return true;
  }
  if (llvm::isUpper(name.front())) {
    DimExpr size = value.asSize(program_.context->dims);
    if (!size)
      return wrong("a size");
    auto number = size.rational();
    if (number && (!number->isInteger() || number->numerator < 1 || !size.size())) {
      diags_.report(where, diag::SizeOutOfRange{.what = name,
                                                .value = size.str() + (size.isConstant() || !size.integer()
                                                                           ? ""
                                                                           : " = " + toString(*size.integer()))});
      return false;
    }
    NameId id = program_.context->name(name);
    // A size parameter of the model is a symbol of its own, so that formulas speak of D, not of 4096.
    if (scope.frame == modelFrame_ && number) {
      if (name == "B" && settings_.microBatching) {
        size = microBatchOf(size);
        if (!size)
          return false;
      }
      size = program_.context->dims.symbol(name, *size.size());
      program_.sizes.push_back({id, size});
    }
    scope.dims[name] = {id, {{id, size}}};
    return true;
  }
  if (param.type.text == "dim") {
    auto *group = value.getIf<DimGroup>();
    if (!group)
      return wrong("a dimension");
    scope.dims[name] = *group;
    return true;
  }
  StringRef type = param.type.text;
  // A default shows what is meant where no type is written.
  if (type.empty() && param.value) {
    if (param.value->kind == ast::ExprKind::Bool)
      type = "bool";
    else if (param.value->kind == ast::ExprKind::Float)
      type = "float";
    else if (param.value->kind == ast::ExprKind::Int)
      type = "int";
  }
  bool fits = type.empty() || (type == "int" && value.asSize(program_.context->dims)) ||
              (type == "float" && (value.getIf<double>() || value.asSize(program_.context->dims))) ||
              (type == "bool" && value.getIf<bool>()) || (type == "string" && value.getIf<std::string>()) ||
              (type == "dtype" && value.getIf<ElementType>()) || (type == "mask" && value.getIf<MaskValue>()) ||
              (type == "layer" && (value.getIf<LayerPtr>() || value.isNone())) ||
              (type == "list" && value.getIf<ListPtr>());
  static constexpr StringRef kTypes[] = {"dim", "int", "float", "bool", "string", "dtype", "mask", "layer", "list"};
  if (!llvm::is_contained(kTypes, type) && !type.empty()) {
    auto builder = diags_.report(param.type.range, diag::UnknownStaticType{.name = type});
    builder.note("static types: " + llvm::join(llvm::ArrayRef(kTypes), " "));
    return false;
  }
  if (!fits)
    return wrong(type == "layer" ? "a layer" : type == "dtype" ? "an element type" : ("a " + type).str());
  scope.values[name] = value;
  return true;
}

bool Elaborator::bindStatics(StringRef callee, llvm::ArrayRef<ast::StaticParam> statics,
                             llvm::ArrayRef<StaticArgument> arguments, Scope &scope, SourceRange call) {
  std::vector<const StaticArgument *> given(statics.size(), nullptr);
  bool ok = true;
  std::vector<StringRef> names;
  for (const ast::StaticParam &param : statics)
    names.push_back(param.name.text);
  auto place = [&](size_t i, const StaticArgument &argument) {
    if (given[i]) {
      diags_.report(argument.range, diag::ArgumentTwice{.callee = callee, .parameter = names[i]});
      ok = false;
    }
    given[i] = &argument;
  };
  std::vector<const StaticArgument *> bare;
  for (const StaticArgument &argument : arguments) {
    StringRef name = !argument.name.empty() ? argument.name : argument.bareName;
    auto found = name.empty() ? names.end() : llvm::find(names, name);
    if (found != names.end()) {
      place(static_cast<size_t>(found - names.begin()), argument);
    } else if (argument.name.empty()) {
      bare.push_back(&argument);
    } else {
      auto builder = diags_.report(argument.range, diag::UnknownParameter{.callee = callee, .parameter = name});
      builder.note("parameters: " + llvm::join(names, " "));
      if (auto close = closestName(name, names)) {
        SourceRange written{argument.range.file, argument.range.begin,
                            argument.range.begin + static_cast<uint32_t>(name.size())};
        builder.help("did you mean `" + close->str() + "`?");
        if (sources_.text(written) == name)
          builder.fixit(written, close->str());
      }
      withInstances(builder, scope.frame);
      ok = false;
    }
  }
  // Remaining bare ones fill the `: dim` parameters in order.
  for (const StaticArgument *argument : bare) {
    size_t i = 0;
    while (i < statics.size() && (given[i] || statics[i].type.text != "dim"))
      ++i;
    if (i < statics.size()) {
      place(i, *argument);
      continue;
    }
    std::string text = argument->range.valid() ? sourceText(argument->range) : argument->bareName.str();
    auto builder = diags_.report(argument->range, diag::ArgumentFitsNothing{.callee = callee, .argument = text});
    builder.note("a bare argument fills the parameter of its own name, then the `: dim` parameters in order");
    for (size_t k = 0; k < statics.size(); ++k)
      if (!given[k] && argument->value.getIf<LayerPtr>() && !isDimParam(statics[k]) && statics[k].value &&
          statics[k].value->kind == ast::ExprKind::Path) {
        builder.help("say which: " + names[k].str() + " = " + text)
            .fixit(argument->range, names[k].str() + " = " + text);
        break;
      }
    builder.note("parameters: " + llvm::join(names, " "));
    withInstances(builder, scope.frame);
    ok = false;
  }
  // In order, so that a default may use the parameters before it; a dim bound by a tensor needs no value.
  for (size_t i = 0; i < statics.size(); ++i) {
    const ast::StaticParam &param = statics[i];
    const Override *override_ = nullptr;
    std::string instance = instancePath(scope.frame);
    // Parameters of the model and of instances in it; plans have settings of their own.
    bool overridable = !abstract_ && (scope.frame == modelFrame_ || scope.frame->caller);
    for (size_t k = 0; k < settings_.overrides.size() && overridable; ++k) {
      const Override &candidate = settings_.overrides[k];
      if (scope.frame->caller && anyIteration(candidate.pattern).names(instance))
        overrideParameters_[k].insert(names[i]);
      if (candidate.parameter != names[i] || !scope.frame->caller == !candidate.pattern.parts.empty())
        continue;
      if (candidate.pattern.parts.empty() || candidate.pattern.names(instance)) {
        overrideUsed_[k] = true;
        // The last one wins, the command line over the file.
        if (!override_ || candidate.fromCommandLine || !override_->fromCommandLine)
          override_ = &candidate;
        if (candidate.pattern.hasIndex() && iteration_)
          reusable_ = false;
      }
    }
    StaticValue value;
    SourceRange where = given[i] ? given[i]->range : param.range;
    if (override_) {
      Context context;
      context.scope = modelFrame_ ? newScope(nullptr, modelFrame_) : &scope;
      EvalResult result = eval(override_->value, context);
      if (!result.isStatic()) {
        ok = false;
        continue;
      }
      value = result.value;
      where = override_->where;
      scope.frame->overridden.push_back((names[i] + " was set by " + override_->text).str());
    } else if (given[i]) {
      value = given[i]->value;
    } else if (llvm::isUpper(names[i].front()) && scope.dims.count(names[i])) {
      continue;
    } else if (!param.value) {
      if (isDimParam(param) && llvm::isUpper(names[i].front()))
        continue; // reported where it is needed (E201), with its place
      auto builder = diags_.report(call, diag::MissingArgument{.callee = callee, .parameter = names[i]});
      builder.note("parameters: " + llvm::join(names, " "));
      withInstances(builder, scope.frame->caller);
      ok = false;
      continue;
    } else if (llvm::isUpper(names[i].front()) && scope.frame->caller) {
      // When first used: `factor H = (KV, R)` is to speak before the default `Dh = D / H` does.
      defaults_.push_back({param.name, param.value, {}, param.range});
      scope.values[names[i]] = LazyLet{&defaults_.back()};
      continue;
    } else {
      Context context;
      context.scope = &scope;
      EvalResult result = eval(param.value, context);
      if (!result.isStatic()) {
        ok = false;
        continue;
      }
      value = result.value;
    }
    ok &= bindStatic(param, value, scope, where);
  }
  return ok;
}
