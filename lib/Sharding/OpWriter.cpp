//===- OpWriter.cpp -----------------------------------------------------------===//
#include "OpWriter.h"

namespace stg {

OpWriter::OpWriter(IRContext &context, Body &body) : context_(context), body_(body) {
  for (const Value &value : body.values)
    if (value.name)
      names_.insert(context.text(value.name));
}

void OpWriter::push(Op op) {
  OpId id(static_cast<uint32_t>(body_.ops.size()));
  for (ValueId result : op.results)
    body_.values[result.index].def = id;
  body_.ops.push_back(std::move(op));
}

ValueId OpWriter::between(ValueId last, const Layout &layout) {
  Value value = body_.value(last);
  value.layout = layout;
  for (unsigned n = 2; value.name; ++n) {
    std::string text = context_.text(value.name).str() + "'" + std::to_string(n);
    if (!names_.insert(text).second)
      continue;
    value.name = context_.name(text);
    break;
  }
  body_.values.push_back(std::move(value));
  return ValueId(static_cast<uint32_t>(body_.values.size() - 1));
}

} // namespace stg
