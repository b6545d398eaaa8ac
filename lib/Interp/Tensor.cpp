//===- Tensor.cpp ---------------------------------------------------------===//
#include "stg/Interp/Tensor.h"
#include "RunSize.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <limits>

namespace stg::interp {

int64_t &Index::operator[](NameId name) {
  for (auto &[known, position] : entries_)
    if (known == name)
      return position;
  return entries_.emplace_back(name, 0).second;
}

const int64_t *Index::find(NameId name) const {
  for (const auto &[known, position] : entries_)
    if (known == name)
      return &position;
  return nullptr;
}

std::optional<int64_t> TensorDim::find(int64_t position) const {
  if (!held)
    return position >= 0 && position < size ? std::optional(position) : std::nullopt;
  auto found = llvm::lower_bound(held->positions, position);
  if (found == held->positions.end() || *found != position)
    return std::nullopt;
  return found - held->positions.begin();
}

bool TensorDim::sameExtent(const TensorDim &other) const {
  if (size != other.size || !held != !other.held)
    return false;
  return held == other.held || *held == *other.held;
}

int64_t elementCount(llvm::ArrayRef<TensorDim> dims) {
  int64_t count = 1;
  for (const TensorDim &dim : dims)
    count = saturatingProduct(count, dim.size);
  return count;
}

TensorDims unionOf(llvm::ArrayRef<TensorDim> first, llvm::ArrayRef<TensorDim> second) {
  TensorDims all(first.begin(), first.end());
  for (const TensorDim &dim : second) {
    bool known = false;
    for (const TensorDim &have : first) {
      if (have.name != dim.name)
        continue;
      known = true;
      if (have.size != dim.size)
        throw InterpFault("a dim has size " + std::to_string(have.size) + " in one operand and " +
                          std::to_string(dim.size) + " in another");
      if (!have.sameExtent(dim))
        throw InterpFault("two operands hold different positions of a dim");
    }
    if (!known)
      all.push_back(dim);
  }
  return all;
}

TensorDims without(llvm::ArrayRef<TensorDim> dims, NameId name) {
  TensorDims rest;
  for (const TensorDim &dim : dims)
    if (dim.name != name)
      rest.push_back(dim);
  return rest;
}

void requireWhole(const TensorDim &dim, llvm::StringRef what) {
  if (dim.held)
    throw InterpFault(what.str() + " needs all " + std::to_string(dim.held->wholeSize) +
                      " positions of a dim, of which the rank holds " + std::to_string(dim.size));
}

Tensor Tensor::filled(ElementType element, llvm::ArrayRef<TensorDim> dims, double value) {
  for (const TensorDim &dim : dims)
    if (dim.size < 0)
      throw InterpFault("a dim has the size " + std::to_string(dim.size));
  checkCount(elementCount(dims), kMostElements, "elements");
  Tensor tensor;
  tensor.element = element;
  tensor.dims.assign(dims.begin(), dims.end());
  tensor.data.assign(static_cast<size_t>(elementCount(dims)), value);
  return tensor;
}

const TensorDim *Tensor::find(NameId name) const {
  for (const TensorDim &dim : dims)
    if (dim.name == name)
      return &dim;
  return nullptr;
}

const TensorDim &Tensor::dim(NameId name) const {
  const TensorDim *dim = find(name);
  if (!dim)
    throw InterpFault("an operand lacks a dim that the op needs");
  return *dim;
}

int64_t Tensor::stride(NameId name) const {
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i].name == name)
      return stride;
    stride *= dims[i].size;
  }
  return 0;
}

size_t Tensor::offset(const Index &index) const {
  int64_t offset = 0;
  for (const TensorDim &dim : dims) {
    const int64_t *position = index.find(dim.name);
    if (!position)
      throw InterpFault("an index lacks a dim of the tensor");
    if (*position < 0 || *position >= dim.size)
      throw InterpFault("position " + std::to_string(*position) + " is outside a dim of size " +
                        std::to_string(dim.size));
    offset = offset * dim.size + *position;
  }
  return static_cast<size_t>(offset);
}

AlignedWalk::AlignedWalk(llvm::ArrayRef<TensorDim> dims, llvm::ArrayRef<const Tensor *> tensors)
    : dims_(dims.begin(), dims.end()), position_(dims.size(), 0), offset_(tensors.size(), 0), strides_(tensors.size()) {
  for (const TensorDim &dim : dims) {
    done_ |= dim.size == 0;
    for (size_t t = 0; t < tensors.size(); ++t)
      strides_[t].push_back(tensors[t]->stride(dim.name));
  }
}

void AlignedWalk::next() {
  for (size_t d = dims_.size(); d-- > 0;) {
    bool carries = ++position_[d] == dims_[d].size;
    if (carries)
      position_[d] = 0;
    for (size_t t = 0; t < offset_.size(); ++t)
      offset_[t] += carries ? -(dims_[d].size - 1) * strides_[t][d] : strides_[t][d];
    if (!carries)
      return;
  }
  done_ = true;
}

Index AlignedWalk::index() const {
  Index index;
  for (size_t d = 0; d < dims_.size(); ++d)
    index[dims_[d].name] = position_[d];
  return index;
}

Tensor permuted(const Tensor &tensor, llvm::ArrayRef<NameId> order) {
  TensorDims dims;
  for (NameId name : order)
    dims.push_back(tensor.dim(name));
  if (dims.size() != tensor.dims.size())
    throw InterpFault("a storage order must list every dim once");
  Tensor result = Tensor::filled(tensor.element, dims);
  size_t next = 0;
  for (AlignedWalk walk(dims, {&tensor}); !walk.done(); walk.next())
    result.data[next++] = tensor.data[walk.offset(0)];
  return result;
}

Tensor renamed(Tensor tensor, llvm::ArrayRef<NameId> names) {
  if (names.size() != tensor.dims.size())
    throw InterpFault("an operand has " + std::to_string(tensor.dims.size()) + " dims where the op has " +
                      std::to_string(names.size()));
  for (size_t i = 0; i < names.size(); ++i)
    tensor.dims[i].name = names[i];
  return tensor;
}

double largestDifference(const Tensor &a, const Tensor &b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.dims.size() != b.dims.size())
    return kInfinity;
  for (const TensorDim &dim : a.dims) {
    const TensorDim *other = b.find(dim.name);
    if (!other || !other->sameExtent(dim))
      return kInfinity;
  }
  double largest = 0;
  for (AlignedWalk walk(a.dims, {&a, &b}); !walk.done(); walk.next()) {
    double left = a.data[walk.offset(0)], right = b.data[walk.offset(1)];
    if (left == right)
      continue;
    double difference = std::fabs(left - right);
    if (std::isnan(difference))
      return kInfinity;
    largest = std::max(largest, difference);
  }
  return largest;
}

} // namespace stg::interp
