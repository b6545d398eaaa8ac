//===- Reader.cpp - the IR from text ----------------------------------------===//
// Recursive descent over the forms that Printer.cpp writes, in its order. Values and slots are known before they are
// used; only the define body of a call may come later and is resolved at the end.
//===----------------------------------------------------------------------===//
#include "stg/IR/Reader.h"
#include "IRLexer.h"
#include "llvm/ADT/StringMap.h"

namespace stg {

namespace {

using detail::ReadFailure;

class Reader {
public:
  Reader(FileId file, Diagnostics &diags)
      : lex_(file, diags.sources().text(file), diags), program_(std::make_shared<IRContext>()),
        context_(*program_.context) {}

  Program read() {
    lex_.wantWord("stgir");
    program_.level = enumeration(levelFrom, "a level");
    readHeader();
    while (lex_.takeWord("body"))
      readBody();
    while (lex_.takeWord("unit"))
      readUnit();
    while (lex_.takeWord("output"))
      readProgramOutput();
    if (!lex_.atEnd())
      lex_.expected("`body`, `unit`, `output` or the end of the file");
    resolveDefines();
    return std::move(program_);
  }

private:
  //===--------------------------------------------------------------------===//
  // Pieces
  //===--------------------------------------------------------------------===//

  template <class Enum> Enum enumeration(std::optional<Enum> (*from)(llvm::StringRef), const std::string &what) {
    llvm::StringRef word = lex_.peekWord();
    std::optional<Enum> value = from(word);
    if (!value)
      lex_.expected(what);
    lex_.takeWord(word);
    return *value;
  }

  [[noreturn]] void unknown(llvm::StringRef kind, llvm::StringRef name, uint32_t begin) {
    lex_.diags().report(lex_.since(begin), diag::IRUnknownName{.kind = kind, .name = croppedText(name)});
    throw ReadFailure();
  }
  /// Records a definition; a second one of the same name is an error.
  template <class Index>
  void define(llvm::StringMap<Index> &names, llvm::StringRef kind, llvm::StringRef name, Index index, uint32_t begin) {
    defineAs(names, name, kind, name, index, begin);
  }
  template <class Index>
  void defineAs(llvm::StringMap<Index> &names, llvm::StringRef key, llvm::StringRef kind, llvm::StringRef name,
                Index index, uint32_t begin) {
    if (names.try_emplace(key, index).second)
      return;
    lex_.diags().report(lex_.since(begin), diag::IRDuplicateName{.kind = kind, .name = croppedText(name)});
    throw ReadFailure();
  }
  template <class Index> Index use(const llvm::StringMap<Index> &names, llvm::StringRef kind) {
    uint32_t begin = lex_.position();
    std::string name = lex_.name("the name of a " + kind.str());
    auto found = names.find(name);
    if (found == names.end())
      unknown(kind, name, begin);
    return found->second;
  }

  NameId nameId(const std::string &what) { return context_.name(lex_.name(what)); }

  DimExpr parseSize(llvm::StringRef text, uint32_t begin) {
    if (text == "?")
      return {};
    std::optional<DimExpr> expr = context_.dims.parse(text);
    if (!expr) {
      lex_.diags().report(lex_.since(begin), diag::IRBadSize{.text = croppedText(text)});
      throw ReadFailure();
    }
    return *expr;
  }
  /// `[4*D]`
  DimExpr size() {
    lex_.want("[");
    uint32_t begin = lex_.position();
    DimExpr expr = parseSize(lex_.rawUntil("]"), begin);
    lex_.want("]");
    return expr;
  }
  /// `B`, or `F = 4*D`, inside brackets.
  Dim dim() {
    uint32_t begin = lex_.position();
    std::string name = lex_.name("a dim");
    if (!lex_.take("="))
      return {context_.name(name), parseSize(name, begin)};
    begin = lex_.position();
    return {context_.name(name), parseSize(lex_.rawUntil(",]"), begin)};
  }
  template <class List> void dims(List &into) {
    lex_.list('[', ']', [&] { into.push_back(dim()); });
  }
  Dim oneDim() {
    lex_.want("[");
    Dim result = dim();
    lex_.want("]");
    return result;
  }
  template <class List> void names(List &into) {
    lex_.list('(', ')', [&] { into.push_back(nameId("a name")); });
  }
  ElementType element() { return enumeration(elementTypeFrom, "an element type"); }
  TensorType type() {
    TensorType result;
    result.element = element();
    dims(result.dims);
    return result;
  }

  MaskValue mask() {
    MaskValue value;
    value.kind = enumeration(maskKindFrom, "a mask");
    if (lex_.peek('('))
      lex_.list('(', ')', [&] { value.parameters.push_back(size()); });
    return value;
  }
  StaticArg staticArg() {
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

  //===--------------------------------------------------------------------===//
  // Header
  //===--------------------------------------------------------------------===//

  void readHeader() {
    lex_.wantWord("program");
    program_.name = nameId("the program's name");
    lex_.wantWord("mode");
    program_.mode = enumeration(modeFrom, "a mode");
    if (lex_.takeWord("mesh"))
      do
        program_.mesh.axes.push_back(axis());
      while (lex_.take(","));
    while (lex_.takeWord("fold"))
      readFold();
    atoms_ = program_.mesh.atoms();
    if (lex_.takeWord("sizes"))
      do
        readSize();
      while (lex_.take(","));
    while (lex_.takeWord("factor")) {
      Factoring factoring;
      factoring.whole = nameId("a dim");
      lex_.want("=");
      names(factoring.parts);
      program_.factorings.push_back(std::move(factoring));
    }
    while (readPlanLine())
      ;
    while (lex_.takeWord("scalar")) {
      uint32_t begin = lex_.position();
      std::string name = lex_.name("a scalar");
      define(scalars_, "scalar", name, static_cast<uint32_t>(program_.scalars.size()), begin);
      program_.scalars.push_back(context_.name(name));
    }
    while (lex_.takeWord("input"))
      readGlobal<InputId>(program_.inputs, inputs_, "input");
    while (lex_.takeWord("weight"))
      readGlobal<WeightId>(program_.weights, weights_, "weight");
    while (lex_.takeWord("state"))
      readGlobal<StateId>(program_.states, states_, "state");
  }

  MeshAxis axis() {
    MeshAxis axis;
    axis.name = lex_.name("a mesh axis");
    lex_.want("=");
    axis.size = lex_.number<int64_t>("the size of the axis");
    if (lex_.takeWord("cut"))
      lex_.list('(', ')', [&] { axis.cuts.push_back(lex_.number<int64_t>("a stride")); });
    return axis;
  }
  void axisNames(std::vector<std::string> &into) {
    lex_.list('(', ')', [&] { into.push_back(lex_.name("a mesh axis")); });
  }
  /// The axes of the mesh are cut already: a fold only names them.
  void readFold() {
    MeshFold fold;
    fold.name = lex_.name("the fold's name");
    lex_.wantWord("over");
    axisNames(fold.over);
    lex_.list('(', ')', [&] { fold.axes.push_back(axis()); });
    program_.mesh.folds.push_back(std::move(fold));
  }

  //===--------------------------------------------------------------------===//
  // Plan
  //===--------------------------------------------------------------------===//

  PathPattern pattern() {
    uint32_t begin = lex_.position();
    std::string text = lex_.string();
    std::optional<PathPattern> read = pathPatternFrom(text);
    if (!read)
      unknown("path pattern", text, begin);
    return std::move(*read);
  }
  Scopes scopes() {
    Scopes list;
    if (lex_.takeWord("in"))
      lex_.list('(', ')', [&] { list.push_back(pattern()); });
    return list;
  }

  SplitRule::Target splitTarget() {
    SplitRule::Target target;
    target.dim = nameId("a dim");
    target.zigzag = lex_.takeWord("zigzag");
    if (lex_.takeWord("or")) {
      lex_.wantWord("replicate");
      target.remainder = Remainder::Replicate;
    } else if (lex_.takeWord("pad")) {
      target.remainder = Remainder::Pad;
    }
    return target;
  }

  bool readPlanLine() {
    Plan &plan = program_.plan;
    uint32_t begin = lex_.position();
    if (lex_.takeWord("split")) {
      SplitRule rule;
      lex_.list('(', ')', [&] { rule.dims.push_back(splitTarget()); });
      lex_.wantWord("over");
      axisNames(rule.axes);
      rule.scopes = scopes();
      rule.where = lex_.since(begin);
      plan.splits.push_back(std::move(rule));
    } else if (lex_.takeWord("keep")) {
      KeepRule rule;
      rule.dim = nameId("a dim");
      rule.scopes = scopes();
      rule.where = lex_.since(begin);
      plan.keeps.push_back(std::move(rule));
    } else if (lex_.takeWord("pin")) {
      PinRule rule;
      rule.value = pattern();
      lex_.list('(', ')', [&] {
        NameId dim = nameId("a dim");
        lex_.wantWord("over");
        axisNames(rule.dims.emplace_back(dim, std::vector<std::string>()).second);
      });
      if (lex_.takeWord("partial"))
        axisNames(rule.partial);
      rule.where = lex_.since(begin);
      plan.pins.push_back(std::move(rule));
    } else if (lex_.takeWord("gathered")) {
      KeepGatheredRule rule;
      axisNames(rule.axes);
      rule.scopes = scopes();
      rule.where = lex_.since(begin);
      plan.keepGathered.push_back(std::move(rule));
    } else if (lex_.takeWord("optimizer")) {
      readOptimizer(begin);
    } else if (lex_.takeWord("microbatches")) {
      plan.microBatches = lex_.number<int64_t>("the number of micro-batches");
    } else if (lex_.takeWord("clip")) {
      plan.clip = lex_.number<double>("the largest gradient norm");
    } else {
      return false;
    }
    return true;
  }

  void readOptimizer(uint32_t begin) {
    OptimizerRule rule;
    if (!lex_.takeWord("none"))
      rule.name = nameId("an optimizer or `none`");
    rule.scopes = scopes();
    if (lex_.peek('('))
      lex_.list('(', ')', [&] {
        OptimizerBody &entry = rule.bodies.emplace_back();
        entry.weight = type();
        precision(entry);
        lex_.want("=");
        uint32_t bodyBegin = lex_.position();
        std::string name = lex_.name("the name of a body");
        optimizerBodies_.push_back(
            {program_.plan.optimizers.size(), rule.bodies.size() - 1, name, lex_.since(bodyBegin)});
      });
    rule.where = lex_.since(begin);
    program_.plan.optimizers.push_back(std::move(rule));
  }

  void readSize() {
    uint32_t begin = lex_.position();
    std::string name = lex_.name("a size parameter");
    std::optional<int64_t> value;
    if (lex_.take("=")) {
      uint32_t numberBegin = lex_.position();
      value = lex_.number<int64_t>("a whole number");
      if (*value < 1) {
        lex_.diags()
            .report(lex_.since(numberBegin), diag::IRBadSize{.text = std::to_string(*value)})
            .help("sizes are 1 or more");
        throw ReadFailure();
      }
    }
    define(sizes_, "size", name, true, begin);
    program_.sizes.push_back({context_.name(name), context_.dims.symbol(name, value)});
  }

  template <class GlobalId, class Global>
  void readGlobal(std::vector<Global> &globals, llvm::StringMap<GlobalId> &index, llvm::StringRef kind) {
    uint32_t begin = lex_.position();
    std::string name = lex_.name("a name");
    define(index, kind, name, GlobalId(static_cast<uint32_t>(globals.size())), begin);
    lex_.want(":");
    TensorType global = type();
    globals.push_back({context_.name(name), std::move(global), lex_.since(begin)});
  }

  //===--------------------------------------------------------------------===//
  // Bodies
  //===--------------------------------------------------------------------===//

  void readBody() {
    uint32_t begin = lex_.position();
    std::string name = lex_.name("the body's name");
    define(bodies_, "body", name, BodyId(static_cast<uint32_t>(program_.bodies.size())), begin);
    body_ = &program_.bodies.emplace_back();
    body_->name = context_.name(name);
    values_.clear();
    inputSlots_.clear();
    weightSlots_.clear();
    stateSlots_.clear();
    lex_.want("{");
    while (!lex_.take("}"))
      readBodyLine();
  }

  void readBodyLine() {
    uint32_t begin = lex_.position();
    if (lex_.takeWord("input")) {
      std::string name = slotName(inputSlots_, body_->inputs.size(), begin);
      InputSlot slot{context_.name(name), type()};
      for (SlotRole role : {SlotRole::Cotangent, SlotRole::Accumulator})
        if (lex_.takeWord(spelling(role))) {
          slot.role = role;
          lex_.wantWord("of");
          slot.of = lex_.number<uint32_t>("the number of an output or slot");
        }
      slot.layout = layout("layout", slot.type);
      body_->inputs.push_back(std::move(slot));
    } else if (lex_.takeWord("weight")) {
      readOwnedSlot(body_->weights, weightSlots_, begin);
    } else if (lex_.takeWord("state")) {
      readOwnedSlot(body_->states, stateSlots_, begin);
    } else if (lex_.takeWord("output")) {
      BodyOutput output;
      output.name = nameId("the output's name");
      lex_.want("=");
      output.value = operand();
      if (lex_.takeWord("cotangent")) {
        lex_.wantWord("of");
        output.cotangentOf = lex_.number<uint32_t>("the number of an input slot");
      }
      body_->outputs.push_back(output);
    } else if (lex_.takeWord("loss")) {
      body_->losses.push_back(operand());
    } else if (lex_.peek('%') || opKindFrom(lex_.peekWord())) {
      readOp();
    } else {
      lex_.expected("an op, a slot, `output`, `loss` or `}`");
    }
  }

  std::string slotName(llvm::StringMap<uint32_t> &slots, size_t index, uint32_t begin) {
    std::string name = lex_.name("the slot's name");
    define(slots, "slot", name, static_cast<uint32_t>(index), begin);
    lex_.want(":");
    return name;
  }
  /// `gradient bf16 master bf16 moment bf16`, each unless it is f32, of a weight slot or an optimizer's body.
  template <class Weight> void precision(Weight &weight) {
    for (auto [word, into] : {std::pair("gradient", &weight.gradient), std::pair("master", &weight.master),
                              std::pair("moment", &weight.moment)})
      if (lex_.takeWord(word))
        *into = element();
  }
  template <class Slot> void readOwnedSlot(std::vector<Slot> &list, llvm::StringMap<uint32_t> &slots, uint32_t begin) {
    std::string name = slotName(slots, list.size(), begin);
    Slot slot{context_.name(name), type(), true, {}};
    slot.owned = !lex_.takeWord("shared");
    if constexpr (std::is_same_v<Slot, WeightSlot>) {
      slot.trained = lex_.takeWord("trained");
      precision(slot);
    }
    slot.layout = layout("layout", slot.type);
    if constexpr (std::is_same_v<Slot, WeightSlot>)
      slot.buffer = layout("buffer", slot.type);
    slot.where = lex_.since(begin);
    list.push_back(std::move(slot));
  }

  Layout layoutText(llvm::ArrayRef<Dim> dims) {
    uint32_t begin = lex_.position();
    llvm::StringRef text = lex_.rawUntil("]");
    lex_.want("]");
    std::optional<Layout> read = layoutFrom(text.str() + "]", dims, atoms_, context_.names);
    if (!read)
      unknown("layout of these dims", text.str() + "]", begin);
    return *read;
  }
  std::optional<Layout> layout(llvm::StringRef word, const TensorType &type) {
    if (!lex_.takeWord(word))
      return std::nullopt;
    return layoutText(type.dims);
  }

  /// Unnamed values live in the same table as `#12`, which is no name.
  static std::string key(const std::string &name, bool isNumber) { return isNumber ? "#" + name : "=" + name; }

  ValueId operand() {
    uint32_t begin = lex_.position();
    bool isNumber = false;
    std::string name = lex_.path('%', &isNumber);
    auto found = values_.find(key(name, isNumber));
    if (found == values_.end())
      unknown("value", name, begin);
    return found->second;
  }

  void readResult(Op &op) {
    uint32_t begin = lex_.position();
    bool isNumber = false;
    std::string name = lex_.path('%', &isNumber);
    ValueId id(static_cast<uint32_t>(body_->values.size()));
    defineAs(values_, key(name, isNumber), "value", name, id, begin);
    Value value;
    value.def = OpId(static_cast<uint32_t>(body_->ops.size()));
    value.result = static_cast<uint32_t>(op.results.size());
    if (!isNumber)
      value.name = context_.name(name);
    if (lex_.take(":")) {
      value.type = type();
      value.layout = layout("layout", *value.type);
    }
    if (lex_.takeWord("at"))
      value.scope = nameId("a scope");
    body_->values.push_back(std::move(value));
    op.results.push_back(id);
  }

  void readOp() {
    uint32_t begin = lex_.position();
    Op op;
    if (lex_.peek('%')) {
      do
        readResult(op);
      while (lex_.take(","));
      lex_.want("=");
    }
    std::optional<MapFn> fn = mapFnFrom(lex_.peekWord());
    if (fn) {
      lex_.word("");
      op.kind = OpKind::Map;
    } else {
      op.kind = enumeration(opKindFrom, "an op");
      if (op.kind == OpKind::Map)
        lex_.expected("the name of an element-wise function");
    }
    op.fields = defaultFields(op.kind);
    if (fn)
      op.get<MapFields>().fn = *fn;
    readFields(op);
    if (lex_.takeWord("part"))
      op.part = part();
    lex_.wantWord("kernel");
    op.kernel = lex_.number<uint32_t>("the number of the kernel");
    if (lex_.takeWord("scope"))
      op.scope = nameId("a scope");
    if (lex_.takeWord("compute"))
      lex_.list('(', ')', [&] { op.compute.push_back(lex_.number<int16_t>("the number of a factor or -1")); });
    op.where = lex_.since(begin);
    body_->ops.push_back(std::move(op));
  }

  /// `forward`, `input-grad`: the only words with a hyphen.
  Part part() {
    uint32_t begin = lex_.position();
    std::string text = lex_.word("a part").str();
    if (lex_.take("-"))
      text += "-" + lex_.word("a part").str();
    std::optional<Part> read = partFrom(text);
    if (!read)
      unknown("part", text, begin);
    return *read;
  }

  void readOperands(Op &op) {
    lex_.list('(', ')', [&] { op.operands.push_back(operand()); });
  }

  /// `-> bf16`, or what the result says.
  ElementType resultElement(const Op &op) {
    if (lex_.take("->"))
      return element();
    if (op.results.size() == 1 && body_->value(op.results[0]).type)
      return body_->value(op.results[0]).type->element;
    lex_.expected("`->` and an element type");
  }

  void readFields(Op &op) {
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

  ConversionCause cause() {
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

  void readCollective(CollectiveFields &fields) {
    lex_.wantWord("over");
    lex_.list('(', ')', [&] { fields.atoms.push_back(lex_.number<uint32_t>("the number of an atom")); });
    if (lex_.takeWord("from"))
      fields.from = nameId("a dim");
    if (lex_.takeWord("to"))
      fields.to = nameId("a dim");
    if (reduceFnFrom(lex_.peekWord()))
      fields.fn = enumeration(reduceFnFrom, "a reduction");
    fields.cause = cause();
  }

  void readView(ViewFields &fields) {
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

  //===--------------------------------------------------------------------===//
  // Calls
  //===--------------------------------------------------------------------===//

  /// A factor named before the list that holds it: `h`, or `h:3` where several have the name.
  struct FactorRef {
    std::string name;
    std::optional<uint32_t> number;
    SourceRange where;
  };
  using FactorRefs = std::vector<FactorRef>;

  FactorRef factorRef() {
    uint32_t begin = lex_.position();
    FactorRef ref;
    ref.name = lex_.name("a factor");
    if (lex_.take(":"))
      ref.number = lex_.number<uint32_t>("the number of the factor");
    ref.where = lex_.since(begin);
    return ref;
  }
  FactorRefs factorRefs() {
    FactorRefs list;
    lex_.list('{', '}', [&] { list.push_back(factorRef()); });
    return list;
  }

  uint32_t resolve(const FactorRef &ref, const CallFields &fields) {
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

  void readCall(Op &op, CallFields &fields) {
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
  void pendBody(bool isGrad) {
    uint32_t begin = lex_.position();
    std::string name = lex_.name("the name of a body");
    defines_.push_back({program_.bodies.size() - 1, body_->ops.size(), isGrad, name, lex_.since(begin)});
  }

  struct PendingDefine {
    size_t body, op;
    bool isGrad;
    std::string name;
    SourceRange where;
  };

  struct PendingOptimizer {
    size_t rule, entry;
    std::string name;
    SourceRange where;
  };

  BodyId bodyCalled(const std::string &name, SourceRange where) {
    auto found = bodies_.find(name);
    if (found != bodies_.end())
      return found->second;
    lex_.diags().report(where, diag::IRUnknownName{.kind = "body", .name = croppedText(name)});
    throw ReadFailure();
  }

  void resolveDefines() {
    for (const PendingDefine &pending : defines_) {
      auto &fields = program_.bodies[pending.body].ops[pending.op].get<CallFields>();
      (pending.isGrad ? fields.grad : fields.define) = bodyCalled(pending.name, pending.where);
    }
    for (const PendingOptimizer &pending : optimizerBodies_)
      program_.plan.optimizers[pending.rule].bodies[pending.entry].body = bodyCalled(pending.name, pending.where);
    for (const PendingBinding &pending : laterBindings_)
      program_.units[pending.unit].inputs[pending.slot] = laterOutput(pending);
  }

  //===--------------------------------------------------------------------===//
  // Units
  //===--------------------------------------------------------------------===//

  void readUnit() {
    uint32_t begin = lex_.position();
    std::string path = lex_.path('@');
    define(units_, "unit", path, UnitId(static_cast<uint32_t>(program_.units.size())), begin);
    Unit unit;
    llvm::StringRef text = path;
    unit.index = -1;
    if (text.ends_with("]") && text.contains('[')) {
      auto [head, digits] = text.drop_back().rsplit('[');
      int64_t index = 0;
      if (!digits.getAsInteger(10, index) && index >= 0 && std::to_string(index) == digits) {
        unit.index = index;
        text = head;
      }
    }
    unit.path = context_.name(text);
    lex_.want(":");
    unit.body = use(bodies_, "body");
    const Body &body = program_.body(unit);
    size_t next = 0;
    lex_.list('(', ')', [&] {
      wantSlot(next < body.inputs.size() ? body.inputs[next].name : NameId());
      ++next;
      if (lex_.takeWord("input"))
        unit.inputs.push_back(use(inputs_, "input"));
      else if (next <= body.inputs.size() && body.inputs[next - 1].role != SlotRole::Value)
        unit.inputs.push_back(pendBinding(unit.inputs.size()));
      else
        unit.inputs.push_back(unitOutput());
    });
    readBindings<WeightId>("weights", "weight", body.weights, &Body::weights, weights_, unit.weights);
    readBindings<StateId>("states", "state", body.states, &Body::states, states_, unit.states);
    program_.units.push_back(std::move(unit));
  }

  /// Bindings are written in the order of the slots, each with its slot's name.
  void wantSlot(NameId slot) {
    uint32_t begin = lex_.position();
    std::string name = lex_.name("a slot");
    if (!slot.valid() || context_.text(slot) != name)
      unknown(slot.valid() ? "slot (bindings stand in the order of the slots)" : "slot", name, begin);
    lex_.want("=");
  }

  template <class GlobalId, class Slot, class Bindings>
  void readBindings(llvm::StringRef keyword, llvm::StringRef global, const std::vector<Slot> &slots,
                    std::vector<Slot> Body::*list, const llvm::StringMap<GlobalId> &globals, Bindings &bindings) {
    if (!lex_.takeWord(keyword))
      return;
    llvm::SmallVector<NameId, 4> shared;
    for (const Slot &slot : slots)
      if (!slot.owned)
        shared.push_back(slot.name);
    size_t next = 0;
    lex_.list('(', ')', [&] {
      wantSlot(next < shared.size() ? shared[next] : NameId());
      ++next;
      if (lex_.takeWord(global)) {
        bindings.push_back(use(globals, global));
        return;
      }
      UnitId from = unitRef();
      uint32_t begin = lex_.position();
      std::string name = lex_.name("a slot");
      const std::vector<Slot> &theirs = program_.body(program_.units[from.index]).*list;
      for (uint32_t i = 0; i < theirs.size(); ++i)
        if (context_.text(theirs[i].name) == name) {
          bindings.push_back(UnitSlot{from, i});
          return;
        }
      unknown("slot", name, begin);
    });
  }

  /// `@blocks[2]:`
  UnitId unitRef() {
    uint32_t begin = lex_.position();
    if (!lex_.peek('@'))
      lex_.expected("`@` and a unit");
    std::string path = lex_.path('@');
    auto found = units_.find(path);
    // The unit that is being read has its name already, but no output yet.
    if (found == units_.end() || found->second.index >= program_.units.size())
      unknown("earlier unit", path, begin);
    lex_.want(":");
    return found->second;
  }

  UnitValue unitOutput() {
    UnitId from = unitRef();
    uint32_t begin = lex_.position();
    std::string name = lex_.name("an output");
    const Body &body = program_.body(program_.units[from.index]);
    for (uint32_t i = 0; i < body.outputs.size(); ++i)
      if (context_.text(body.outputs[i].name) == name)
        return {from, i};
    unknown("output", name, begin);
  }

  /// Cotangents come from units that are read later.
  struct PendingBinding {
    size_t unit, slot;
    std::string path, output;
    SourceRange where;
  };
  UnitValue pendBinding(size_t slot) {
    uint32_t begin = lex_.position();
    PendingBinding pending{program_.units.size(), slot, {}, {}, {}};
    pending.path = lex_.path('@');
    lex_.want(":");
    pending.output = lex_.name("an output");
    pending.where = lex_.since(begin);
    laterBindings_.push_back(std::move(pending));
    return {};
  }
  UnitValue laterOutput(const PendingBinding &pending) {
    auto unit = units_.find(pending.path);
    if (unit != units_.end()) {
      const Body &body = program_.body(program_.units[unit->second.index]);
      for (uint32_t i = 0; i < body.outputs.size(); ++i)
        if (context_.text(body.outputs[i].name) == pending.output)
          return {unit->second, i};
    }
    lex_.diags().report(pending.where, diag::IRUnknownName{.kind = "output of a unit",
                                                           .name = croppedText(pending.path + ":" + pending.output)});
    throw ReadFailure();
  }

  void readProgramOutput() {
    ProgramOutput output;
    output.name = nameId("the output's name");
    lex_.want("=");
    output.value = unitOutput();
    program_.outputs.push_back(output);
  }

  detail::IRLexer lex_;
  Program program_;
  IRContext &context_;
  Body *body_ = nullptr;
  llvm::StringMap<bool> sizes_;
  llvm::StringMap<InputId> inputs_;
  llvm::StringMap<WeightId> weights_;
  llvm::StringMap<StateId> states_;
  llvm::StringMap<BodyId> bodies_;
  llvm::StringMap<UnitId> units_;
  llvm::StringMap<ValueId> values_;
  llvm::StringMap<uint32_t> inputSlots_, weightSlots_, stateSlots_;
  llvm::StringMap<uint32_t> scalars_;
  std::vector<MeshAtom> atoms_;
  std::vector<PendingDefine> defines_;
  std::vector<PendingOptimizer> optimizerBodies_;
  std::vector<PendingBinding> laterBindings_;
};

} // namespace

std::optional<Program> readProgram(FileId file, Diagnostics &diags) {
  try {
    return Reader(file, diags).read();
  } catch (const ReadFailure &) {
    return std::nullopt;
  }
}

} // namespace stg
