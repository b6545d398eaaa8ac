//===- DecodedNode.cpp - one node of a trace, as it was read ---------------===//

#include "stg/Trace/DecodedNode.h"

namespace stg {

std::string_view attributeKindName(AttributeKind kind) {
  switch (kind) {
  case AttributeKind::None:
    return "none";
  case AttributeKind::Double:
    return "double";
  case AttributeKind::Float:
    return "float";
  case AttributeKind::Int32:
    return "int32";
  case AttributeKind::Int64:
    return "int64";
  case AttributeKind::Uint32:
    return "uint32";
  case AttributeKind::Uint64:
    return "uint64";
  case AttributeKind::Sint32:
    return "sint32";
  case AttributeKind::Sint64:
    return "sint64";
  case AttributeKind::Fixed32:
    return "fixed32";
  case AttributeKind::Fixed64:
    return "fixed64";
  case AttributeKind::Sfixed32:
    return "sfixed32";
  case AttributeKind::Sfixed64:
    return "sfixed64";
  case AttributeKind::Bool:
    return "bool";
  case AttributeKind::String:
    return "string";
  case AttributeKind::Bytes:
    return "bytes";
  }
  return "none";
}

std::optional<uint64_t> DecodedAttribute::asUnsigned() const {
  if (isList || values.size() != 1)
    return std::nullopt;
  if (const auto *value = std::get_if<uint64_t>(&values[0]))
    return *value;
  if (const auto *value = std::get_if<int64_t>(&values[0]); value && *value >= 0)
    return static_cast<uint64_t>(*value);
  return std::nullopt;
}

const std::string *DecodedAttribute::asString() const {
  if (isList || values.size() != 1)
    return nullptr;
  return std::get_if<std::string>(&values[0]);
}

const DecodedAttribute *DecodedNode::find(std::string_view attribute) const {
  for (const DecodedAttribute &candidate : attributes)
    if (candidate.name == attribute)
      return &candidate;
  return nullptr;
}

std::optional<uint64_t> DecodedNode::number(std::string_view attribute) const {
  const DecodedAttribute *found = find(attribute);
  return found ? found->asUnsigned() : std::nullopt;
}

std::string nodeTypeName(uint32_t type) {
  static constexpr const char *kNames[] = {"INVALID", "METADATA", "MEM_LOAD", "MEM_STORE",
                                           "COMP",    "SEND",     "RECV",     "COLL"};
  return type < std::size(kNames) ? kNames[type] : "TYPE_" + std::to_string(type);
}

std::string collectiveName(uint64_t type) {
  static constexpr const char *kNames[] = {
      "ALL_REDUCE", "REDUCE",         "ALL_GATHER",           "GATHER", "SCATTER", "BROADCAST",
      "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"};
  return type < std::size(kNames) ? kNames[type] : "COLLECTIVE_" + std::to_string(type);
}

} // namespace stg
