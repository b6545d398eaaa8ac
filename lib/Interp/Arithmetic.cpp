//===- Arithmetic.cpp - meanings that compute -----------------------------===//
#include "RunSize.h"
#include "stg/Interp/OpMeanings.h"
#include <cmath>
#include <limits>
#include <numbers>

namespace stg::interp {

uint64_t hashOf(uint64_t hash, uint64_t more) {
  uint64_t z = hash + 0x9e3779b97f4a7c15ULL * (more + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

uint64_t hashOf(uint64_t hash, llvm::StringRef text) {
  for (unsigned char byte : text)
    hash = hashOf(hash, byte);
  return hashOf(hash, text.size() + 256);
}

double uniform(uint64_t hash) { return static_cast<double>(hash >> 11) * 0x1p-53; }

double valueOf(MapFn fn, llvm::ArrayRef<double> operands) {
  unsigned expected = arity(fn);
  if (expected ? operands.size() != expected : operands.size() < 2)
    throw InterpFault(spelling(fn).str() + " of " + std::to_string(operands.size()) + " operands");
  auto fold = [&](auto combine) {
    double result = operands.front();
    for (double operand : operands.drop_front())
      result = combine(result, operand);
    return result;
  };
  double a = operands.front();
  // For a large, e^a overflows although the result is near a; for small ones log1p keeps the digits.
  auto softplus = [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); };
  auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  switch (fn) {
  case MapFn::Add:
    return fold([](double x, double y) { return x + y; });
  case MapFn::Sub:
    return a - operands[1];
  case MapFn::Mul:
    return fold([](double x, double y) { return x * y; });
  case MapFn::Div:
    return a / operands[1];
  case MapFn::Quantise:
    return operands[1] == 0 ? 0 : a / operands[1];
  case MapFn::Neg:
    return -a;
  case MapFn::Abs:
    return std::fabs(a);
  case MapFn::Maximum:
    return fold([](double x, double y) { return std::max(x, y); });
  case MapFn::Minimum:
    return fold([](double x, double y) { return std::min(x, y); });
  case MapFn::Exp:
    return std::exp(a);
  case MapFn::Log:
    return std::log(a);
  case MapFn::Sqrt:
    return std::sqrt(a);
  case MapFn::Rsqrt:
    return 1 / std::sqrt(a);
  case MapFn::Sin:
    return std::sin(a);
  case MapFn::Cos:
    return std::cos(a);
  case MapFn::Sigmoid:
    return sigmoid(a);
  case MapFn::Softplus:
    return softplus(a);
  case MapFn::Square:
    return a * a;
  case MapFn::Tanh:
    return std::tanh(a);
  case MapFn::Relu:
    return std::max(a, 0.0);
  case MapFn::Silu:
    return a * sigmoid(a);
  case MapFn::Gelu:
    return a * 0.5 * std::erfc(-a / std::numbers::sqrt2);
  case MapFn::SigmoidGrad:
    return a * operands[1] * (1 - operands[1]);
  case MapFn::TanhGrad:
    return a * (1 - operands[1] * operands[1]);
  case MapFn::SiluGrad: {
    double gate = sigmoid(operands[1]);
    return a * gate * (1 + operands[1] * (1 - gate));
  }
  case MapFn::GeluGrad: {
    double b = operands[1];
    double density = std::exp(-b * b / 2) / std::sqrt(2 * std::numbers::pi);
    return a * (0.5 * std::erfc(-b / std::numbers::sqrt2) + b * density);
  }
  case MapFn::WherePositive:
    return operands[1] > 0 ? a : 0;
  case MapFn::WhereEqual:
    return operands[1] == operands[2] ? a : 0;
  case MapFn::Cast:
    return a;
  }
  throw InterpFault("an element-wise function without a meaning");
}

double stored(ElementType element, double value) {
  if (isFloat(element))
    return value;
  if (element == ElementType::Bool)
    return value != 0;
  return std::trunc(value);
}

double nearest(ElementType element, double value) {
  if ((element != ElementType::F8E4M3 && element != ElementType::F8E5M2) || value == 0 || !std::isfinite(value))
    return value;
  bool isE4M3 = element == ElementType::F8E4M3;
  int digits = isE4M3 ? 3 : 2, smallest = isE4M3 ? -6 : -14; // exponent of the smallest number with all its digits
  double largest = isE4M3 ? 448 : 57344;
  double step = std::ldexp(1, std::max(std::ilogb(value), smallest) - digits);
  return std::clamp(std::nearbyint(value / step) * step, -largest, largest);
}

bool Visibility::sees(int64_t i, int64_t j, int64_t queries, int64_t keys) const {
  return attends(kind, parameters, queryPosition(kind, parameters, i, queries, keys), j);
}

Tensor iota(TensorDim dim, int64_t start, ElementType element) {
  Tensor result = Tensor::filled(element, dim);
  for (int64_t i = 0; i < dim.size; ++i)
    result.data[static_cast<size_t>(i)] = static_cast<double>(start + dim.position(i));
  return result;
}

namespace {

llvm::SmallVector<const Tensor *, 4> pointersTo(llvm::ArrayRef<Tensor> tensors) {
  llvm::SmallVector<const Tensor *, 4> pointers;
  for (const Tensor &tensor : tensors)
    pointers.push_back(&tensor);
  return pointers;
}

/// Splits `all` into the dims that stay and the reduced ones, each of which must be there.
std::pair<TensorDims, TensorDims> keptAndReduced(llvm::ArrayRef<TensorDim> all, llvm::ArrayRef<NameId> reduced) {
  std::pair<TensorDims, TensorDims> parts;
  for (const TensorDim &dim : all)
    (llvm::is_contained(reduced, dim.name) ? parts.second : parts.first).push_back(dim);
  if (parts.second.size() != reduced.size())
    throw InterpFault("a reduced dim is in no operand");
  return parts;
}

} // namespace

Tensor contract(llvm::ArrayRef<Tensor> operands, llvm::ArrayRef<NameId> reduced, ElementType element) {
  TensorDims all;
  for (const Tensor &operand : operands)
    all = unionOf(all, operand.dims);
  checkCount(elementCount(all), kMostProducts, "products");
  auto [free, summed] = keptAndReduced(all, reduced);
  Tensor result = Tensor::filled(element, free);
  llvm::SmallVector<const Tensor *, 4> tensors = pointersTo(operands);
  tensors.push_back(&result);
  TensorDims order = unionOf(free, summed);
  for (AlignedWalk walk(order, tensors); !walk.done(); walk.next()) {
    double product = 1;
    for (size_t o = 0; o < operands.size(); ++o)
      product *= operands[o].data[walk.offset(o)];
    result.data[walk.offset(operands.size())] += product;
  }
  return result;
}

Tensor map(MapFn fn, llvm::ArrayRef<Tensor> operands, ElementType element) {
  const Tensor *largest = &operands.front();
  for (const Tensor &operand : operands)
    if (operand.dims.size() > largest->dims.size())
      largest = &operand;
  for (const Tensor &operand : operands)
    if (unionOf(largest->dims, operand.dims).size() != largest->dims.size())
      throw InterpFault(spelling(fn).str() + ": no operand has all dims");
  Tensor result = Tensor::filled(element, largest->dims);
  llvm::SmallVector<double, 4> numbers(operands.size());
  size_t next = 0;
  for (AlignedWalk walk(result.dims, pointersTo(operands)); !walk.done(); walk.next()) {
    for (size_t o = 0; o < operands.size(); ++o)
      numbers[o] = operands[o].data[walk.offset(o)];
    double value = stored(element, valueOf(fn, numbers));
    result.data[next++] = fn == MapFn::Quantise ? nearest(element, value) : value;
  }
  return result;
}

Tensor reduce(ReduceFn fn, const Tensor &operand, llvm::ArrayRef<NameId> reduced, ElementType element) {
  auto [free, gone] = keptAndReduced(operand.dims, reduced);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double start = 0;
  switch (fn) {
  case ReduceFn::Sum:
    break;
  case ReduceFn::Max:
    start = -kInfinity;
    break;
  case ReduceFn::Min:
    start = kInfinity;
    break;
  case ReduceFn::Prod:
    start = 1;
    break;
  }
  if (fn == ReduceFn::Min || fn == ReduceFn::Prod)
    for (const TensorDim &dim : gone)
      requireWhole(dim, spelling(fn));
  Tensor result = Tensor::filled(element, free, start);
  for (AlignedWalk walk(operand.dims, {&operand, &result}); !walk.done(); walk.next()) {
    double &into = result.data[walk.offset(1)];
    double value = operand.data[walk.offset(0)];
    switch (fn) {
    case ReduceFn::Sum:
      into += value;
      break;
    case ReduceFn::Max:
      into = std::max(into, value);
      break;
    case ReduceFn::Min:
      into = std::min(into, value);
      break;
    case ReduceFn::Prod:
      into *= value;
      break;
    }
  }
  return result;
}

Tensor dropout(const Tensor &operand, double probability, uint64_t key) {
  Tensor result = operand;
  size_t next = 0;
  for (AlignedWalk walk(operand.dims, {}); !walk.done(); walk.next(), ++next) {
    uint64_t index = 0;
    for (size_t d = 0; d < operand.dims.size(); ++d) {
      const TensorDim &dim = operand.dims[d];
      index = index * static_cast<uint64_t>(dim.wholeSize()) + static_cast<uint64_t>(dim.position(walk.position(d)));
    }
    bool kept = uniform(hashOf(key, index)) >= probability;
    result.data[next] = kept ? result.data[next] / (1 - probability) : 0;
  }
  return result;
}

Tensor masked(Tensor operand, const Visibility &mask, NameId query, NameId key, double unseen) {
  int64_t queries = operand.dim(query).wholeSize(), keys = operand.dim(key).wholeSize();
  size_t queryDim = 0, keyDim = 0;
  for (size_t d = 0; d < operand.dims.size(); ++d) {
    if (operand.dims[d].name == query)
      queryDim = d;
    if (operand.dims[d].name == key)
      keyDim = d;
  }
  size_t next = 0;
  for (AlignedWalk walk(operand.dims, {}); !walk.done(); walk.next(), ++next)
    if (!mask.sees(operand.dims[queryDim].position(walk.position(queryDim)),
                   operand.dims[keyDim].position(walk.position(keyDim)), queries, keys))
      operand.data[next] = unseen;
  return operand;
}

} // namespace stg::interp
