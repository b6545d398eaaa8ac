//===- ShapeText.cpp - broken shape rules in words ---------------------------===//
#include "stg/Shape/ShapeRules.h"

namespace stg {

llvm::StringRef spelling(ShapeFault fault) {
  switch (fault) {
  case ShapeFault::OperandCount:
    return "operand-count";
  case ShapeFault::UnknownReducedDim:
    return "unknown-reduced-dim";
  case ShapeFault::NotContained:
    return "not-contained";
  case ShapeFault::SizesDiffer:
    return "sizes-differ";
  case ShapeFault::DuplicateDim:
    return "duplicate-dim";
  case ShapeFault::MissingDim:
    return "missing-dim";
  case ShapeFault::ExtraDim:
    return "extra-dim";
  case ShapeFault::ViewSizes:
    return "view-sizes";
  case ShapeFault::IndexNotInteger:
    return "index-not-integer";
  case ShapeFault::OutOfRange:
    return "out-of-range";
  case ShapeFault::FieldsMismatch:
    return "fields-mismatch";
  }
  return "";
}

std::string describe(const ShapeError &error, const IRContext &context) {
  std::string dims;
  for (NameId dim : error.dims)
    dims += (dims.empty() ? "" : ", ") + context.text(dim).str();
  auto operand = [&](size_t i) {
    return i < error.operands.size() ? "operand " + std::to_string(error.operands[i]) : std::string("the op");
  };
  switch (error.fault) {
  case ShapeFault::OperandCount:
    return "has " + error.a.str() + " operands, which is not what it takes";
  case ShapeFault::UnknownReducedDim:
    return "reduces " + dims + ", which no operand has";
  case ShapeFault::NotContained:
    return operand(0) + " and " + operand(1) + " have [" + dims + "] together, and neither has all of it";
  case ShapeFault::SizesDiffer:
    return dims + " is " + error.a.str() + (error.operands.empty() ? "" : " in " + operand(0)) + " but " +
           error.b.str() + " in " + operand(1);
  case ShapeFault::DuplicateDim:
    return dims + " would stand twice in " + (error.operands.empty() ? std::string("one list") : operand(0));
  case ShapeFault::MissingDim:
    return operand(0) + " has no dim " + dims;
  case ShapeFault::ExtraDim:
    return operand(0) + " has the dim " + dims + ", which has no place";
  case ShapeFault::ViewSizes:
    return dims + " has " + error.a.str() + " positions, the new dims have " + error.b.str();
  case ShapeFault::IndexNotInteger:
    return operand(0) + " is an index and no integer";
  case ShapeFault::OutOfRange:
    return "positions of " + dims + " up to " + error.a.str() + " leave its size " + error.b.str();
  case ShapeFault::FieldsMismatch:
    return "its fields are not those of its kind";
  }
  return "";
}

} // namespace stg
