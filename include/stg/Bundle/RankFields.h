//===- RankFields.h - what differs between the traces of two ranks ----------===//
// Ranks of a class run the same program. Their files differ in the ids of their
// process groups, in the ranks that they send to and receive from, and in their own
// number, and each of these fields has one width: a class has one image, and a rank's
// file is that image with a few bytes replaced. Every value is a closed formula of
// the rank.
//
// This room is what a simulator links to read bundles (stg::bundle): it knows the
// standard library and zlib, and nothing of the compiler.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stg::bundle {

/// A coordinate of a rank, `rank / stride % size`, and what it counts for in a number made of coordinates.
struct Digit {
  uint32_t stride = 1, size = 1, weight = 0;
  bool operator==(const Digit &) const = default;
};

/// Sum of the rank's coordinates times their weights.
uint32_t numberOf(std::span<const Digit> digits, uint32_t rank);

/// All ranks that differ from `first` in the coordinates of `spans` only, ascending.
struct RankSet {
  uint32_t first = 0;
  /// Strides fall; weights are not used.
  std::vector<Digit> spans;

  uint64_t size() const;
  /// The rank at `index` < size().
  uint32_t at(uint64_t index) const;
  bool operator==(const RankSet &) const = default;
};

/// The process groups of one kind, which share no rank: group j, below count, has the id `firstId + idStride * j`.
struct GroupFormula {
  /// `tp`, `dp*cp`, `pp[0+3|1+2]`: for people.
  std::string axes;
  uint32_t firstId = 1, idStride = 1, count = 0;
  /// Of the number j: the coordinates that a group does not span.
  std::vector<Digit> number;
  /// The coordinates that it spans, strides falling.
  std::vector<Digit> spans;
  /// Where a group does not span `spans` whole: the places among them (numberOf(places)) that form one group each, as
  /// many sets for each choice of the other coordinates; j counts the sets innermost.
  std::vector<Digit> places;
  std::vector<std::vector<uint32_t>> sets;

  /// The number j of the rank's group; nothing if it is in none.
  std::optional<uint32_t> groupOf(uint32_t rank) const;
  /// The member of a rank's group so many places further, around. Only of groups that span `spans` whole.
  uint32_t memberBehind(uint32_t rank, uint32_t places) const;
  uint32_t idOf(uint32_t group) const { return firstId + idStride * group; }
  /// The ranks of group j, ascending.
  std::vector<uint32_t> membersOf(uint32_t group) const;
  bool operator==(const GroupFormula &) const = default;
};

/// A value that depends on the rank.
struct RankField {
  enum class Kind : uint8_t {
    /// The id of the rank's group of kind `value`: decimal digits, padded with zeros.
    Group,
    /// The rank plus `value`: a varint of five bytes. Its own number where `value` is 0.
    Rank,
    /// The member of the rank's group of kind `value` modulo 2^32 that stands `value` / 2^32 places further, around: as
    /// a rank.
    Member,
  };
  Kind kind = Kind::Rank;
  int64_t value = 0;
  bool operator==(const RankField &) const = default;

  static RankField member(uint32_t groupKind, uint32_t places) {
    return {Kind::Member, static_cast<int64_t>(uint64_t{places} << 32 | groupKind)};
  }
  /// Of groups and members.
  uint32_t groupKind() const { return static_cast<uint32_t>(value); }
  uint32_t places() const { return static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32); }
  /// Written as a rank; else as the id of a group.
  bool isRank() const { return kind != Kind::Group; }
};

/// Where a field stands: offset in its segment, and number in the field table of its class.
struct FieldPatch {
  uint32_t offset = 0;
  uint32_t field = 0;
  bool operator==(const FieldPatch &) const = default;
};

/// Bytes of a field of the kind.
inline constexpr unsigned kRankFieldBytes = 5;
inline constexpr unsigned kMostFieldBytes = 10;

/// Writes `rank` as a varint of five bytes.
void putRank(char *at, uint32_t rank);
/// Writes `id` as `digits` decimal digits.
void putGroupId(char *at, uint32_t id, unsigned digits);

/// The bytes of all fields of a class for one rank after the other.
class FieldValues {
public:
  FieldValues(std::span<const RankField> fields, std::span<const GroupFormula> groups, unsigned groupDigits)
      : fields_(fields), groups_(groups), groupDigits_(groupDigits) {}

  /// A class need not have groups of every kind: a field of a group that the rank is not in has no value.
  void select(uint32_t rank);
  /// Of field `index`, for the rank selected.
  std::span<const char> operator[](uint32_t index) const;

  /// Replaces the fields in `bytes`, which are those of a segment from offset `from` on; fields may stand there in
  /// part.
  void apply(std::span<const FieldPatch> patches, std::span<char> bytes, uint64_t from = 0) const;

private:
  std::span<const RankField> fields_;
  std::span<const GroupFormula> groups_;
  unsigned groupDigits_;
  std::vector<char> values_; ///< kMostFieldBytes each
};

/// Pieces of the group file, `{"<id>": [ranks…], …}` by id, to be written one after the other: each call of next()
/// replaces the text by the following piece, of about `bytes` bytes; false at the end.
class GroupFileText {
public:
  GroupFileText(std::span<const GroupFormula> groups, unsigned groupDigits)
      : groups_(groups), groupDigits_(groupDigits) {}
  bool next(std::string &piece, size_t bytes = 1 << 20);

private:
  std::span<const GroupFormula> groups_;
  unsigned groupDigits_;
  uint32_t group_ = 0, kind_ = 0;
  bool begun_ = false, ended_ = false;
};

} // namespace stg::bundle
