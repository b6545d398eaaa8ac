//===- BindDims.cpp - tensors to the dims of a signature ---------------------------===//
// Uppercase dims of a parameter match by name, wherever they stand; what remains is matched in order: lowercase
// variables take one dimension each (a factored one counts as one), `...` what is left over. Parameters without
// composite dims are bound first, because `(g, r)` against an unfactored dim asks what g is.
//===----------------------------------------------------------------------===//
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace stg;
using llvm::StringRef;

bool Elaborator::bindVariable(StringRef name, const DimGroup &group, Scope &inner) {
  auto [it, inserted] = inner.dims.insert({name, group});
  if (inserted)
    return true;
  const DimGroup &known = it->second;
  return known.parts.size() == group.parts.size() && llvm::all_of(llvm::zip(known.parts, group.parts), [](auto pair) {
           auto &[a, b] = pair;
           return a.name == b.name && sameSize(a.size, b.size) != false;
         });
}

/// A type with symbols for sizes, dims being bound in `inner` as far as they are not yet.
TensorType Elaborator::unknownType(const ast::Dims &dims, const ast::Name &dtype, Scope &inner) {
  bindUnknownDims(dims, inner);
  TensorType type;
  type.element = dtype.empty() ? ElementType::BF16 : elementOf(dtype).value_or(ElementType::BF16);
  for (const ast::Dim &dim : dims.dims) {
    if (dim.ellipsis) {
      for (const Dim &part : inner.dims["..."].parts)
        if (!type.has(part.name))
          type.dims.push_back(part);
      continue;
    }
    for (const ast::DimPart &part : dim.parts)
      for (const Dim &one : inner.dims[part.name.text].parts)
        if (!type.has(one.name))
          type.dims.push_back(one);
  }
  return type;
}

void Elaborator::bindUnknownDims(const ast::Dims &dims, Scope &inner) {
  auto bind = [&](StringRef name) {
    if (inner.dims.count(name))
      return;
    NameId id = program_.context->name(name);
    inner.dims[name] = {id, {{id, program_.context->dims.symbol(name, std::nullopt)}}};
    inner.frame->guessedDims.insert(name);
  };
  for (const ast::Dim &dim : dims.dims) {
    if (dim.ellipsis)
      bind("...");
    for (const ast::DimPart &part : dim.parts)
      bind(part.name.text);
  }
}

Tensor Elaborator::declaredOut(const ast::Out &out, Scope &callee, Context &context) {
  if (!abstract_)
    return Tensor::makeUnknown();
  TensorType type;
  type.element = out.dtype.empty() ? elementFor(context) : elementOf(out.dtype).value_or(ElementType::BF16);
  for (const ast::Dim &dim : out.dims.dims) {
    llvm::SmallVector<const DimGroup *, 2> groups;
    if (dim.ellipsis)
      groups.push_back(findDim(&callee, "..."));
    for (const ast::DimPart &part : dim.parts)
      groups.push_back(findDim(&callee, part.name.text));
    bool guessed = dim.ellipsis && callee.frame->guessedDims.contains("...");
    for (const ast::DimPart &part : dim.parts)
      guessed |= callee.frame->guessedDims.contains(part.name.text);
    for (const DimGroup *group : groups) {
      if (!group || guessed)
        return Tensor::makeUnknown();
      for (const Dim &part : group->parts)
        if (!type.has(part.name))
          type.dims.push_back(part);
    }
  }
  Op op;
  op.kind = OpKind::Input;
  op.fields = SlotFields{0};
  return units_.add(std::move(op), type, std::string("declared"))[0];
}

bool Elaborator::bindDims(const ast::TensorParam &param, const Tensor &tensor, Scope &inner, Context &outer,
                          StringRef callee, const ast::Arg *arg, Frame &frame,
                          std::vector<std::pair<std::string, Dim>> *matched) {
  llvm::SmallVector<DimGroup, 6> groups = grouped(tensor.type, outer.scope);
  auto wrongTensor = [&](const std::string &why) {
    // The dims that are not what they should be, by position.
    std::string expected = param.name.text.str() + sourceText(param.dims.range);
    SourceRange where = arg ? arg->value->range : frame.call;
    std::string given = sourceText(where);
    auto builder = diags_.report(where, diag::WrongTensor{.layer = callee,
                                                          .expected = expected,
                                                          .given = given,
                                                          .actual = describe(tensor.type, outer.scope)});
    builder.note("dimensions match by name, not position: " + why);
    std::vector<std::string> renames;
    size_t given_ = 0;
    for (const ast::Dim &dim : param.dims.dims) {
      if (dim.ellipsis || dim.composite || given_ >= groups.size())
        break;
      StringRef actual = program_.text(groups[given_].name);
      if (llvm::isUpper(dim.parts[0].name.text.front()) && actual != dim.parts[0].name.text)
        renames.push_back((actual + " as " + dim.parts[0].name.text).str());
      ++given_;
    }
    bool hasEllipsis = llvm::any_of(param.dims.dims, [](const ast::Dim &dim) { return dim.ellipsis; });
    if (!renames.empty() && groups.size() == param.dims.dims.size())
      builder.help(given + "[" + llvm::join(renames, ", ") + "]" +
                   (hasEllipsis ? "" : ", or give " + callee.str() + " a signature with `...`"));
    withInstances(builder, outer.scope->frame);
    return false;
  };
  auto clash = [&](StringRef variable, const DimGroup &group) {
    const DimGroup &known = inner.dims[variable];
    DimContext &dims = program_.context->dims;
    if (known.name != group.name)
      return wrongTensor(program_.text(group.name).str() + " is not " + program_.text(known.name).str());
    auto shown = [&](const DimGroup &g) {
      DimExpr size = g.size(dims);
      auto value = size.size();
      return value ? std::to_string(*value) : size.str();
    };
    SourceRange where = arg ? arg->value->range : frame.call;
    auto builder = diags_.report(where, diag::OneNameTwoSizes{.dim = program_.text(group.name),
                                                              .leftSize = shown(known),
                                                              .left = callee,
                                                              .rightSize = shown(group),
                                                              .right = sourceText(where)});
    builder.note("one name is one dimension. If these differ on purpose, rename one");
    withInstances(builder, outer.scope->frame);
    return false;
  };
  // (variable, dim) pairs to report to `matched`, keyed by dim name.
  std::map<NameId, std::string> variableOf;
  auto bind = [&](StringRef variable, const DimGroup &group) {
    for (const Dim &part : group.parts)
      variableOf[part.name] = variable.str();
    return bindVariable(variable, group, inner) || clash(variable, group);
  };

  std::vector<DimGroup> rest(groups.begin(), groups.end());
  llvm::SmallVector<const ast::Dim *, 6> positional;
  bool hasEllipsis = false;
  for (const ast::Dim &dim : param.dims.dims) {
    hasEllipsis |= dim.ellipsis;
    if (dim.ellipsis || dim.composite || !llvm::isUpper(dim.parts[0].name.text.front())) {
      positional.push_back(&dim);
      continue;
    }
    StringRef name = dim.parts[0].name.text;
    auto found = llvm::find_if(rest, [&](const DimGroup &group) { return program_.text(group.name) == name; });
    if (found == rest.end()) {
      if (dim.parts[0].optional) {
        inner.dims.insert({name, {program_.context->name(name), {}}});
        continue;
      }
      std::string why;
      for (size_t i = 0; i < param.dims.dims.size() && i < groups.size(); ++i) {
        const ast::Dim &wanted = param.dims.dims[i];
        if (wanted.ellipsis || wanted.composite || program_.text(groups[i].name) == wanted.parts[0].name.text ||
            !llvm::isUpper(wanted.parts[0].name.text.front()))
          continue;
        why += (why.empty() ? "" : ", ") + program_.text(groups[i].name).str() + " is not " +
               wanted.parts[0].name.text.str();
      }
      return wrongTensor(why.empty() ? "there is no " + name.str() : why);
    }
    DimGroup group = *found;
    rest.erase(found);
    if (!bind(name, group))
      return false;
  }
  // Inside `each(E)` the new dim rides along, unless the signature asks for it.
  std::vector<DimGroup> riding;
  if (!hasEllipsis)
    for (const DimGroup &each : frame.each) {
      auto found = llvm::find_if(rest, [&](const DimGroup &group) { return group.name == each.name; });
      if (found != rest.end() && rest.size() > positional.size()) {
        riding.push_back(*found);
        rest.erase(found);
      }
    }
  size_t fixed = positional.size() - (hasEllipsis ? 1 : 0);
  size_t optional = llvm::count_if(positional, [](const ast::Dim *dim) {
    return !dim->ellipsis && llvm::all_of(dim->parts, [](const ast::DimPart &part) { return part.optional; });
  });
  // `q[b, s, (g, r), c]` may also get its heads as two dims.
  size_t flat = 0;
  for (const ast::Dim *dim : positional)
    flat += dim->ellipsis ? 0 : dim->parts.size();
  bool flattened = !hasEllipsis && rest.size() != fixed && rest.size() == flat;
  size_t absent = 0;
  if (!flattened && !hasEllipsis && rest.size() < fixed && rest.size() + optional >= fixed)
    absent = fixed - rest.size();
  if (!flattened && (rest.size() + absent < fixed || (!hasEllipsis && rest.size() + absent > fixed))) {
    std::string count = std::to_string(groups.size()) + (groups.size() == 1 ? " dimension is" : " dimensions are");
    return wrongTensor(count + " not " + std::to_string(param.dims.dims.size()));
  }
  size_t next = 0;
  for (size_t i = 0; i < positional.size(); ++i) {
    const ast::Dim &dim = *positional[i];
    if (dim.ellipsis) {
      size_t after = positional.size() - i - 1;
      DimGroup all{program_.context->name("..."), {}};
      while (rest.size() - next > after) {
        all.parts.append(rest[next].parts.begin(), rest[next].parts.end());
        ++next;
      }
      for (const Dim &part : all.parts)
        variableOf[part.name] = "...";
      auto known = inner.dims.find("...");
      if (known != inner.dims.end()) {
        // The same dims, in whatever order.
        bool same = known->second.parts.size() == all.parts.size();
        for (const Dim &part : all.parts)
          same &= llvm::any_of(known->second.parts, [&](const Dim &k) { return k.name == part.name; });
        if (!same)
          return wrongTensor("`...` stands for other dimensions in another tensor of this call");
      } else {
        inner.dims["..."] = all;
      }
      continue;
    }
    if (!dim.composite) {
      if (absent && dim.parts[0].optional) {
        --absent;
        inner.dims.insert({dim.parts[0].name.text, {program_.context->name(dim.parts[0].name.text), {}}});
        continue;
      }
      if (!bind(dim.parts[0].name.text, rest[next++]))
        return false;
      continue;
    }
    if (flattened) {
      for (const ast::DimPart &part : dim.parts)
        if (!bind(part.name.text, rest[next++]))
          return false;
      continue;
    }
    if (absent && llvm::all_of(dim.parts, [](const ast::DimPart &part) { return part.optional; })) {
      --absent;
      for (const ast::DimPart &part : dim.parts)
        inner.dims.insert({part.name.text, {program_.context->name(part.name.text), {}}});
      continue;
    }
    const DimGroup &group = rest[next++];
    bool whole = llvm::any_of(dim.parts, [&](const ast::DimPart &part) {
      auto known = inner.dims.find(part.name.text);
      return known != inner.dims.end() && known->second.name == group.name &&
             known->second.parts.size() == group.parts.size();
    });
    if (group.parts.size() == dim.parts.size() && !whole) {
      for (auto [part, one] : llvm::zip(dim.parts, group.parts))
        if (!bind(part.name.text, {one.name, {one}}))
          return false;
      continue;
    }
    // An unfactored dim: it is the factor that another operand says it is, else the last; the others are absent.
    size_t takes = dim.parts.size() - 1;
    for (size_t k = 0; k < dim.parts.size(); ++k) {
      auto known = inner.dims.find(dim.parts[k].name.text);
      if (known != inner.dims.end() && known->second.name == group.name)
        takes = k;
    }
    for (size_t k = 0; k < dim.parts.size(); ++k) {
      StringRef variable = dim.parts[k].name.text;
      if (k == takes) {
        if (!bind(variable, group))
          return false;
      } else {
        auto known = inner.dims.find(variable);
        if (known != inner.dims.end() && !known->second.parts.empty())
          return wrongTensor("(" + llvm::join(llvm::map_range(dim.parts, [](auto &p) { return p.name.text; }), ", ") +
                             ") is " + program_.text(group.name).str() + " alone here, but " + variable.str() + " is " +
                             program_.text(known->second.name).str());
        inner.dims.insert({variable, {program_.context->name(variable), {}}});
      }
    }
  }
  if (matched)
    for (const Dim &dim : tensor.type.dims) {
      auto variable = variableOf.find(dim.name);
      matched->push_back({variable == variableOf.end() ? "" : variable->second, dim});
    }
  return true;
}

bool Elaborator::bindTensors(const ast::Signature &signature, StringRef callee, llvm::ArrayRef<EvalResult> tensors,
                             llvm::ArrayRef<const ast::Arg *> tensorArgs, Scope &inner, Context &outer,
                             SourceRange call, Frame &frame, Matches *matches) {
  size_t count = signature.tensors.size();
  std::vector<int> given(count, -1);
  size_t next = 0;
  bool ok = true;
  for (size_t i = 0; i < tensorArgs.size(); ++i) {
    size_t slot = next;
    if (!tensorArgs[i]->name.empty()) {
      for (slot = 0; slot < count && signature.tensors[slot].name.text != tensorArgs[i]->name.text; ++slot)
        ;
    } else {
      ++next;
    }
    if (slot >= count) {
      auto builder = diags_.report(tensorArgs[i]->range, diag::TooManyTensors{.callee = callee, .count = count});
      builder.note("tensors stand before the `;`, static arguments after it");
      withInstances(builder, outer.scope->frame);
      return false;
    }
    given[slot] = static_cast<int>(i);
  }
  for (size_t slot = 0; slot < count; ++slot)
    if (given[slot] < 0 && !signature.tensors[slot].optional) {
      auto builder =
          diags_.report(call, diag::MissingTensor{.callee = callee,
                                                  .parameter = signature.tensors[slot].name.text.str() +
                                                               sourceText(signature.tensors[slot].dims.range)});
      withInstances(builder, outer.scope->frame);
      ok = false;
    }
  if (!ok)
    return false;
  if (matches)
    matches->resize(count);
  // Unknown tensors come last: what the others say of a dim holds for them.
  enum : int { kPlain, kComposite, kUnknown, kPhases };
  for (int phase = kPlain; phase < kPhases; ++phase)
    for (size_t slot = 0; slot < count; ++slot) {
      const ast::TensorParam &param = signature.tensors[slot];
      const EvalResult *value = given[slot] < 0 ? nullptr : &tensors[static_cast<size_t>(given[slot])];
      bool composite = llvm::any_of(param.dims.dims, [](const ast::Dim &dim) { return dim.composite; });
      bool unknown = value && value->isTensors() && value->tensors[0].unknown;
      if (phase != (unknown ? kUnknown : composite ? kComposite : kPlain))
        continue;
      const ast::Arg *arg = given[slot] < 0 ? nullptr : tensorArgs[static_cast<size_t>(given[slot])];
      if (!value || value->isStatic()) {
        if (!param.optional) {
          diags_
              .report(arg->range,
                      diag::MissingTensor{.callee = callee,
                                          .parameter = param.name.text.str() + sourceText(param.dims.range)})
              .note("`none` stands for an optional tensor only");
          ok = false;
        }
        inner.values[param.name.text] = StaticValue{NoneStatic()};
        continue;
      }
      const Tensor &tensor = value->tensors[0];
      inner.values[param.name.text] = tensor;
      if (tensor.unknown) {
        bindUnknownDims(param.dims, inner);
        if (abstract_ && !param.optional) { // its dims are what the signature says
          Op op;
          op.kind = OpKind::Input;
          op.fields = SlotFields{0};
          inner.values[param.name.text] =
              units_.add(std::move(op), unknownType(param.dims, param.dtype, inner), std::string("declared"))[0];
        }
        continue;
      }
      ok &= bindDims(param, tensor, inner, outer, callee, arg, frame, matches ? &(*matches)[slot] : nullptr);
    }
  return ok;
}
