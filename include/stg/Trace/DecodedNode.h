//===- DecodedNode.h - one node of a trace, as it was read -----------------===//
// A node of any producer, with everything that its file says, right or wrong:
// the type may be no known one, an attribute may be missing or of another kind.
// The checker, the statistics and the text form work on these.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stg {

/// Node types of the schema. A file may hold other numbers: DecodedNode keeps the number.
enum class EtNodeType : uint32_t {
  Invalid = 0,
  Metadata = 1,
  MemLoad = 2,
  MemStore = 3,
  Comp = 4,
  Send = 5,
  Recv = 6,
  Coll = 7,
};

/// Kinds of attribute values; the numbers are the fields of the scalar in the schema, a list has the number after it.
enum class AttributeKind : uint8_t {
  None = 0,
  Double = 3,
  Float = 5,
  Int32 = 7,
  Int64 = 9,
  Uint32 = 11,
  Uint64 = 13,
  Sint32 = 15,
  Sint64 = 17,
  Fixed32 = 19,
  Fixed64 = 21,
  Sfixed32 = 23,
  Sfixed64 = 25,
  Bool = 27,
  String = 29,
  Bytes = 31,
};

/// `int64`, `string`, ...; "none" where there is no value.
std::string_view attributeKindName(AttributeKind kind);

struct DecodedAttribute {
  using Scalar = std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string>;

  std::string name;
  AttributeKind kind = AttributeKind::None;
  bool isList = false;
  /// One value, or those of the list. Signed kinds are int64_t, unsigned ones uint64_t, float and double double.
  std::vector<Scalar> values;

  /// The scalar as a number that is not negative; none for a list, a text, a negative or fractional number.
  std::optional<uint64_t> asUnsigned() const;
  const std::string *asString() const;
};

struct DecodedNode {
  uint64_t id = 0;
  std::string name;
  uint32_t type = 0;
  std::vector<uint64_t> ctrlDeps;
  std::vector<uint64_t> dataDeps;
  uint64_t startMicros = 0;
  uint64_t durationMicros = 0;
  std::vector<DecodedAttribute> attributes;

  bool is(EtNodeType wanted) const { return type == static_cast<uint32_t>(wanted); }
  const DecodedAttribute *find(std::string_view attribute) const;
  /// The attribute as a number, if it is there and is one.
  std::optional<uint64_t> number(std::string_view attribute) const;
};

/// `COMP`, `COLL`, ...; the number where the type is unknown.
std::string nodeTypeName(uint32_t type);
/// `ALL_REDUCE`, ...; the number where the type is unknown.
std::string collectiveName(uint64_t type);

struct DecodedMetadata {
  std::string version;
  std::vector<DecodedAttribute> attributes;
};

} // namespace stg
