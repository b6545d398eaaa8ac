//===- Types.cpp - spellings of element types ------------------------------===//
#include "stg/IR/Types.h"

namespace stg {

namespace {
struct ElementInfo {
  ElementType type;
  llvm::StringLiteral spelling;
  unsigned bits;
};
constexpr ElementInfo kElements[] = {
    {ElementType::F32, "f32", 32},      {ElementType::BF16, "bf16", 16},    {ElementType::F16, "f16", 16},
    {ElementType::F8E4M3, "f8e4m3", 8}, {ElementType::F8E5M2, "f8e5m2", 8}, {ElementType::F4E2M1, "f4e2m1", 4},
    {ElementType::I64, "i64", 64},      {ElementType::I32, "i32", 32},      {ElementType::I8, "i8", 8},
    {ElementType::U8, "u8", 8},         {ElementType::Bool, "bool", 8},
};
static_assert(std::size(kElements) == static_cast<size_t>(ElementType::Bool) + 1);
} // namespace

llvm::StringRef spelling(ElementType type) { return kElements[static_cast<size_t>(type)].spelling; }
unsigned bitWidth(ElementType type) { return kElements[static_cast<size_t>(type)].bits; }

std::optional<ElementType> elementTypeFrom(llvm::StringRef text) {
  for (const ElementInfo &info : kElements)
    if (info.spelling == text)
      return info.type;
  return std::nullopt;
}

} // namespace stg
