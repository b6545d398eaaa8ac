//===- DataMovement.cpp - meanings that move numbers ----------------------===//
#include "stg/Interp/OpMeanings.h"

namespace stg::interp {

namespace {

/// The position that an index element stands for, within `size`.
int64_t checkedPosition(double value, int64_t size) {
  auto position = static_cast<int64_t>(value);
  if (value != static_cast<double>(position) || position < 0 || position >= size)
    throw InterpFault("index " + std::to_string(value) + " is outside 0.." + std::to_string(size - 1));
  return position;
}

/// Where the held positions of `dims` stand in the row-major order of all positions.
std::vector<int64_t> heldPlaces(llvm::ArrayRef<TensorDim> dims) {
  std::vector<int64_t> places;
  for (AlignedWalk walk(dims, {}); !walk.done(); walk.next()) {
    int64_t place = 0;
    for (size_t d = 0; d < dims.size(); ++d)
      place = place * dims[d].wholeSize() + dims[d].position(walk.position(d));
    places.push_back(place);
  }
  return places;
}

/// Throws InterpFault if a view of `from` as `to` would have to move elements.
void checkView(llvm::ArrayRef<TensorDim> from, llvm::ArrayRef<TensorDim> to) {
  auto whole = [](llvm::ArrayRef<TensorDim> dims) {
    int64_t count = 1;
    for (const TensorDim &dim : dims)
      count *= dim.wholeSize();
    return count;
  };
  if (whole(from) != whole(to))
    throw InterpFault("a view of " + std::to_string(whole(from)) + " positions as " + std::to_string(whole(to)));
  auto isPart = [](const TensorDim &dim) { return dim.held != nullptr; };
  if ((llvm::any_of(from, isPart) || llvm::any_of(to, isPart)) && heldPlaces(from) != heldPlaces(to))
    throw InterpFault("a view would give the rank other positions than it holds");
}

Tensor applyStep(const Tensor &operand, const ViewStep &step) {
  // With the `from` dims neighbours in the item's order, a row-major split or merge moves nothing.
  llvm::SmallVector<NameId, 6> order;
  for (const TensorDim &dim : operand.dims) {
    if (dim.name == step.from.front())
      order.append(step.from.begin(), step.from.end());
    else if (!llvm::is_contained(step.from, dim.name))
      order.push_back(dim.name);
  }
  Tensor result = permuted(operand, order);
  TensorDims dims, from;
  for (const TensorDim &dim : result.dims) {
    if (!llvm::is_contained(step.from, dim.name)) {
      dims.push_back(dim);
      continue;
    }
    from.push_back(dim);
    if (dim.name == step.from.front())
      dims.append(step.to.begin(), step.to.end());
  }
  checkView(from, step.to);
  result.dims = std::move(dims);
  return result;
}

} // namespace

Tensor view(const Tensor &operand, llvm::ArrayRef<ViewStep> steps, llvm::ArrayRef<NameId> order) {
  // Items act at once: one may take the name that another gives up (`x[S as T, T as S]`). So positions first get names
  // of their own, which no step can mention.
  Tensor result = operand;
  llvm::SmallVector<std::pair<NameId, NameId>, 6> finalNames;
  constexpr uint32_t kFirstPrivate = 0x80000000;
  uint32_t nextPrivate = kFirstPrivate;
  for (ViewStep step : steps) {
    for (TensorDim &dim : step.to) {
      NameId own(nextPrivate++);
      finalNames.emplace_back(own, dim.name);
      dim.name = own;
    }
    result = applyStep(result, step);
  }
  for (TensorDim &dim : result.dims)
    for (auto [own, final] : finalNames)
      if (dim.name == own) {
        dim.name = final;
        break;
      }
  return order.empty() ? result : permuted(result, order);
}

Tensor concat(llvm::ArrayRef<Tensor> operands, NameId dim, ElementType element) {
  TensorDims others;
  int64_t total = 0;
  for (const Tensor &operand : operands) {
    others = unionOf(others, without(operand.dims, dim));
    requireWhole(operand.dim(dim), "concat");
    total += operand.sizeOf(dim);
  }
  // The order is that of the first operand with all dims.
  TensorDims dims;
  for (const Tensor &operand : operands)
    if (dims.empty() && operand.dims.size() == others.size() + 1)
      dims = operand.dims;
  if (dims.empty())
    throw InterpFault("concat: no operand has all dims");
  for (TensorDim &own : dims)
    if (own.name == dim)
      own.size = total;

  Tensor result = Tensor::filled(element, dims);
  int64_t start = 0, stride = result.stride(dim);
  for (const Tensor &operand : operands) {
    TensorDims part = dims;
    for (TensorDim &own : part)
      if (own.name == dim)
        own.size = operand.sizeOf(dim);
    for (AlignedWalk walk(part, {&operand, &result}); !walk.done(); walk.next())
      result.data[walk.offset(1) + static_cast<size_t>(start * stride)] = operand.data[walk.offset(0)];
    start += operand.sizeOf(dim);
  }
  return result;
}

Tensor at(const Tensor &operand, NameId dim, int64_t position) {
  checkedPosition(static_cast<double>(position), operand.sizeOf(dim));
  requireWhole(operand.dim(dim), "at");
  Tensor result = Tensor::filled(operand.element, without(operand.dims, dim));
  auto start = static_cast<size_t>(position * operand.stride(dim));
  size_t next = 0;
  for (AlignedWalk walk(result.dims, {&operand}); !walk.done(); walk.next())
    result.data[next++] = operand.data[start + walk.offset(0)];
  return result;
}

Tensor pad(const Tensor &operand, NameId from, TensorDim to, int64_t start) {
  int64_t length = from ? operand.sizeOf(from) : 1;
  requireWhole(to, "pad");
  if (from)
    requireWhole(operand.dim(from), "pad");
  if (start < 0 || start + length > to.size)
    throw InterpFault("puts " + std::to_string(length) + " positions from " + std::to_string(start) + " on into " +
                      std::to_string(to.size));
  TensorDims whole = operand.dims;
  if (!from)
    whole.push_back(to);
  for (TensorDim &dim : whole)
    if (from && dim.name == from)
      dim = to;
  Tensor result = Tensor::filled(operand.element, whole);
  TensorDims names = result.dims; // the operand's positions under the result's names
  for (TensorDim &dim : names)
    if (dim.name == to.name)
      dim.size = length;
  size_t first = static_cast<size_t>(start * result.stride(to.name)), next = 0;
  for (AlignedWalk walk(names, {&result}); !walk.done(); walk.next())
    result.data[first + walk.offset(0)] = operand.data[next++];
  return result;
}

Tensor broadcast(const Tensor &operand, llvm::ArrayRef<TensorDim> dims) {
  if (unionOf(dims, operand.dims).size() != dims.size())
    throw InterpFault("broadcast: the result lacks a dim of the operand");
  Tensor result = Tensor::filled(operand.element, dims);
  size_t next = 0;
  for (AlignedWalk walk(dims, {&operand}); !walk.done(); walk.next())
    result.data[next++] = operand.data[walk.offset(0)];
  return result;
}

Tensor slice(const Tensor &operand, NameId from, TensorDim to, int64_t start) {
  if (start < 0 || to.size < 0 || start + to.size > operand.sizeOf(from))
    throw InterpFault("slice " + std::to_string(start) + " .. " + std::to_string(start + to.size) + " of " +
                      std::to_string(operand.sizeOf(from)) + " positions");
  requireWhole(operand.dim(from), "slice");
  requireWhole(to, "slice");
  TensorDims part = operand.dims;
  for (TensorDim &dim : part)
    if (dim.name == from)
      dim.size = to.size;
  Tensor result = Tensor::filled(operand.element, part);
  auto skipped = static_cast<size_t>(start * operand.stride(from));
  size_t next = 0;
  for (AlignedWalk walk(part, {&operand}); !walk.done(); walk.next())
    result.data[next++] = operand.data[skipped + walk.offset(0)];
  for (TensorDim &dim : result.dims)
    if (dim.name == from)
      dim.name = to.name;
  return result;
}

Tensor gather(const Tensor &data, const Tensor &index, NameId dim) {
  if (index.has(dim))
    throw InterpFault("gather: the index has the dim that it replaces");
  unionOf(data.dims, index.dims); // shared dims must agree
  const TensorDim &indexed = data.dim(dim);
  int64_t stride = data.stride(dim);
  TensorDims dims;
  for (const TensorDim &own : data.dims) {
    if (own.name != dim) {
      dims.push_back(own);
      continue;
    }
    for (const TensorDim &other : index.dims)
      if (!data.has(other.name))
        dims.push_back(other);
  }
  Tensor result = Tensor::filled(data.element, dims);
  size_t next = 0;
  for (AlignedWalk walk(dims, {&data, &index}); !walk.done(); walk.next()) {
    std::optional<int64_t> local = indexed.find(checkedPosition(index.data[walk.offset(1)], indexed.wholeSize()));
    result.data[next++] = local ? data.data[walk.offset(0) + static_cast<size_t>(*local * stride)] : 0;
  }
  return result;
}

Tensor scatter(const Tensor &data, const Tensor &index, TensorDim dim, llvm::ArrayRef<NameId> replaced,
               ElementType element) {
  TensorDims all = unionOf(data.dims, index.dims), dims;
  for (const TensorDim &own : all) {
    if (!llvm::is_contained(replaced, own.name))
      dims.push_back(own);
    else if (own.name == replaced.front())
      dims.push_back(dim);
  }
  if (replaced.empty())
    dims.push_back(dim);
  Tensor result = Tensor::filled(element, dims);
  int64_t stride = result.stride(dim.name);
  // Aligned walks must not move along the new dim, even if a replaced one has the same name.
  Tensor rows = result;
  for (TensorDim &own : rows.dims)
    if (own.name == dim.name)
      own.name = NameId();
  for (AlignedWalk walk(all, {&data, &index, &rows}); !walk.done(); walk.next()) {
    if (std::optional<int64_t> local = dim.find(checkedPosition(index.data[walk.offset(1)], dim.wholeSize())))
      result.data[walk.offset(2) + static_cast<size_t>(*local * stride)] += data.data[walk.offset(0)];
  }
  return result;
}

Tensor append(const Tensor &state, const Tensor &addition, NameId from, NameId into) {
  int64_t added = addition.sizeOf(from), total = state.sizeOf(into);
  requireWhole(addition.dim(from), "append");
  requireWhole(state.dim(into), "append");
  if (added > total)
    throw InterpFault("append of " + std::to_string(added) + " positions to a state of " + std::to_string(total));
  Tensor result = state;
  // The same positions under the state's name of the dim.
  Tensor last = addition;
  for (TensorDim &dim : last.dims)
    if (dim.name == from)
      dim.name = into;
  TensorDims part = state.dims;
  for (TensorDim &dim : part)
    if (dim.name == into)
      dim.size = added;
  if (unionOf(part, last.dims).size() != part.size())
    throw InterpFault("append: the addition has a dim that the state lacks");
  auto start = static_cast<size_t>((total - added) * state.stride(into));
  for (AlignedWalk walk(part, {&last, &result}); !walk.done(); walk.next())
    result.data[start + walk.offset(1)] = last.data[walk.offset(0)];
  return result;
}

} // namespace stg::interp
