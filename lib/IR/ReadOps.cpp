//===- ReadOps.cpp - the fields of each kind of op from text --------------------===//
#include "ProgramReader.h"

namespace stg::detail {

void ProgramReader::readOperands(Op &op) {
  lex_.list('(', ')', [&] { op.operands.push_back(operand()); });
}

ElementType ProgramReader::resultElement(const Op &op) {
  if (lex_.take("->"))
    return element();
  if (op.results.size() == 1 && body_->value(op.results[0]).type)
    return body_->value(op.results[0]).type->element;
  lex_.expected("`->` and an element type");
}

void ProgramReader::readFields(Op &op) {
  switch (op.kind) {
  case OpKind::Input:
    op.get<SlotFields>().slot = use(inputSlots_, "input slot");
    return;
  case OpKind::Weight:
    op.get<SlotFields>().slot = use(weightSlots_, "weight slot");
    return;
  case OpKind::State:
    op.get<SlotFields>().slot = use(stateSlots_, "state slot");
    return;
  case OpKind::Update:
    op.get<SlotFields>().slot = use(stateSlots_, "state slot");
    readOperands(op);
    return;
  case OpKind::Accumulate:
  case OpKind::Assign:
    op.get<SlotFields>().slot = use(weightSlots_, "weight slot");
    readOperands(op);
    return;
  case OpKind::Gradient:
    op.get<SlotFields>().slot = use(weightSlots_, "weight slot");
    return;
  case OpKind::Tally:
    op.get<SlotFields>().slot = use(scalars_, "scalar");
    readOperands(op);
    return;
  case OpKind::Total:
    op.get<SlotFields>().slot = use(scalars_, "scalar");
    return;
  case OpKind::Pad: {
    auto &fields = op.get<PadFields>();
    readOperands(op);
    if (lex_.peekWord() != "as")
      fields.from = nameId("a dim");
    lex_.wantWord("as");
    fields.to = oneDim();
    lex_.wantWord("from");
    fields.start = size();
    return;
  }
  case OpKind::Broadcast:
    readOperands(op);
    lex_.wantWord("to");
    dims(op.get<BroadcastFields>().dims);
    return;
  case OpKind::Convert: {
    auto &fields = op.get<ConvertFields>();
    readOperands(op);
    lex_.wantWord("to");
    const std::optional<TensorType> *from = op.operands.size() == 1 ? &body_->value(op.operands[0]).type : nullptr;
    fields.to = layoutText(from && *from ? llvm::ArrayRef((*from)->dims) : llvm::ArrayRef<Dim>());
    fields.cause = cause();
    return;
  }
  case OpKind::Shard:
  case OpKind::Demote:
  case OpKind::ReduceScatter:
  case OpKind::AllReduce:
  case OpKind::AllToAll:
  case OpKind::AllGather:
    readOperands(op);
    readCollective(op.get<CollectiveFields>());
    return;
  case OpKind::Store:
  case OpKind::Load: {
    auto &fields = op.get<HostFields>();
    readOperands(op);
    if (lex_.takeWord("prefetch"))
      fields.prefetch = lex_.number<uint32_t>("how many units ahead");
    fields.overlaps = !lex_.takeWord("in_turn");
    return;
  }
  case OpKind::Constant: {
    auto &fields = op.get<ConstantFields>();
    if (lex_.peek('['))
      fields.value = size();
    else
      fields.number = lex_.number<double>("a number");
    fields.element = resultElement(op);
    return;
  }
  case OpKind::Iota: {
    auto &fields = op.get<IotaFields>();
    fields.dim = oneDim();
    lex_.wantWord("from");
    fields.start = size();
    fields.element = resultElement(op);
    return;
  }
  case OpKind::Contract: {
    auto &fields = op.get<ContractFields>();
    readOperands(op);
    lex_.wantWord("sum");
    names(fields.reduced);
    fields.element = resultElement(op);
    return;
  }
  case OpKind::Map:
    readOperands(op);
    op.get<MapFields>().element = resultElement(op);
    return;
  case OpKind::Reduce: {
    auto &fields = op.get<ReduceFields>();
    readOperands(op);
    fields.fn = enumeration(reduceFnFrom, "`sum`, `max`, `min` or `prod`");
    names(fields.reduced);
    fields.element = resultElement(op);
    return;
  }
  case OpKind::Stop:
    readOperands(op);
    return;
  case OpKind::Dropout: {
    auto &fields = op.get<DropoutFields>();
    readOperands(op);
    lex_.wantWord("p");
    fields.probability = lex_.number<double>("a probability");
    lex_.wantWord("stream");
    fields.stream = lex_.number<uint32_t>("the number of the stream");
    return;
  }
  case OpKind::Masked: {
    auto &fields = op.get<MaskedFields>();
    readOperands(op);
    fields.mask = mask();
    lex_.wantWord("query");
    fields.query = nameId("a dim");
    lex_.wantWord("key");
    fields.key = nameId("a dim");
    fields.zero = lex_.takeWord("zero");
    return;
  }
  case OpKind::View:
    readOperands(op);
    readView(op.get<ViewFields>());
    return;
  case OpKind::Concat: {
    auto &fields = op.get<ConcatFields>();
    readOperands(op);
    lex_.wantWord("along");
    fields.dim = oneDim();
    fields.element = resultElement(op);
    return;
  }
  case OpKind::At: {
    auto &fields = op.get<AtFields>();
    readOperands(op);
    fields.dim = nameId("a dim");
    lex_.wantWord("index");
    fields.index = size();
    return;
  }
  case OpKind::Slice: {
    auto &fields = op.get<SliceFields>();
    readOperands(op);
    fields.from = nameId("a dim");
    lex_.wantWord("as");
    fields.to = oneDim();
    lex_.wantWord("from");
    fields.start = size();
    return;
  }
  case OpKind::Gather:
    readOperands(op);
    op.get<GatherFields>().dim = nameId("a dim");
    return;
  case OpKind::Scatter: {
    auto &fields = op.get<ScatterFields>();
    readOperands(op);
    lex_.wantWord("into");
    fields.dim = oneDim();
    if (lex_.takeWord("replacing"))
      names(fields.replaced);
    fields.element = resultElement(op);
    return;
  }
  case OpKind::Append: {
    auto &fields = op.get<AppendFields>();
    readOperands(op);
    fields.from = nameId("a dim");
    lex_.wantWord("into");
    fields.into = nameId("a dim");
    return;
  }
  case OpKind::Call:
    readCall(op, op.get<CallFields>());
    return;
  }
}

ConversionCause ProgramReader::cause() {
  ConversionCause result;
  if (!lex_.takeWord("cause"))
    return result;
  lex_.want("(");
  result.had = lex_.number<int32_t>("the number of a rule or -1");
  lex_.want(",");
  result.wants = lex_.number<int32_t>("the number of a rule or -1");
  lex_.want(")");
  return result;
}

void ProgramReader::readCollective(CollectiveFields &fields) {
  lex_.wantWord("over");
  lex_.list('(', ')', [&] { fields.atoms.push_back(lex_.number<uint32_t>("the number of an atom")); });
  if (lex_.takeWord("from"))
    fields.from = nameId("a dim");
  if (lex_.takeWord("to"))
    fields.to = nameId("a dim");
  if (reduceFnFrom(lex_.peekWord()))
    fields.fn = enumeration(reduceFnFrom, "a reduction");
  fields.isStorage = lex_.takeWord("storage");
  if (lex_.takeWord("as"))
    fields.algorithm = enumeration(runAlgorithmFrom, "an algorithm");
  fields.cause = cause();
}

void ProgramReader::readView(ViewFields &fields) {
  // `kernel` ends a view without items; a dim of that name stands in quotes or parentheses.
  llvm::StringRef next = lex_.peekWord();
  if (next != "order" && next != "kernel" && next != "part")
    do {
      ViewItem item;
      item.factored = lex_.takeWord("factored");
      if (lex_.peek('('))
        names(item.from);
      else
        item.from.push_back(nameId("a dim"));
      lex_.wantWord("as");
      dims(item.to);
      fields.items.push_back(std::move(item));
    } while (lex_.take(","));
  if (lex_.takeWord("order"))
    names(fields.order);
}

ProgramReader::FactorRef ProgramReader::factorRef() {
  uint32_t begin = lex_.position();
  FactorRef ref;
  ref.name = lex_.name("a factor");
  if (lex_.take(":"))
    ref.number = lex_.number<uint32_t>("the number of the factor");
  ref.where = lex_.since(begin);
  return ref;
}

ProgramReader::FactorRefs ProgramReader::factorRefs() {
  FactorRefs list;
  lex_.list('{', '}', [&] { list.push_back(factorRef()); });
  return list;
}

uint32_t ProgramReader::resolve(const FactorRef &ref, const CallFields &fields) {
  llvm::SmallVector<uint32_t, 2> found;
  for (uint32_t i = 0; i < fields.factors.size(); ++i)
    if (context_.text(fields.factors[i].name) == ref.name && ref.number.value_or(i) == i)
      found.push_back(i);
  if (found.size() == 1)
    return found.front();
  lex_.diags().report(ref.where, diag::IRUnknownName{.kind = found.empty() ? "factor" : "single factor",
                                                     .name = croppedText(ref.name)});
  throw ReadFailure();
}

void ProgramReader::readCall(Op &op, CallFields &fields) {
  fields.callee = nameId("the op that is called");
  std::vector<FactorRefs> operandRefs, resultRefs;
  lex_.list('(', ')', [&] {
    op.operands.push_back(operand());
    operandRefs.push_back(factorRefs());
  });
  lex_.want("->");
  lex_.list('(', ')', [&] {
    fields.resultElements.push_back(element());
    resultRefs.push_back(factorRefs());
  });
  std::vector<std::pair<size_t, FactorRef>> alongs;
  lex_.wantWord("factors");
  lex_.list('(', ')', [&] {
    Factor factor;
    factor.name = nameId("a factor");
    lex_.wantWord("is");
    factor.dim = oneDim();
    factor.kind = enumeration(factorKindFrom, "the kind of the factor");
    if (lex_.peek('('))
      lex_.list('(', ')', [&] { factor.args.push_back(staticArg()); });
    if (lex_.takeWord("along"))
      alongs.push_back({fields.factors.size(), factorRef()});
    fields.factors.push_back(std::move(factor));
  });
  for (const auto &[index, ref] : alongs)
    fields.factors[index].along = resolve(ref, fields);
  auto resolveAll = [&](const std::vector<FactorRefs> &lists, std::vector<llvm::SmallVector<uint32_t, 6>> &into) {
    for (const FactorRefs &list : lists) {
      into.emplace_back();
      for (const FactorRef &ref : list)
        into.back().push_back(resolve(ref, fields));
    }
  };
  resolveAll(operandRefs, fields.operandFactors);
  resolveAll(resultRefs, fields.resultFactors);
  if (lex_.takeWord("statics"))
    lex_.list('(', ')', [&] {
      NameId name = nameId("the name of an argument");
      lex_.want("=");
      fields.statics.push_back({name, staticArg()});
    });
  if (lex_.takeWord("flops"))
    fields.flops = size();
  if (lex_.takeWord("other"))
    fields.other = size();
  if (lex_.takeWord("bytes"))
    fields.bytes = size();
  if (lex_.takeWord("define"))
    pendBody(false);
  if (lex_.takeWord("grad")) {
    pendBody(true);
    lex_.list('(', ')', [&] { fields.gradOutputs.push_back(lex_.number<int32_t>("the number of an output or -1")); });
  }
}

void ProgramReader::pendBody(bool isGrad) {
  uint32_t begin = lex_.position();
  std::string name = lex_.name("the name of a body");
  defines_.push_back({program_.bodies.size() - 1, body_->ops.size(), isGrad, name, lex_.since(begin)});
}

} // namespace stg::detail
