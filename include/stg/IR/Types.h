//===- Types.h - element types, dims, tensor types -------------------------===//
#ifndef STG_IR_TYPES_H
#define STG_IR_TYPES_H

#include "stg/IR/DimExpr.h"
#include "stg/Support/Interner.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>

namespace stg {

/// An interned name (dim, value, path): equal ids are equal texts.
using NameId = Symbol;

enum class ElementType : uint8_t { F32, BF16, F16, F8E4M3, F8E5M2, F4E2M1, I64, I32, I8, U8, Bool };
llvm::StringRef spelling(ElementType type);
std::optional<ElementType> elementTypeFrom(llvm::StringRef text);
/// Bits of one element: f4e2m1 has 4, bool 8.
unsigned bitWidth(ElementType type);
inline bool isFloat(ElementType type) { return type <= ElementType::F4E2M1; }

/// A named dimension of a tensor. Composite dims never occur here: `H` with `factor H = (KV, R)` is KV, R.
struct Dim {
  NameId name;
  DimExpr size;
  bool operator==(const Dim &) const = default;
};

/// `bf16[B, S, D]`, the global shape. Order is storage order, major first; identity of dims is by name.
struct TensorType {
  ElementType element = ElementType::F32;
  llvm::SmallVector<Dim, 6> dims;

  bool operator==(const TensorType &) const = default;
  const Dim *find(NameId name) const {
    for (const Dim &dim : dims)
      if (dim.name == name)
        return &dim;
    return nullptr;
  }
  bool has(NameId name) const { return find(name) != nullptr; }
};

} // namespace stg

#endif
