//===- OpBlocks.cpp - define and grad blocks of ops ------------------------------------===//
// A block speaks of the op's own dims: with `attend(q, k, v)` on one sequence, s and t are both S outside, but two dims
// inside. Dims of its body are therefore named by the op's variables; operands and results map by position. The same
// block with the same sizes gives the same body wherever the op is called.
//===----------------------------------------------------------------------===//
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"

using namespace stg;
using llvm::StringRef;

struct Elaborator::BlockWalk {
  std::unique_ptr<UnitBuilder::Detached> outer;
  llvm::StringMap<unsigned> instances;
  std::string unitBase;
  Recording recording;
};

/// Per factor the dim that the body has for it.
llvm::SmallVector<Dim, 8> Elaborator::dimsInside(const OpBlock &block, const CallFields &fields) {
  llvm::SmallVector<Dim, 8> inside(fields.factors.size());
  for (size_t i = 0; i < inside.size(); ++i) {
    const std::string &variable = block.variables[i];
    bool several = llvm::count(block.variables, variable) > 1 || variable.empty() || variable == "...";
    std::string name = several ? variable + "." + program_.text(fields.factors[i].dim.name).str() : variable;
    inside[i] = {program_.context->name(name), fields.factors[i].dim.size};
  }
  return inside;
}

static TensorType typeInside(llvm::ArrayRef<uint32_t> factors, ElementType element, llvm::ArrayRef<Dim> inside) {
  TensorType type;
  type.element = element;
  for (uint32_t factor : factors)
    type.dims.push_back(inside[factor]);
  return type;
}

/// Opens a body with the given inputs; the scope has them and the op's dims as the body calls them.
Scope *Elaborator::enterBlock(const OpBlock &block, const CallFields &fields, llvm::ArrayRef<Dim> inside,
                              llvm::ArrayRef<std::pair<std::string, TensorType>> inputs, BlockWalk &walk) {
  std::vector<std::string> names;
  std::vector<TensorType> types;
  for (auto &[name, type] : inputs) {
    names.push_back(name);
    types.push_back(type);
  }
  std::vector<Tensor> values;
  walk.outer = units_.detach(types, names, values);
  walk.instances = std::exchange(stretch_.instances, {});
  walk.unitBase = std::exchange(unitBase_, block.frame.path);
  walk.recording = startRecording(nullptr);
  Scope *inner = newScope(&block.scope, &block.frame);
  for (auto &[variable, group] : block.scope.dims) {
    DimGroup renamed{program_.context->name(variable), {}};
    for (const Dim &part : group.parts)
      for (size_t i = 0; i < inside.size(); ++i)
        if (block.variables[i] == variable && fields.factors[i].dim.name == part.name)
          renamed.parts.push_back(inside[i]);
    if (renamed.parts.size() == group.parts.size())
      inner->dims[variable] = renamed;
  }
  for (size_t i = 0; i < names.size(); ++i)
    inner->values[internedName(names[i])] = values[i];
  return inner;
}

void Elaborator::leaveBlock(BlockWalk &walk) {
  stopRecording(std::move(walk.recording));
  stretch_.instances = std::move(walk.instances);
  unitBase_ = std::move(walk.unitBase);
}

/// The value of `name` as a result of type `wanted`; nothing, reported, if it has other dims.
std::optional<Tensor> Elaborator::blockResult(const OpBlock &block, Scope &inner, StringRef name,
                                              const TensorType &wanted, SourceRange where, StringRef declared) {
  auto found = inner.values.find(name);
  auto *tensor = found == inner.values.end() ? nullptr : std::get_if<Tensor>(&found->second);
  if (!tensor || tensor->unknown)
    return std::nullopt;
  Context context;
  context.scope = &inner;
  context.name = name.str();
  llvm::SmallVector<NameId, 6> order, beyond;
  for (const Dim &dim : wanted.dims)
    order.push_back(dim.name);
  // A cotangent is summed over what its primal has not.
  for (const Dim &dim : tensor->type.dims)
    if (!wanted.has(dim.name))
      beyond.push_back(dim.name);
  if (inGrad_ && !beyond.empty())
    if (auto sum = reduce(ReduceFn::Sum, *tensor, beyond, context, where, "sum"))
      *tensor = *sum;
  bool same = order.size() == tensor->type.dims.size() &&
              llvm::all_of(order, [&](NameId dim) { return tensor->type.has(dim); });
  if (!same) {
    diags_.report(where, diag::ReturnMismatch{.layer = block.op.name.text,
                                              .actual = describe(tensor->type, &inner),
                                              .declared = declared});
    return std::nullopt;
  }
  Tensor result = reorder(*tensor, order, context, where);
  if (result.type.element != wanted.element)
    result =
        emit(OpKind::Map, {result}, MapFields{MapFn::Cast, wanted.element}, context, where, {valueName(context)})[0];
  return result;
}

BodyId Elaborator::elaborateDefine(const OpBlock &block, const CallFields &fields) {
  llvm::SmallVector<Dim, 8> inside = dimsInside(block, fields);
  std::vector<std::pair<std::string, TensorType>> inputs;
  for (size_t i = 0; i < block.operands.size(); ++i)
    inputs.push_back({block.names[i], typeInside(fields.operandFactors[i], block.operands[i].type.element, inside)});
  BlockWalk walk;
  Scope *inner = enterBlock(block, fields, inside, inputs, walk);
  const ast::Block &define = block.op.define;
  registerLets(define, *inner);
  this->block(define, *inner);
  std::vector<std::pair<std::string, Tensor>> results;
  const auto &outs = block.op.signature.outs;
  for (size_t i = 0; i < outs.size(); ++i) {
    if (!inner->values.count(outs[i].name.text)) {
      diags_.report(define.range, diag::DefineIncomplete{.op = block.op.name.text, .output = outs[i].name.text});
      continue;
    }
    TensorType wanted = typeInside(fields.resultFactors[i], fields.resultElements[i], inside);
    if (auto result =
            blockResult(block, *inner, outs[i].name.text, wanted, define.range, sourceText(outs[i].dims.range)))
      results.push_back({outs[i].name.text.str(), *result});
  }
  leaveBlock(walk);
  if (results.size() != outs.size()) {
    units_.abandon(std::move(walk.outer));
    return {};
  }
  return units_.attach(std::move(walk.outer), block.op.name.text, results);
}

/// The gradient: inputs are the operands, the results, and the cotangents that the block names; outputs the cotangents
/// of operands that it defines. Whether it defines all that training needs is asked where that is known (E210).
void Elaborator::elaborateGrad(const OpBlock &block, CallFields &fields) {
  llvm::SmallVector<Dim, 8> inside = dimsInside(block, fields);
  const ast::OpItem &op = block.op;
  std::vector<std::pair<std::string, TensorType>> inputs;
  for (size_t i = 0; i < block.operands.size(); ++i)
    inputs.push_back({block.names[i], typeInside(fields.operandFactors[i], block.operands[i].type.element, inside)});
  size_t numCotangents = std::min(op.gradParams.size(), fields.resultFactors.size());
  for (size_t i = 0; i < fields.resultFactors.size(); ++i) {
    const ast::Name &name = op.signature.outs[i].name;
    inputs.push_back({name.empty() ? "out" : name.text.str(),
                      typeInside(fields.resultFactors[i], fields.resultElements[i], inside)});
  }
  for (size_t i = 0; i < numCotangents; ++i)
    inputs.push_back(
        {op.gradParams[i].text.str(), typeInside(fields.resultFactors[i], fields.resultElements[i], inside)});
  BlockWalk walk;
  Scope *inner = enterBlock(block, fields, inside, inputs, walk);
  bool outerGrad = std::exchange(inGrad_, true);
  block.frame.inGrad = true;
  registerLets(op.grad, *inner);
  this->block(op.grad, *inner);
  std::vector<std::pair<std::string, Tensor>> results;
  llvm::SmallVector<int32_t, 6> outputs;
  for (size_t i = 0; i < block.operands.size(); ++i) {
    std::string cotangent = "d" + block.names[i];
    auto result = blockResult(block, *inner, cotangent, inputs[i].second, op.grad.range, block.names[i]);
    outputs.push_back(result ? static_cast<int32_t>(results.size()) : -1);
    if (result)
      results.push_back({cotangent, *result});
  }
  inGrad_ = outerGrad;
  block.frame.inGrad = false;
  leaveBlock(walk);
  fields.grad = units_.attach(std::move(walk.outer), op.name.text.str() + ".grad", results);
  fields.gradOutputs = std::move(outputs);
}
