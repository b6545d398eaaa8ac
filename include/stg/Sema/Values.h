//===- Values.h - what an expression is during elaboration -----------------===//
// An expression of the language is a *static* value, decided by the compiler (a size, a number, a mask, a layer that
// can be called), or one or more *tensors*, values of the IR. Scopes map names to both.
//===----------------------------------------------------------------------===//
#ifndef STG_SEMA_VALUES_H
#define STG_SEMA_VALUES_H

#include "stg/IR/Program.h"
#include "stg/Sema/Modules.h"
#include "llvm/ADT/MapVector.h"
#include <map>
#include <memory>
#include <variant>

namespace stg {

/// A dimension of the language: one dim of the IR, or the parts of a factored one (`H` = KV, R), major first.
struct DimGroup {
  NameId name;
  llvm::SmallVector<Dim, 2> parts; ///< none: absent, size 1
  DimExpr size(DimContext &dims) const;
  bool operator==(const DimGroup &) const = default;
};

struct LayerValue;
struct StaticValue;

/// A static of a kind that the declaration leaves open (checking without a caller). Everything made from it is unknown
/// as well and causes no message.
struct UnknownStatic {
  bool operator==(const UnknownStatic &) const = default;
};
struct NoneStatic {
  bool operator==(const NoneStatic &) const = default;
};
using LayerPtr = std::shared_ptr<const LayerValue>;
using ListPtr = std::shared_ptr<const std::vector<StaticValue>>;

struct StaticValue {
  std::variant<NoneStatic, UnknownStatic, bool, DimExpr, double, std::string, ElementType, MaskValue, DimGroup,
               LayerPtr, ListPtr>
      value;

  template <class T> const T *getIf() const { return std::get_if<T>(&value); }
  /// A size (a dim stands for its own), or null.
  DimExpr asSize(DimContext &dims) const;
  /// A number, if it is one and has a value.
  std::optional<double> asNumber(DimContext &dims) const;
  bool isUnknown() const { return std::holds_alternative<UnknownStatic>(value); }
  bool isNone() const { return std::holds_alternative<NoneStatic>(value); }
  /// Same kind and value; sizes by sameSize, layers by callee and arguments.
  bool sameAs(const StaticValue &other) const;
  /// `a size`, `a layer`, ... for messages.
  std::string kindName() const;
};

/// An argument already evaluated.
struct StaticArgument {
  llvm::StringRef name;     ///< empty if bare
  llvm::StringRef bareName; ///< a bare argument that is a single name, `F`
  StaticValue value;
  SourceRange range;
};

/// Functions of the language that are no declared layers or ops.
enum class Builtin : uint8_t {
#define BUILTIN(name, ...) name,
#include "stg/Sema/Builtins.def"
};
struct BuiltinInfo {
  llvm::StringRef spelling;
  llvm::StringRef signature;
  llvm::StringRef meaning;
};
const BuiltinInfo &info(Builtin builtin);
std::optional<Builtin> builtinFrom(llvm::StringRef text);

/// An instance made by `share`: all its calls use the same weights.
struct SharedInstance;

/// Something that can be called, with the static arguments given so far: `swiglu(F = 2048)`, `gelu`, `identity`.
struct LayerValue {
  NamedItem item; ///< a layer or an op
  std::optional<MapFn> fn;
  std::optional<Builtin> builtin;
  std::vector<StaticArgument> arguments;
  std::shared_ptr<SharedInstance> shared;
  std::string name() const;
};

/// A value of the IR as the elaborator sees it. Of unknown type while a declaration is checked without a caller.
struct Tensor {
  bool unknown = false;
  TensorType type;
  UnitId unit;   ///< whose body holds it; invalid for an input of the program
  ValueId value; ///< in that body
  InputId input; ///< valid for an input of the program
  static Tensor makeUnknown() {
    Tensor tensor;
    tensor.unknown = true;
    return tensor;
  }
};

/// What training stores a weight's companions as.
struct WeightPrecision {
  ElementType gradient = ElementType::F32, master = ElementType::F32, moment = ElementType::F32;
  /// In which gradients are summed over ranks and weights are gathered; nothing: as they are.
  std::optional<ElementType> commGradient = std::nullopt, commWeight = std::nullopt;
  bool operator==(const WeightPrecision &) const = default;
};

/// A declared weight or state, before it is read.
struct Stored {
  TensorType type;
  WeightPrecision precision; ///< of a weight
  bool unknown = false;
  UnitId unit;        ///< owner, or invalid: the program
  uint32_t index = 0; ///< slot of the owner's body, or id in the program
  bool isState = false;
  std::string path;
  SourceRange where;
};

/// The iterations of a finished or running `repeat`: `blocks[k].v`.
struct RepeatIterations {
  struct Iteration {
    UnitId unit; ///< set for iterations that share their values with others: tensors of `values` move to this unit
    std::shared_ptr<const std::map<std::string, Tensor>> values;
  };
  std::string name;
  std::vector<Iteration> iterations;
  bool failed = false; ///< an iteration had a fault: what is missing follows from it
};

/// The outcome of evaluating an expression. `Failed` was reported already, or follows from something unknown.
struct EvalResult {
  enum class Kind : uint8_t { Failed, Static, Tensors } kind = Kind::Failed;
  StaticValue value;
  llvm::SmallVector<Tensor, 2> tensors;

  static EvalResult failed() { return {}; }
  static EvalResult of(StaticValue value) { return {Kind::Static, std::move(value), {}}; }
  static EvalResult of(Tensor tensor) { return {Kind::Tensors, {}, {std::move(tensor)}}; }
  bool isStatic() const { return kind == Kind::Static; }
  bool isTensors() const { return kind == Kind::Tensors; }
  bool isFailed() const { return kind == Kind::Failed; }
};

} // namespace stg

#endif
