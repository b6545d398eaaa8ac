//===- Values.cpp ---------------------------------------------------------------===//
#include "stg/Sema/Values.h"
#include "llvm/ADT/STLExtras.h"

using namespace stg;
using llvm::StringRef;

static const BuiltinInfo kBuiltins[] = {
#define BUILTIN(name, spelling, signature, meaning) {spelling, signature, meaning},
#include "stg/Sema/Builtins.def"
};

const BuiltinInfo &stg::info(Builtin builtin) { return kBuiltins[static_cast<size_t>(builtin)]; }

std::optional<Builtin> stg::builtinFrom(StringRef text) {
  for (size_t i = 0; i < std::size(kBuiltins); ++i)
    if (kBuiltins[i].spelling == text)
      return static_cast<Builtin>(i);
  return std::nullopt;
}

DimExpr StaticValue::asSize(DimContext &dims) const {
  if (auto *size = getIf<DimExpr>())
    return *size;
  if (auto *group = getIf<DimGroup>())
    return group->size(dims);
  return {};
}

std::optional<double> StaticValue::asNumber(DimContext &dims) const {
  if (auto *number = getIf<double>())
    return *number;
  if (DimExpr size = asSize(dims))
    if (auto rational = size.rational())
      return rational->toDouble();
  return std::nullopt;
}

std::string LayerValue::name() const {
  if (item)
    return item.item->name.text.str();
  return (fn ? spelling(*fn) : info(*builtin).spelling).str();
}

static bool sameLayer(const LayerValue &a, const LayerValue &b) {
  return a.item.item == b.item.item && a.fn == b.fn && a.builtin == b.builtin && a.shared == b.shared &&
         llvm::equal(a.arguments, b.arguments, [](const StaticArgument &x, const StaticArgument &y) {
           return x.name == y.name && x.bareName == y.bareName && x.value.sameAs(y.value);
         });
}

bool StaticValue::sameAs(const StaticValue &other) const {
  if (value.index() != other.value.index())
    return false;
  if (auto *size = getIf<DimExpr>())
    return sameSize(*size, *other.getIf<DimExpr>()).value_or(false);
  if (auto *layer = getIf<LayerPtr>())
    return sameLayer(**layer, **other.getIf<LayerPtr>());
  if (auto *list = getIf<ListPtr>())
    return llvm::equal(**list, **other.getIf<ListPtr>(),
                       [](const StaticValue &x, const StaticValue &y) { return x.sameAs(y); });
  return value == other.value;
}

std::string StaticValue::kindName() const {
  static constexpr const char *kNames[] = {"`none`",      "unknown",  "true or false",   "a whole number",
                                           "a number",    "a string", "an element type", "a mask",
                                           "a dimension", "a layer",  "a list"};
  return kNames[value.index()];
}
