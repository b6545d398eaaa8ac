//===- Tensor.h - small dense tensors with named dims ----------------------===//
// Values of the reference interpreter. Every number is a double, whatever the element type: what is compared is the
// mathematics of a program, not its rounding. Integer and bool tensors hold whole numbers. Storage is row-major in the
// order of `dims`; dims are found by name, never by position.
//
// On simulated ranks a tensor is the part that one rank holds: a dim then says which global positions these are. Dims
// that meet in an op must hold the same positions, so an op that would mix up two parts is a fault, not a wrong number.
//===----------------------------------------------------------------------===//
#ifndef STG_INTERP_TENSOR_H
#define STG_INTERP_TENSOR_H

#include "stg/IR/Types.h"
#include "stg/Support/SourceManager.h"
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace stg::interp {

/// Why a program cannot be run on these inputs: a size without a value, an index out of range, a tensor of the wrong
/// shape, a call without a reference. The interpreter adds which value it was about.
class InterpFault : public std::runtime_error {
public:
  InterpFault(const std::string &text, SourceRange where = {}) : std::runtime_error(text), where_(where) {}
  /// The op that could not be run, if it has a place.
  SourceRange where() const { return where_; }

private:
  SourceRange where_;
};

/// Which positions of a dim a rank holds, in increasing order. Not all of them.
struct HeldPositions {
  int64_t wholeSize = 0;
  std::vector<int64_t> positions;
  bool operator==(const HeldPositions &) const = default;
};

/// A dim whose size is known.
struct TensorDim {
  NameId name;
  int64_t size = 1;                                    ///< on this rank
  std::shared_ptr<const HeldPositions> held = nullptr; ///< null: all

  int64_t wholeSize() const { return held ? held->wholeSize : size; }
  /// The global position of local position `local`.
  int64_t position(int64_t local) const { return held ? held->positions[static_cast<size_t>(local)] : local; }
  /// The local position of a global one, if it is held.
  std::optional<int64_t> find(int64_t position) const;
  /// Whether both hold the same positions.
  bool sameExtent(const TensorDim &other) const;
  bool operator==(const TensorDim &other) const { return name == other.name && sameExtent(other); }
};
using TensorDims = llvm::SmallVector<TensorDim, 6>;

/// Positions along some dims. Tensors ignore the ones that they don't have, so one Index addresses several tensors.
class Index {
public:
  Index() = default;
  Index(std::initializer_list<std::pair<NameId, int64_t>> entries) : entries_(entries) {}
  /// Position along `name`, to be assigned; 0 when new.
  int64_t &operator[](NameId name);
  const int64_t *find(NameId name) const;

private:
  llvm::SmallVector<std::pair<NameId, int64_t>, 8> entries_;
};

struct Tensor {
  ElementType element = ElementType::F32;
  TensorDims dims;
  std::vector<double> data;

  /// A tensor of these dims with `value` everywhere. Throws InterpFault if it were too large to run on.
  static Tensor filled(ElementType element, llvm::ArrayRef<TensorDim> dims, double value = 0);
  static Tensor scalar(double value, ElementType element = ElementType::F32) { return filled(element, {}, value); }

  const TensorDim *find(NameId name) const;
  bool has(NameId name) const { return find(name) != nullptr; }
  /// Throws InterpFault if the tensor has no such dim.
  const TensorDim &dim(NameId name) const;
  int64_t sizeOf(NameId name) const { return dim(name).size; }
  /// Distance in `data` of neighbours along `name`; 0 if the tensor is the same along it (has no such dim).
  int64_t stride(NameId name) const;

  /// The element at `index`, which must have every dim of the tensor within its size.
  double &at(const Index &index) { return data[offset(index)]; }
  double at(const Index &index) const { return data[offset(index)]; }
  size_t offset(const Index &index) const;
};

/// Product of the sizes; the largest int64_t where it passes that.
int64_t elementCount(llvm::ArrayRef<TensorDim> dims);
/// The dims of `first`, then those of `second` that `first` lacks. Throws InterpFault if a shared one differs in size
/// or positions.
TensorDims unionOf(llvm::ArrayRef<TensorDim> first, llvm::ArrayRef<TensorDim> second);
/// `dims` without `name`.
TensorDims without(llvm::ArrayRef<TensorDim> dims, NameId name);
/// Throws InterpFault if some positions of the dim are on other ranks.
void requireWhole(const TensorDim &dim, llvm::StringRef what);

/// Visits every index of `dims` in row-major order and keeps the offset into each of `tensors`, aligned by name. Once
/// for no dims, never if a size is 0.
class AlignedWalk {
public:
  AlignedWalk(llvm::ArrayRef<TensorDim> dims, llvm::ArrayRef<const Tensor *> tensors);

  bool done() const { return done_; }
  void next();
  /// Position along the dim that stands at `dim` of the list.
  int64_t position(size_t dim) const { return position_[dim]; }
  /// Offset into the data of `tensors[tensor]`.
  size_t offset(size_t tensor) const { return static_cast<size_t>(offset_[tensor]); }
  Index index() const;

private:
  TensorDims dims_;
  llvm::SmallVector<int64_t, 6> position_;
  llvm::SmallVector<int64_t, 4> offset_;
  std::vector<llvm::SmallVector<int64_t, 6>> strides_; ///< per tensor and dim
  bool done_ = false;
};

/// The same numbers stored in another order of dims. `order` has every dim of `tensor` once.
Tensor permuted(const Tensor &tensor, llvm::ArrayRef<NameId> order);
/// The same numbers, dim i called `names[i]`.
Tensor renamed(Tensor tensor, llvm::ArrayRef<NameId> names);
/// Largest |a - b| over all elements, aligned by name; infinity if the dims differ or one of the two is not a number.
/// Equal infinities do not differ.
double largestDifference(const Tensor &a, const Tensor &b);

} // namespace stg::interp

#endif
