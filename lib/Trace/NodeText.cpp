//===- NodeText.cpp - a decoded node as one line of text -------------------===//

#include "stg/Trace/NodeText.h"
#include "fmt/format.h"

namespace stg {
namespace {

bool isPlainWord(std::string_view text) {
  for (unsigned char c : text)
    if (c <= ' ' || c >= 0x7f || c == '"' || c == '\\' || c == ',' || c == '=')
      return false;
  return !text.empty();
}

std::string word(std::string_view text) {
  if (isPlainWord(text))
    return std::string(text);
  std::string quoted = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\')
      quoted += {'\\', static_cast<char>(c)};
    else if (c < ' ' || c == 0x7f)
      quoted += fmt::format("\\x{:02x}", c);
    else
      quoted += static_cast<char>(c); // UTF-8 stays as it is
  }
  return quoted + '"';
}

std::string scalarText(const DecodedAttribute::Scalar &value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(uint64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return fmt::format("{}", v); }
    std::string operator()(const std::string &v) const { return word(v); }
  };
  return std::visit(Visitor(), value);
}

void appendAttribute(std::string &line, const DecodedAttribute &attribute, ShowKinds kinds) {
  line += ' ';
  line += word(attribute.name);
  if (kinds == ShowKinds::Yes) {
    line += ':';
    line += attributeKindName(attribute.kind);
    line += attribute.isList ? "_list" : "";
  }
  line += '=';
  if (attribute.name == "comm_type" && attribute.asUnsigned()) {
    line += collectiveName(*attribute.asUnsigned());
    return;
  }
  if (!attribute.isList) {
    line += attribute.values.empty() ? "none" : scalarText(attribute.values[0]);
    return;
  }
  line += '[';
  for (size_t i = 0; i < attribute.values.size(); ++i)
    line += (i == 0 ? "" : ", ") + scalarText(attribute.values[i]);
  line += ']';
}

void appendDeps(std::string &line, const char *label, const std::vector<uint64_t> &deps) {
  if (!deps.empty())
    line += fmt::format(" {}=[{}]", label, fmt::join(deps, ", "));
}

} // namespace

std::string nodeText(const DecodedNode &node, ShowKinds kinds) {
  std::string line = fmt::format("{} {} {}", node.id, nodeTypeName(node.type), word(node.name));
  appendDeps(line, "data", node.dataDeps);
  appendDeps(line, "ctrl", node.ctrlDeps);
  if (node.startMicros != 0)
    line += fmt::format(" start_us={}", node.startMicros);
  if (node.durationMicros != 0)
    line += fmt::format(" duration_us={}", node.durationMicros);
  for (const DecodedAttribute &attribute : node.attributes)
    appendAttribute(line, attribute, kinds);
  return line;
}

std::string metadataText(const DecodedMetadata &metadata, ShowKinds kinds) {
  std::string line = "metadata " + word(metadata.version);
  for (const DecodedAttribute &attribute : metadata.attributes)
    appendAttribute(line, attribute, kinds);
  return line;
}

} // namespace stg
