//===- RunSize.cpp ----------------------------------------------------------===//
#include "RunSize.h"
#include "stg/Interp/Tensor.h"
#include <limits>

namespace stg::interp {

int64_t saturatingProduct(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

int64_t saturatingSum(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

void checkCount(int64_t count, int64_t most, const std::string &what) {
  if (count <= most)
    return;
  std::string number = std::to_string(count);
  if (count == std::numeric_limits<int64_t>::max())
    number = "more than " + number;
  throw InterpFault("too many " + what + " to interpret (" + number + ", the limit is " + std::to_string(most) +
                    "); make the sizes smaller with --set");
}

namespace {

class ElementCounter {
public:
  explicit ElementCounter(const Program &program) : program_(program), counts_(program.bodies.size()) {}

  /// Elements of all values of a body, with those of the define blocks that it calls.
  int64_t inBody(BodyId id) {
    std::optional<int64_t> &known = counts_[id.index];
    if (known)
      return *known;
    int64_t count = 0;
    const Body &body = program_.body(id);
    for (const Value &value : body.values)
      if (value.type)
        count = saturatingSum(count, inType(*value.type));
    for (const Op &op : body.ops)
      if (op.kind == OpKind::Call && op.get<CallFields>().define)
        count = saturatingSum(count, inBody(op.get<CallFields>().define));
    counts_[id.index] = count;
    return count;
  }

private:
  static int64_t inType(const TensorType &type) {
    int64_t count = 1;
    for (const Dim &dim : type.dims) {
      std::optional<Int128> size = dim.size ? dim.size.integer() : std::nullopt;
      // What cannot be a size is reported where it is met.
      if (!size || *size < 0)
        return 0;
      count = *size > std::numeric_limits<int64_t>::max() ? std::numeric_limits<int64_t>::max()
                                                          : saturatingProduct(count, static_cast<int64_t>(*size));
    }
    return count;
  }

  const Program &program_;
  std::vector<std::optional<int64_t>> counts_; ///< by body
};

} // namespace

void checkRunSize(const Program &program) {
  ElementCounter counter(program);
  int64_t count = 0;
  for (const Unit &unit : program.units)
    count = saturatingSum(count, counter.inBody(unit.body));
  checkCount(count, kMostElements, "elements");
}

} // namespace stg::interp
