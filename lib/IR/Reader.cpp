//===- Reader.cpp - the IR from text ----------------------------------------===//
#include "stg/IR/Reader.h"
#include "ProgramReader.h"

namespace stg {

namespace detail {

Program ProgramReader::read() {
  lex_.wantWord("stgir");
  program_.level = enumeration(levelFrom, "a level");
  readHeader();
  while (lex_.takeWord("body"))
    readBody();
  while (lex_.takeWord("unit"))
    readUnit();
  if (lex_.takeWord("pipeline"))
    readPipeline();
  while (lex_.takeWord("output"))
    readProgramOutput();
  if (!lex_.atEnd())
    lex_.expected("`body`, `unit`, `output` or the end of the file");
  resolveDefines();
  return std::move(program_);
}

void ProgramReader::unknown(llvm::StringRef kind, llvm::StringRef name, uint32_t begin) {
  lex_.diags().report(lex_.since(begin), diag::IRUnknownName{.kind = kind, .name = croppedText(name)});
  throw ReadFailure();
}

DimExpr ProgramReader::parseSize(llvm::StringRef text, uint32_t begin) {
  if (text == "?")
    return {};
  std::optional<DimExpr> expr = context_.dims.parse(text);
  if (!expr) {
    lex_.diags().report(lex_.since(begin), diag::IRBadSize{.text = croppedText(text)});
    throw ReadFailure();
  }
  return *expr;
}

DimExpr ProgramReader::size() {
  lex_.want("[");
  uint32_t begin = lex_.position();
  DimExpr expr = parseSize(lex_.rawUntil("]"), begin);
  lex_.want("]");
  return expr;
}

Dim ProgramReader::dim() {
  uint32_t begin = lex_.position();
  std::string name = lex_.name("a dim");
  if (!lex_.take("="))
    return {context_.name(name), parseSize(name, begin)};
  begin = lex_.position();
  return {context_.name(name), parseSize(lex_.rawUntil(",]"), begin)};
}

Dim ProgramReader::oneDim() {
  lex_.want("[");
  Dim result = dim();
  lex_.want("]");
  return result;
}

TensorType ProgramReader::type() {
  TensorType result;
  result.element = element();
  dims(result.dims);
  return result;
}

MaskValue ProgramReader::mask() {
  MaskValue value;
  value.kind = enumeration(maskKindFrom, "a mask");
  if (lex_.peek('('))
    lex_.list('(', ')', [&] { value.parameters.push_back(size()); });
  return value;
}

StaticArg ProgramReader::staticArg() {
  if (lex_.peek('['))
    return size();
  if (lex_.peek('"'))
    return lex_.string();
  if (lex_.takeWord("true"))
    return true;
  if (lex_.takeWord("false"))
    return false;
  if (lex_.takeWord("mask"))
    return mask();
  return lex_.number<double>("a value");
}

BodyId ProgramReader::bodyCalled(const std::string &name, SourceRange where) {
  auto found = bodies_.find(name);
  if (found != bodies_.end())
    return found->second;
  lex_.diags().report(where, diag::IRUnknownName{.kind = "body", .name = croppedText(name)});
  throw ReadFailure();
}

void ProgramReader::resolveDefines() {
  for (const PendingDefine &pending : defines_) {
    auto &fields = program_.bodies[pending.body].ops[pending.op].get<CallFields>();
    (pending.isGrad ? fields.grad : fields.define) = bodyCalled(pending.name, pending.where);
  }
  for (const PendingOptimizer &pending : optimizerBodies_)
    program_.plan.optimizers[pending.rule].bodies[pending.entry].body = bodyCalled(pending.name, pending.where);
  for (const PendingBinding &pending : laterBindings_)
    program_.units[pending.unit].inputs[pending.slot] = laterOutput(pending);
}

} // namespace detail

std::optional<Program> readProgram(FileId file, Diagnostics &diags) {
  try {
    return detail::ProgramReader(file, diags).read();
  } catch (const detail::ReadFailure &) {
    return std::nullopt;
  }
}

} // namespace stg
