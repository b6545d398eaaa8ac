//===- BundleFormat.cpp - the index of a bundle -----------------------------===//
// One description of each struct, `visit`, serves writing and reading.
#include "stg/Bundle/BundleFormat.h"
#include <cstring>
#include <set>
#include <type_traits>
#include <zlib.h>

namespace stg::bundle {
namespace {

class IndexWriter {
public:
  static constexpr bool kReads = false;
  template <class Number> void number(const Number &value) {
    char bytes[sizeof(Number)];
    std::memcpy(bytes, &value, sizeof(Number));
    text_.append(bytes, sizeof(Number));
  }
  void text(const std::string &value) {
    number(static_cast<uint32_t>(value.size()));
    text_ += value;
  }
  /// Of a list: its length.
  template <class List> uint32_t length(List &list) {
    number(static_cast<uint32_t>(list.size()));
    return static_cast<uint32_t>(list.size());
  }
  std::string take() { return std::move(text_); }

private:
  std::string text_;
};

class IndexReader {
public:
  static constexpr bool kReads = true;
  explicit IndexReader(std::span<const char> bytes) : left_(bytes) {}

  template <class Number> void number(Number &value) {
    if (failed_ || left_.size() < sizeof(Number)) {
      failed_ = true;
      return;
    }
    std::memcpy(&value, left_.data(), sizeof(Number));
    left_ = left_.subspan(sizeof(Number));
  }
  void text(std::string &value) {
    uint32_t size = 0;
    number(size);
    if (failed_ || left_.size() < size) {
      failed_ = true;
      return;
    }
    value.assign(left_.data(), size);
    left_ = left_.subspan(size);
  }
  template <class List> uint32_t length(List &list) {
    uint32_t size = 0;
    number(size);
    // Each element takes a byte at least: a wrong length asks for no memory.
    if (failed_ || size > left_.size()) {
      failed_ = true;
      return 0;
    }
    list.resize(size);
    return size;
  }
  bool failed() const { return failed_; }
  bool atEnd() const { return left_.empty(); }

private:
  std::span<const char> left_;
  bool failed_ = false;
};

//===----------------------------------------------------------------------===//
// One order of fields
//===----------------------------------------------------------------------===//

template <class Visitor, class List> void visitList(Visitor &visitor, List &list) {
  visitor.length(list);
  for (auto &each : list)
    visit(visitor, each);
}

template <class Visitor>
void visit(Visitor &visitor, std::conditional_t<Visitor::kReads, uint32_t, const uint32_t> &value) {
  visitor.number(value);
}

template <class Visitor> void visit(Visitor &visitor, std::conditional_t<Visitor::kReads, Digit, const Digit> &digit) {
  visitor.number(digit.stride);
  visitor.number(digit.size);
  visitor.number(digit.weight);
}

template <class Visitor>
void visit(Visitor &visitor,
           std::conditional_t<Visitor::kReads, std::vector<uint32_t>, const std::vector<uint32_t>> &set) {
  visitor.length(set);
  for (auto &place : set)
    visitor.number(place);
}

template <class Visitor>
void visit(Visitor &visitor, std::conditional_t<Visitor::kReads, GroupFormula, const GroupFormula> &formula) {
  visitor.text(formula.axes);
  visitor.number(formula.firstId);
  visitor.number(formula.idStride);
  visitor.number(formula.count);
  visitList(visitor, formula.number);
  visitList(visitor, formula.spans);
  visitList(visitor, formula.places);
  visitList(visitor, formula.sets);
}

template <class Visitor>
void visit(Visitor &visitor, std::conditional_t<Visitor::kReads, RankField, const RankField> &field) {
  visitor.number(field.kind);
  visitor.number(field.value);
}

template <class Visitor>
void visit(Visitor &visitor, std::conditional_t<Visitor::kReads, Segment, const Segment> &segment) {
  visitor.number(segment.start);
  visitor.number(segment.bytes);
  visitor.number(segment.place);
  visitor.number(segment.patchPlace);
  visitor.number(segment.patches);
  visitor.number(segment.nodes);
  visitor.number(segment.checksum);
}

template <class Visitor>
void visit(Visitor &visitor, std::conditional_t<Visitor::kReads, RankClass, const RankClass> &rankClass) {
  visitor.number(rankClass.ranks.first);
  visitList(visitor, rankClass.ranks.spans);
  visitList(visitor, rankClass.fields);
  visitList(visitor, rankClass.segments);
  visitor.number(rankClass.fileBytes);
  visitor.number(rankClass.nodes);
}

template <class Visitor>
void visit(Visitor &visitor, std::conditional_t<Visitor::kReads, TraceInfo, const TraceInfo> &trace) {
  visitor.text(trace.folder);
  visitor.text(trace.prefix);
  visitor.number(trace.worldSize);
  visitor.text(trace.mesh);
  visitor.text(trace.programHash);
  visitor.text(trace.producer);
  visitor.number(trace.groupDigits);
  visitList(visitor, trace.groups);
  visitList(visitor, trace.classes);
  visitList(visitor, trace.classDigits);
}

//===----------------------------------------------------------------------===//
// What reading relies on
//===----------------------------------------------------------------------===//

class IndexChecker {
public:
  explicit IndexChecker(uint64_t end) : end_(end) {}

  bool check(TraceInfo &trace) {
    world_ = trace.worldSize;
    if (world_ == 0 || trace.groupDigits == 0 || trace.groupDigits > kMostFieldBytes)
      return fails("its ranks cannot be counted");
    if (trace.prefix.empty() || !isName(trace.prefix) || (!trace.folder.empty() && !isFolder(trace.folder)))
      return fails("a name of a file is none");
    for (const GroupFormula &formula : trace.groups)
      if (!check(formula))
        return fails("a process group is not within the ranks");
    if (!inWorld(trace.classDigits) || largest(trace.classDigits) >= trace.classes.size())
      return fails("a rank has no class");
    uint64_t ranks = 0;
    for (RankClass &each : trace.classes) {
      if (!check(each, trace))
        return false;
      ranks += each.ranks.size();
    }
    return ranks == world_ || fails("its classes are not the ranks");
  }
  const std::string &why() const { return why_; }

private:
  bool fails(const char *why) {
    why_ = why;
    return false;
  }

  static bool isName(const std::string &name) {
    return name.find('/') == std::string::npos && name.find('\0') == std::string::npos && name != "." && name != "..";
  }

  /// Below the directory.
  static bool isFolder(const std::string &folder) {
    for (size_t begin = 0; begin <= folder.size();) {
      size_t end = std::min(folder.find('/', begin), folder.size());
      std::string part = folder.substr(begin, end - begin);
      if (part.empty() || !isName(part))
        return false;
      begin = end + 1;
    }
    return true;
  }

  static uint64_t product(const std::vector<Digit> &digits) {
    uint64_t product = 1;
    for (const Digit &digit : digits) {
      if (digit.stride == 0 || digit.size == 0 || digit.weight == 0 || product > UINT32_MAX)
        return UINT64_MAX;
      product *= digit.size;
    }
    return product;
  }
  bool inWorld(const std::vector<Digit> &digits) const { return product(digits) <= world_; }
  static uint64_t largest(const std::vector<Digit> &digits) {
    uint64_t sum = 0;
    for (const Digit &digit : digits)
      sum += uint64_t{digit.size - 1} * digit.weight;
    return sum;
  }

  bool check(const GroupFormula &formula) const {
    if (!inWorld(formula.number) || !inWorld(formula.spans) || !inWorld(formula.places))
      return false;
    if (uint64_t{formula.firstId} + uint64_t{formula.idStride} * formula.count > UINT32_MAX)
      return false;
    uint64_t groups = largest(formula.number) + 1;
    if (!formula.sets.empty())
      groups *= formula.sets.size();
    return groups == formula.count;
  }

  static bool check(const RankField &field, const TraceInfo &trace) {
    switch (field.kind) {
    case RankField::Kind::Group:
      return static_cast<uint64_t>(field.value) < trace.groups.size();
    case RankField::Kind::Rank:
      return true;
    case RankField::Kind::Member:
      return field.groupKind() < trace.groups.size() && trace.groups[field.groupKind()].sets.empty();
    }
    return false;
  }

  bool check(RankClass &each, const TraceInfo &trace) {
    uint64_t last = each.ranks.first;
    if (!inWorld(each.ranks.spans))
      return fails("a class is not within the ranks");
    for (const Digit &span : each.ranks.spans)
      last += uint64_t{span.size - 1} * span.stride;
    if (last >= world_)
      return fails("a class is not within the ranks");
    for (const RankField &field : each.fields)
      if (!check(field, trace))
        return fails("a field is of no known kind");
    uint64_t start = 0;
    for (Segment &segment : each.segments) {
      bool fits = segment.start == start && segment.bytes <= UINT32_MAX && isInFile(segment.place, segment.bytes) &&
                  segment.patchPlace % kAlignment == 0 &&
                  isInFile(segment.patchPlace, uint64_t{segment.patches} * sizeof(FieldPatch));
      if (!fits)
        return fails("a segment is not within the file");
      start += segment.bytes;
      segment.number = segments_++;
    }
    return start == each.fileBytes || fails("the segments of a class are not its file");
  }

  bool isInFile(uint64_t place, uint64_t bytes) const { return bytes <= end_ && place <= end_ - bytes; }

  uint64_t end_;
  uint32_t world_ = 0;
  uint32_t segments_ = 0;
  std::string why_;
};

} // namespace

std::string encodeIndex(std::span<const TraceInfo> traces) {
  IndexWriter writer;
  visitList(writer, traces);
  return writer.take();
}

bool decodeIndex(std::span<const char> bytes, uint64_t indexPlace, std::vector<TraceInfo> &traces, std::string &why) {
  IndexReader reader(bytes);
  visitList(reader, traces);
  if (reader.failed() || !reader.atEnd()) {
    why = "the index is cut short or too long";
    return false;
  }
  IndexChecker checker(indexPlace);
  std::set<std::string> folders;
  for (TraceInfo &trace : traces) {
    if (!checker.check(trace)) {
      why = checker.why();
      return false;
    }
    if (!folders.insert(trace.folder).second) {
      why = "two traces are in one folder";
      return false;
    }
  }
  return true;
}

uint32_t checksumOf(std::span<const char> bytes, std::span<const FieldPatch> patches) {
  uLong sum = crc32_z(0, nullptr, 0);
  // Given no bytes at no address, zlib begins anew.
  if (!bytes.empty())
    sum = crc32_z(sum, reinterpret_cast<const Bytef *>(bytes.data()), bytes.size());
  if (!patches.empty())
    sum = crc32_z(sum, reinterpret_cast<const Bytef *>(patches.data()), patches.size_bytes());
  return static_cast<uint32_t>(sum);
}

} // namespace stg::bundle
