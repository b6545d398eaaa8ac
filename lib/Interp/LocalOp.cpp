//===- LocalOp.cpp --------------------------------------------------------===//
// A define block runs on the operands as the rank holds them: what is held of a dim of the block is read off the
// operand or, for a dim that only results have, off what the call has to give.
//===----------------------------------------------------------------------===//
#include "LocalOp.h"
#include "RunSize.h"
#include "stg/Interp/OpMeanings.h"
#include "stg/Interp/References.h"

namespace stg::interp {

TensorDim wholeDim(const Dim &dim) { return {dim.name, sizeOf(dim.size)}; }

TensorDims wholeDims(const TensorType &type) {
  TensorDims dims;
  for (const Dim &dim : type.dims)
    dims.push_back(wholeDim(dim));
  return dims;
}

std::string describe(llvm::ArrayRef<TensorDim> dims, const IRContext &context) {
  std::string text = "[";
  for (const TensorDim &dim : dims) {
    text += (text.size() > 1 ? ", " : "") + context.text(dim.name).str() + " = " + std::to_string(dim.size);
    if (dim.held)
      text += " of " + std::to_string(dim.held->wholeSize);
  }
  return text + "]";
}

void countElements(const Tensor &value, int64_t &elements) {
  elements = saturatingSum(elements, static_cast<int64_t>(value.data.size()));
  checkCount(elements, kMostElements, "elements");
}

void checkDims(const Tensor &value, llvm::ArrayRef<TensorDim> stated, ElementType element, const IRContext &context) {
  if (stated != llvm::ArrayRef(value.dims)) {
    std::string made = describe(value.dims, context), wanted = describe(stated, context);
    if (made == wanted)
      throw InterpFault("is " + made + ", but at other positions than its layout says");
    throw InterpFault("is " + made + ", but its type says " + wanted);
  }
  if (element != value.element)
    throw InterpFault("is " + spelling(value.element).str() + ", but its type says " + spelling(element).str());
}

namespace {

/// By name where the tensor has these dims. Else by position: a block may call two dims apart that are one to the
/// caller, as the queries' and the keys' positions of self-attention.
Tensor alignedTo(llvm::ArrayRef<NameId> names, const Tensor &tensor) {
  bool byName = llvm::all_of(names, [&](NameId name) { return tensor.has(name); });
  return byName ? permuted(tensor, names) : renamed(tensor, names);
}

llvm::SmallVector<NameId, 6> namesOf(const TensorType &type) {
  llvm::SmallVector<NameId, 6> names;
  for (const Dim &dim : type.dims)
    names.push_back(dim.name);
  return names;
}

class Evaluation {
public:
  Evaluation(const Op &op, std::vector<Tensor> operands, const OpPlace &place)
      : op_(op), operands_(std::move(operands)), place_(place) {}

  std::vector<Tensor> run() {
    if (op_.kind == OpKind::Call)
      return call(op_.get<CallFields>());
    return {single()};
  }

private:
  const Tensor &operand(size_t position = 0) const {
    if (position >= operands_.size())
      throw InterpFault("operand " + std::to_string(position) + " has no value");
    return operands_[position];
  }
  /// A dim of the only result.
  TensorDim held(const Dim &dim) const { return place_.heldDim(0, dim); }

  Tensor single() {
    switch (op_.kind) {
    case OpKind::Constant:
      return constant(op_.get<ConstantFields>());
    case OpKind::Iota: {
      const auto &fields = op_.get<IotaFields>();
      return iota(held(fields.dim), sizeOf(fields.start), fields.element);
    }
    case OpKind::Contract: {
      const auto &fields = op_.get<ContractFields>();
      return contract(operands_, fields.reduced, fields.element);
    }
    case OpKind::Map: {
      const auto &fields = op_.get<MapFields>();
      return map(fields.fn, operands_, fields.element);
    }
    case OpKind::Reduce: {
      const auto &fields = op_.get<ReduceFields>();
      return reduce(fields.fn, operand(), fields.reduced, fields.element);
    }
    case OpKind::Stop:
      return operand();
    case OpKind::Dropout:
      return dropped(op_.get<DropoutFields>());
    case OpKind::Masked: {
      const auto &fields = op_.get<MaskedFields>();
      return masked(operand(), visibilityOf(fields.mask), fields.query, fields.key,
                    fields.zero ? 0 : -std::numeric_limits<double>::infinity());
    }
    case OpKind::View:
      return viewed(op_.get<ViewFields>());
    case OpKind::Concat: {
      const auto &fields = op_.get<ConcatFields>();
      return concat(operands_, fields.dim.name, fields.element);
    }
    case OpKind::At: {
      const auto &fields = op_.get<AtFields>();
      return at(operand(), fields.dim, sizeOf(fields.index));
    }
    case OpKind::Slice: {
      const auto &fields = op_.get<SliceFields>();
      return slice(operand(), fields.from, held(fields.to), sizeOf(fields.start));
    }
    case OpKind::Pad: {
      const auto &fields = op_.get<PadFields>();
      return pad(operand(), fields.from, held(fields.to), sizeOf(fields.start));
    }
    case OpKind::Broadcast: {
      TensorDims dims;
      for (const Dim &dim : op_.get<BroadcastFields>().dims)
        dims.push_back(held(dim));
      return broadcast(operand(), dims);
    }
    case OpKind::Gather:
      return gather(operand(), operand(1), op_.get<GatherFields>().dim);
    case OpKind::Scatter: {
      const auto &fields = op_.get<ScatterFields>();
      return scatter(operand(), operand(1), held(fields.dim), fields.replaced, fields.element);
    }
    case OpKind::Append: {
      const auto &fields = op_.get<AppendFields>();
      return append(operand(), operand(1), fields.from, fields.into);
    }
    default:
      throw InterpFault("`" + mnemonic(op_.kind).str() + "` has no meaning of its own");
    }
  }

  static Tensor constant(const ConstantFields &fields) {
    double number = fields.number;
    if (fields.value) {
      std::optional<Rational> exact = fields.value.rational();
      if (!exact)
        throw InterpFault("the size `" + fields.value.str() + "` has no value");
      number = exact->toDouble();
    }
    return Tensor::scalar(number, fields.element);
  }

  Tensor dropped(const DropoutFields &fields) const {
    uint64_t key = hashOf(hashOf(hashOf(place_.seed, llvm::StringRef(place_.path)), llvm::StringRef("dropout")),
                          uint64_t(fields.stream));
    return dropout(operand(), fields.probability, key);
  }

  Tensor viewed(const ViewFields &fields) const {
    llvm::SmallVector<ViewStep, 2> steps;
    for (const ViewItem &item : fields.items) {
      ViewStep step{item.from, {}};
      for (const Dim &dim : item.to)
        step.to.push_back(held(dim));
      steps.push_back(std::move(step));
    }
    return view(operand(), steps, fields.order);
  }

  //===--------------------------------------------------------------------===//
  // Calls
  //===--------------------------------------------------------------------===//

  std::vector<Tensor> call(const CallFields &call) {
    if (operands_.size() != call.operandFactors.size())
      throw InterpFault("has " + std::to_string(operands_.size()) + " operands where its fields have " +
                        std::to_string(call.operandFactors.size()));
    std::vector<TensorDim> factors = heldFactors(call);
    std::vector<Tensor> results = call.define ? define(call, factors) : reference(call, factors);
    if (results.size() < op_.results.size())
      throw InterpFault("gives " + std::to_string(results.size()) + " results of " +
                        std::to_string(op_.results.size()));
    results.resize(op_.results.size());
    return results;
  }

  /// What is held of a factor, under the caller's name: read off the operands, else off the results.
  TensorDim heldFactor(const CallFields &call, uint32_t factor) const {
    const Dim &dim = call.factors[factor].dim;
    for (size_t i = 0; i < operands_.size(); ++i) {
      const TensorDim *own = llvm::is_contained(call.operandFactors[i], factor) ? operands_[i].find(dim.name) : nullptr;
      if (!own)
        continue;
      if (own->wholeSize() != sizeOf(dim.size) && !place_.program.enumerationOf(dim.name)) // rounded up
        throw InterpFault("operand " + std::to_string(i) + " of the call has " + std::to_string(own->wholeSize()) +
                          " positions where a factor has " + std::to_string(sizeOf(dim.size)));
      return *own;
    }
    for (uint32_t i = 0; i < call.resultFactors.size(); ++i)
      if (llvm::is_contained(call.resultFactors[i], factor))
        return place_.heldDim(i, dim);
    return wholeDim(dim);
  }

  std::vector<TensorDim> heldFactors(const CallFields &call) const {
    std::vector<TensorDim> held;
    for (uint32_t f = 0; f < call.factors.size(); ++f) {
      held.push_back(heldFactor(call, f));
      FactorKind kind = call.factors[f].kind;
      if ((kind == FactorKind::Whole && !call.isFilledByCarry(f)) || kind == FactorKind::Stream)
        requireWhole(held.back(), "factor `" + place_.program.text(call.factors[f].name).str() + "`");
    }
    return held;
  }

  std::vector<Tensor> reference(const CallFields &call, const std::vector<TensorDim> &factors) const {
    llvm::StringRef callee = place_.program.text(call.callee);
    const Reference *reference = findReference(callee);
    if (!reference)
      throw InterpFault("`" + callee.str() + "` has neither a define block nor a reference");
    FactorNames names(call, *place_.program.context, factors);
    std::vector<Tensor> inside;
    for (size_t i = 0; i < operands_.size(); ++i)
      inside.push_back(names.toFactors(i, operands_[i]));
    std::vector<Tensor> results =
        reference->run(ReferenceCall(call, *place_.program.context, names, std::move(inside)));
    for (size_t i = 0; i < results.size() && i < call.resultFactors.size(); ++i)
      results[i] = names.fromFactors(i, results[i]);
    return results;
  }

  /// A define block has the operands as input slots and the results as outputs, dim by dim.
  std::vector<Tensor> define(const CallFields &call, const std::vector<TensorDim> &factors) {
    const Body &body = place_.program.body(call.define);
    std::vector<Tensor> inputs;
    TensorDims known; // of the block's dims
    auto learn = [&](const TensorType &type, llvm::ArrayRef<TensorDim> dims) {
      for (size_t i = 0; i < type.dims.size() && i < dims.size(); ++i)
        if (llvm::none_of(known, [&](const TensorDim &dim) { return dim.name == type.dims[i].name; })) {
          known.push_back(dims[i]);
          known.back().name = type.dims[i].name;
        }
    };
    for (size_t slot = 0; slot < operands_.size() && slot < body.inputs.size(); ++slot) {
      inputs.push_back(alignedTo(namesOf(body.inputs[slot].type), operands_[slot]));
      learn(body.inputs[slot].type, inputs.back().dims);
    }
    for (size_t i = 0; i < body.outputs.size() && i < call.resultFactors.size(); ++i) {
      TensorDims dims;
      for (uint32_t factor : call.resultFactors[i])
        dims.push_back(factors[factor]);
      if (const std::optional<TensorType> &type = body.value(body.outputs[i].value).type)
        learn(*type, dims);
    }
    std::vector<std::optional<Tensor>> values = runBlock(body, inputs, known);

    std::vector<Tensor> results;
    for (size_t i = 0; i < body.outputs.size() && i < call.resultFactors.size(); ++i) {
      llvm::SmallVector<NameId, 6> names;
      for (uint32_t factor : call.resultFactors[i])
        names.push_back(call.factors[factor].dim.name);
      results.push_back(alignedTo(names, *values[body.outputs[i].value.index]));
      results.back().element = call.resultElements[i];
    }
    return results;
  }

  std::vector<std::optional<Tensor>> runBlock(const Body &body, const std::vector<Tensor> &inputs,
                                              llvm::ArrayRef<TensorDim> known) {
    const CallFields &call = op_.get<CallFields>();
    std::string path = place_.path + "." + place_.program.text(call.callee).str();
    auto heldDim = [&](uint32_t, const Dim &dim) {
      for (const TensorDim &own : known)
        if (own.name == dim.name && own.wholeSize() == sizeOf(dim.size))
          return own;
      return wholeDim(dim);
    };
    OpPlace inside{place_.program, body, place_.seed, path, heldDim, place_.elements};
    std::vector<std::optional<Tensor>> values(body.values.size());
    for (const Op &op : body.ops) {
      try {
        std::vector<Tensor> results;
        if (op.kind == OpKind::Input) {
          uint32_t slot = op.get<SlotFields>().slot;
          if (slot >= inputs.size())
            throw InterpFault("operand " + std::to_string(slot) + " has no value");
          results.push_back(inputs[slot]);
        } else {
          std::vector<Tensor> operands;
          for (ValueId operand : op.operands)
            operands.push_back(*values[operand.index]);
          results = evaluateOp(op, std::move(operands), inside);
        }
        for (uint32_t i = 0; i < op.results.size(); ++i) {
          if (const std::optional<TensorType> &type = body.value(op.results[i]).type)
            checkWholeType(results[i], *type);
          countElements(results[i], place_.elements);
          values[op.results[i].index] = std::move(results[i]);
        }
      } catch (const InterpFault &fault) {
        // A fault inside a define block passes here once per call around it.
        throw InterpFault(nameOf(op, inside) + " (" + mnemonic(op.kind).str() + "): " + fault.what(),
                          fault.where().valid() ? fault.where() : op.where);
      }
    }
    return values;
  }

  /// Types inside a block say nothing of layouts: which part of a dim is held shows in the operands only.
  void checkWholeType(const Tensor &value, const TensorType &type) const {
    TensorDims stated = wholeDims(type);
    for (size_t i = 0; i < stated.size() && i < value.dims.size(); ++i)
      if (value.dims[i].held && value.dims[i].wholeSize() == stated[i].size)
        stated[i] = {stated[i].name, value.dims[i].size, value.dims[i].held};
    checkDims(value, stated, type.element, *place_.program.context);
  }

  static std::string nameOf(const Op &op, const OpPlace &place) {
    std::string name = place.path;
    if (!op.results.empty() && place.body.value(op.results.front()).name)
      name += "." + place.program.text(place.body.value(op.results.front()).name).str();
    return name;
  }

  const Op &op_;
  std::vector<Tensor> operands_;
  const OpPlace &place_;
};

} // namespace

std::vector<Tensor> evaluateOp(const Op &op, std::vector<Tensor> operands, const OpPlace &place) {
  return Evaluation(op, std::move(operands), place).run();
}

} // namespace stg::interp
