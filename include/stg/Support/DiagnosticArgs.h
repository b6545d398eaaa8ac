//===- DiagnosticArgs.h - what stands in for {argument} in a message ------===//
#ifndef STG_SUPPORT_DIAGNOSTICARGS_H
#define STG_SUPPORT_DIAGNOSTICARGS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <concepts>
#include <string>

namespace stg::diagarg {

/// Rendered text of one kind of thing. Without a default, so that a message with a forgotten argument does not compile.
/// Support knows nothing of the language: rooms that do (Syntax, IR) have functions that render one from a node or an
/// id, so that the look of dims, types and axes is decided once.
template <class Kind> class Rendered {
public:
  Rendered(std::string text) : text_(std::move(text)) {}
  Rendered(llvm::StringRef text) : text_(text.str()) {}
  Rendered(const char *text) : text_(text) {}

  const std::string &text() const { return text_; }

private:
  std::string text_;
};

/// A number, shown in plain decimal digits.
class Count {
public:
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Count(T value) : text_(std::to_string(value)) {}

  const std::string &text() const { return text_; }

private:
  std::string text_;
};

/// The size of a dimension: a number, or a formula such as `4 * D`.
class Size : public Rendered<struct SizeKind> {
public:
  using Rendered::Rendered;
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Size(T value) : Rendered(std::to_string(value)) {}
};

/// The name of a layer, op, unit, module, parameter …, bare.
using Name = Rendered<struct NameKind>;
/// A dimension or a list of them: `D`, `H, Dh`.
using DimRef = Rendered<struct DimKind>;
/// A mesh axis or a list of them: `tp`, `dp, cp`.
using AxisRef = Rendered<struct AxisKind>;
/// A tensor as the user wrote it: `x`, or with its dims: `h[B, S, F]`.
using TensorRef = Rendered<struct TensorKind>;
/// A tensor's type without its name: `[B, S, D]`.
using TypeRef = Rendered<struct TypeKind>;
/// A file, or an instance path: `blocks[*].attn`.
using Path = Rendered<struct PathKind>;
/// Anything else: source text, or a piece of the sentence that depends on the case.
using Text = Rendered<struct TextKind>;

} // namespace stg::diagarg

#endif
