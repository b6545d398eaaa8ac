//===- Masks.cpp - which positions attend to which, and how many pairs -----===//
// Closed forms over the positions p = t - s .. t - 1 of the queries. `attends` is the definition, one line a mask;
// unittests/IR compares the two.
//===----------------------------------------------------------------------===//
#include "RationalMath.h"
#include <algorithm>

namespace stg {

llvm::StringRef spelling(MaskKind kind) {
  switch (kind) {
  case MaskKind::Full:
    return "full";
  case MaskKind::Causal:
    return "causal";
  case MaskKind::Window:
    return "window";
  case MaskKind::Chunk:
    return "chunk";
  case MaskKind::Prefix:
    return "prefix";
  case MaskKind::Documents:
    return "documents";
  case MaskKind::Requests:
    return "requests";
  }
  return "full";
}

std::optional<MaskKind> maskKindFrom(llvm::StringRef text) {
  for (MaskKind kind : {MaskKind::Full, MaskKind::Causal, MaskKind::Window, MaskKind::Chunk, MaskKind::Prefix,
                        MaskKind::Documents, MaskKind::Requests})
    if (text == spelling(kind))
      return kind;
  return std::nullopt;
}

namespace {

/// 1 + 2 + ... + n for n >= 0; fits for every n that fits 64 bits.
Int128 triangle(Int128 n) { return n * (n + 1) / 2; }

/// Sum of min(x, cap) for x = 1 .. n.
Int128 cappedTriangle(Int128 n, Int128 cap) { return n <= cap ? triangle(n) : triangle(cap) + (n - cap) * cap; }

/// Sum over positions 0 .. n - 1 of the keys that a query sees in its block of `block`.
Int128 chunkedTriangle(Int128 n, Int128 block) { return n / block * triangle(block) + triangle(n % block); }

/// Pairs of the documents that start one behind the other; positions behind the last see nothing.
std::optional<Int128> countDocuments(llvm::ArrayRef<int64_t> lengths, Int128 firstQuery, Int128 t) {
  Int128 start = 0, sum = 0;
  for (int64_t length : lengths) {
    if (length < 0)
      return std::nullopt;
    Int128 begin = std::max(firstQuery, start), end = std::min(start + length, t);
    if (begin < end)
      sum += triangle(end - start) - triangle(begin - start);
    start += length;
  }
  return sum;
}

std::optional<Int128> countRequests(llvm::ArrayRef<int64_t> requests, Int128 s, Int128 t) {
  if (requests.size() % 2 != 0)
    return std::nullopt;
  Int128 start = 0, sum = 0;
  for (size_t i = 0; i < requests.size(); i += 2) {
    if (requests[i] < 0 || requests[i + 1] < 0)
      return std::nullopt;
    Int128 past = requests[i + 1], queries = std::min<Int128>(requests[i], s), visible = std::max<Int128>(t - start, 0);
    // Query j sees past + j + 1 keys, at most `visible`. The first case keeps the sums inside 128 bits.
    Int128 pairs =
        past >= visible ? queries * visible : cappedTriangle(past + queries, visible) - cappedTriangle(past, visible);
    if (!detail::addTo(sum, pairs))
      return std::nullopt;
    s -= queries;
    start += past + requests[i];
  }
  return sum;
}

} // namespace

std::optional<Int128> countPairs(MaskKind mask, llvm::ArrayRef<int64_t> parameters, int64_t s, int64_t t) {
  if (s < 0 || t < 0)
    return std::nullopt;
  Int128 end = t, first = end - s, begin = std::max<Int128>(first, 0);
  bool needsOne = mask == MaskKind::Window || mask == MaskKind::Chunk || mask == MaskKind::Prefix;
  if (needsOne && parameters.size() != 1)
    return std::nullopt;
  Int128 n = needsOne ? std::max<int64_t>(parameters[0], 0) : 0;
  switch (mask) {
  case MaskKind::Full:
    return static_cast<Int128>(s) * t;
  case MaskKind::Causal:
    return triangle(end) - triangle(begin);
  case MaskKind::Window:
    return cappedTriangle(end, n) - cappedTriangle(begin, n);
  case MaskKind::Chunk:
    return n == 0 ? 0 : chunkedTriangle(end, n) - chunkedTriangle(begin, n);
  case MaskKind::Prefix: {
    // A query sees max(n, p + 1) keys: n below position n, the triangle from there.
    Int128 keys = std::min(n, end), split = std::max(keys, first);
    return (split - first) * keys + triangle(end) - triangle(split);
  }
  case MaskKind::Documents:
    return countDocuments(parameters, begin, end);
  case MaskKind::Requests:
    return countRequests(parameters, s, t);
  }
  return std::nullopt;
}

int64_t queryPosition(MaskKind mask, llvm::ArrayRef<int64_t> parameters, int64_t index, int64_t s, int64_t t) {
  if (mask != MaskKind::Requests)
    return t - s + index;
  int64_t start = 0;
  for (size_t i = 0; i + 1 < parameters.size(); i += 2) {
    if (index < parameters[i])
      return start + parameters[i + 1] + index;
    index -= parameters[i];
    start += parameters[i] + parameters[i + 1];
  }
  return -1;
}

bool attends(MaskKind mask, llvm::ArrayRef<int64_t> parameters, int64_t query, int64_t key) {
  int64_t n = parameters.empty() ? 0 : parameters[0];
  switch (mask) {
  case MaskKind::Full:
    return true;
  case MaskKind::Causal:
    return key <= query;
  case MaskKind::Window:
    return key <= query && query - key < n;
  case MaskKind::Chunk:
    return key <= query && n > 0 && query / n == key / n;
  case MaskKind::Prefix:
    return key < n || key <= query;
  case MaskKind::Documents:
  case MaskKind::Requests: {
    // Causal inside the stretch that holds both.
    size_t step = mask == MaskKind::Requests ? 2 : 1;
    int64_t start = 0;
    for (size_t i = 0; i + step <= parameters.size(); i += step) {
      int64_t end = start + parameters[i] + (step == 2 ? parameters[i + 1] : 0);
      if (key >= start && key < end)
        return query >= key && query < end;
      start = end;
    }
    return false;
  }
  }
  return false;
}

} // namespace stg
