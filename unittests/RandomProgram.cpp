//===- RandomProgram.cpp - well-formed programs by the thousand -------------===//
// Ops are proposed at random and kept if their shape rule accepts them.
//===----------------------------------------------------------------------===//
#include "RandomProgram.h"
#include "stg/Shape/ShapeRules.h"
#include <cstdlib>
#include <random>

namespace stg {

namespace {

class Generator {
public:
  Generator(uint64_t seed, const RandomProgramOptions &options)
      : options_(options), random_(seed), program_(std::make_shared<IRContext>()), context_(*program_.context) {}

  Program run() {
    makeHeader();
    unsigned bodies = 1 + below(options_.maxBodies);
    for (unsigned i = 0; i < bodies; ++i)
      makeBody("body" + std::to_string(i));
    makeUnits(bodies);
    return std::move(program_);
  }

private:
  // No std distributions: their results differ between libraries.
  unsigned below(size_t count) { return static_cast<unsigned>(random_() % count); }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <class List> const auto &pick(const List &list) { return list[below(std::size(list))]; }

  NameId n(llvm::StringRef text) { return context_.name(text); }
  DimExpr c(int64_t value) { return context_.dims.constant(value); }

  //===--------------------------------------------------------------------===//
  // Header
  //===--------------------------------------------------------------------===//

  void addSize(llvm::StringRef name, int64_t value) {
    DimExpr symbol = context_.dims.symbol(name, value);
    program_.sizes.push_back({n(name), symbol});
    pool_.push_back({n(name), symbol});
  }

  void makeHeader() {
    program_.name = n("random");
    program_.level = Level::Typed;
    program_.mode = pick(std::vector<Mode>{Mode::Forward, Mode::Train, Mode::Prefill, Mode::Decode});
    if (chance(50))
      program_.mesh.axes = {{"dp", 2}, {"tp", 1 + below(4)}};
    for (auto [name, value] : std::initializer_list<std::pair<const char *, int64_t>>{
             {"B", 2}, {"S", 3}, {"D", 4}, {"KV", 2}, {"R", 2}, {"V", 5}})
      addSize(name, value);
    if (chance(30))
      program_.sizes.push_back({n("Unknown"), context_.dims.symbol("Unknown", std::nullopt)});
    DimExpr b = pool_[0].size, s = pool_[1].size, d = pool_[2].size, kv = pool_[3].size, r = pool_[4].size;
    pool_.push_back({n("H"), kv * r});
    pool_.push_back({n("F"), d * 2});
    pool_.push_back({n("T"), s + c(2)});
    pool_.push_back({n("C"), context_.dims.apply(DimFn::Ceil, {b * s / c(4)})});
    pool_.push_back({n("One"), c(1)});
    pool_.push_back({n("P"), context_.dims.pairs(MaskKind::Causal, {}, s, c(3)) / c(2)});
    program_.factorings.push_back({n("H"), {n("KV"), n("R")}});
    if (chance(50))
      program_.weights.push_back({n("wte"), randomType(2), {}});
    if (chance(50))
      program_.states.push_back({n("counter"), randomType(1), {}});
  }

  TensorType randomType(unsigned maxDims) {
    TensorType type{chance(50) ? ElementType::F32 : ElementType::BF16, {}};
    unsigned count = below(maxDims + 1);
    while (type.dims.size() < count) {
      const Dim &dim = pick(pool_);
      if (!type.has(dim.name))
        type.dims.push_back(dim);
    }
    return type;
  }

  //===--------------------------------------------------------------------===//
  // Bodies
  //===--------------------------------------------------------------------===//

  struct Draft {
    Body body;
    std::vector<ValueId> values; ///< that ops may use
    std::vector<bool> used;
    unsigned statement = 0;
  };

  NameId freshName(Draft &draft) {
    std::string number = std::to_string(draft.body.values.size());
    switch (below(8)) {
    case 0:
      return NameId();
    case 1:
      return n("attn.q" + number);
    case 2:
      return n("blocks[3].x" + number);
    case 3:
      return n("x" + number + "'2");
    case 4:
      return n("an \"odd\\\" name\n" + number);
    case 5:
      return n(number); // a name that looks like a number
    default:
      return n("v" + number);
    }
  }

  int64_t elements(const TensorType &type) { return elementCount(type, context_.dims).size().value_or(1 << 30); }

  /// Keeps the op if its rule gives types that are small enough.
  bool add(Draft &draft, OpKind kind, OpFields fields, llvm::SmallVector<ValueId, 4> operands = {}) {
    Op op;
    op.kind = kind;
    op.fields = std::move(fields);
    op.operands = std::move(operands);
    llvm::SmallVector<const TensorType *, 4> types;
    for (ValueId operand : op.operands)
      types.push_back(&*draft.body.value(operand).type);
    ShapeResult result = inferTypes(op, types, draft.body, context_);
    if (!result.ok())
      return false;
    for (const TensorType &type : result.types)
      if (type.dims.size() > 5 || elements(type) > options_.maxElements)
        return false;
    if (chance(60))
      ++draft.statement;
    op.kernel = draft.statement;
    for (TensorType &type : result.types) {
      ValueId id(static_cast<uint32_t>(draft.body.values.size()));
      Value value;
      value.type = std::move(type);
      value.def = OpId(static_cast<uint32_t>(draft.body.ops.size()));
      value.result = static_cast<uint32_t>(op.results.size());
      value.name = freshName(draft);
      draft.body.values.push_back(std::move(value));
      op.results.push_back(id);
      draft.values.push_back(id);
    }
    draft.body.ops.push_back(std::move(op));
    return true;
  }

  const TensorType &typeOf(const Draft &draft, ValueId value) { return *draft.body.value(value).type; }

  std::optional<ValueId> pickValue(const Draft &draft, bool isIndex = false) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      ValueId value = pick(draft.values);
      bool isInteger = typeOf(draft, value).element == ElementType::I32;
      if (isInteger == isIndex)
        return value;
    }
    return std::nullopt;
  }
  std::optional<Dim> pickDim(const TensorType &type) {
    if (type.dims.empty())
      return std::nullopt;
    return pick(type.dims);
  }
  ElementType element() { return chance(50) ? ElementType::F32 : ElementType::BF16; }

  void makeBody(const std::string &name) {
    Draft draft;
    draft.body.name = n(name);
    unsigned inputs = 1 + below(2);
    for (unsigned i = 0; i < inputs; ++i) {
      draft.body.inputs.push_back({n("x" + std::to_string(i)), randomType(3)});
      add(draft, OpKind::Input, SlotFields{i});
    }
    if (chance(50)) {
      TensorType ids{ElementType::I32, {pool_[0], pool_[1]}};
      draft.body.inputs.push_back({n("ids"), ids});
      add(draft, OpKind::Input, SlotFields{inputs});
    }
    unsigned weights = below(3);
    for (unsigned i = 0; i < weights; ++i) {
      draft.body.weights.push_back({n("w" + std::to_string(i)), randomType(3), chance(70), {}});
      add(draft, OpKind::Weight, SlotFields{i});
    }
    unsigned states = below(3);
    for (unsigned i = 0; i < states; ++i) {
      draft.body.states.push_back({n("layers[1].state" + std::to_string(i)), randomType(3), chance(70), {}});
      add(draft, OpKind::State, SlotFields{i});
    }
    unsigned wanted = 2 + below(options_.maxOps);
    for (unsigned attempt = 0; attempt < 6 * wanted && draft.body.ops.size() < wanted + 4; ++attempt)
      proposeOp(draft);
    finishBody(draft);
    program_.bodies.push_back(std::move(draft.body));
  }

  void finishBody(Draft &draft) {
    unsigned outputs = 1 + below(2);
    for (unsigned i = 0; i < outputs; ++i)
      draft.body.outputs.push_back({n("y" + std::to_string(i)), pick(draft.values)});
    for (ValueId value : draft.values)
      if (const TensorType &type = typeOf(draft, value);
          type.dims.empty() && type.element == ElementType::F32 && chance(50))
        draft.body.losses.push_back(value);
  }

  void proposeOp(Draft &draft) {
    constexpr OpKind kinds[] = {OpKind::Constant, OpKind::Iota,   OpKind::Contract, OpKind::Contract, OpKind::Map,
                                OpKind::Map,      OpKind::Map,    OpKind::Reduce,   OpKind::Stop,     OpKind::Dropout,
                                OpKind::Masked,   OpKind::View,   OpKind::View,     OpKind::Concat,   OpKind::At,
                                OpKind::Slice,    OpKind::Gather, OpKind::Scatter,  OpKind::Append,   OpKind::Update,
                                OpKind::Call};
    OpKind kind = kinds[below(std::size(kinds))];
    if (kind == OpKind::Constant || kind == OpKind::Iota) {
      proposeLeaf(draft, kind);
      return;
    }
    std::optional<ValueId> first = pickValue(draft);
    if (!first)
      return;
    const TensorType type = typeOf(draft, *first);
    std::optional<Dim> dim = pickDim(type);
    switch (kind) {
    case OpKind::Contract:
      proposeContract(draft, *first);
      return;
    case OpKind::Map:
      proposeMap(draft, *first);
      return;
    case OpKind::Reduce: {
      ReduceFields fields{static_cast<ReduceFn>(below(4)), {}, element()};
      for (const Dim &each : type.dims)
        if (chance(50))
          fields.reduced.push_back(each.name);
      add(draft, kind, fields, {*first});
      return;
    }
    case OpKind::Stop:
      add(draft, kind, StopFields(), {*first});
      return;
    case OpKind::Dropout:
      add(draft, kind, DropoutFields{0.25, below(3)}, {*first});
      return;
    case OpKind::Masked:
      proposeMasked(draft, *first);
      return;
    case OpKind::View:
      proposeView(draft, *first);
      return;
    case OpKind::Concat:
      if (dim)
        add(draft, kind, ConcatFields{{dim->name, dim->size * 2}, element()}, {*first, *first});
      return;
    case OpKind::At:
      if (dim)
        add(draft, kind, AtFields{dim->name, chance(50) ? c(0) : dim->size - c(1)}, {*first});
      return;
    case OpKind::Slice:
      if (dim)
        add(draft, kind, SliceFields{dim->name, {n(chance(50) ? "Part" : "Sq"), c(1)}, c(0)}, {*first});
      return;
    case OpKind::Gather:
    case OpKind::Scatter:
      proposeIndexed(draft, kind, *first, dim);
      return;
    case OpKind::Append:
    case OpKind::Update:
      proposeState(draft, kind, *first);
      return;
    case OpKind::Call:
      proposeCall(draft, *first);
      return;
    default:
      return;
    }
  }

  void proposeLeaf(Draft &draft, OpKind kind) {
    if (kind == OpKind::Iota) {
      add(draft, kind, IotaFields{pick(pool_), c(0), chance(50) ? ElementType::I32 : ElementType::F32});
      return;
    }
    const double numbers[] = {0, 1, -1.5, 0.1, 1e-5, 3e38, 1.0 / 3};
    ConstantFields fields{pick(numbers), {}, element()};
    if (chance(30)) {
      fields.number = 0;
      fields.value = pick(pool_).size * pick(pool_).size;
    }
    add(draft, kind, fields);
  }

  void proposeContract(Draft &draft, ValueId first) {
    llvm::SmallVector<ValueId, 4> operands{first};
    unsigned more = below(3);
    for (unsigned i = 0; i < more; ++i)
      if (std::optional<ValueId> value = pickValue(draft))
        operands.push_back(*value);
    ContractFields fields{{}, element()};
    for (ValueId operand : operands)
      for (const Dim &dim : typeOf(draft, operand).dims)
        if (chance(60) && !llvm::is_contained(fields.reduced, dim.name))
          fields.reduced.push_back(dim.name);
    add(draft, OpKind::Contract, fields, operands);
  }

  void proposeMap(Draft &draft, ValueId first) {
    constexpr unsigned count = static_cast<unsigned>(MapFn::Cast) + 1;
    MapFn fn = static_cast<MapFn>(below(count));
    llvm::SmallVector<ValueId, 4> operands{first};
    unsigned wanted = arity(fn) == 0 ? 2 + below(2) : arity(fn);
    for (unsigned attempt = 0; operands.size() < wanted && attempt < 10; ++attempt) {
      std::optional<ValueId> value = pickValue(draft);
      // Mostly operands that fit, since two at random rarely do.
      bool fits = value && llvm::all_of(typeOf(draft, *value).dims,
                                        [&](const Dim &dim) { return typeOf(draft, first).has(dim.name); });
      if (fits)
        operands.push_back(*value);
    }
    while (operands.size() < wanted)
      operands.push_back(first);
    add(draft, OpKind::Map, MapFields{fn, element()}, operands);
  }

  void proposeMasked(Draft &draft, ValueId first) {
    const TensorType &type = typeOf(draft, first);
    if (type.dims.size() < 2)
      return;
    MaskedFields fields;
    fields.query = type.dims[0].name;
    fields.key = type.dims[1].name;
    fields.mask.kind = pick(std::vector<MaskKind>{MaskKind::Full, MaskKind::Causal, MaskKind::Window, MaskKind::Chunk,
                                                  MaskKind::Prefix, MaskKind::Documents});
    if (fields.mask.kind >= MaskKind::Window)
      fields.mask.parameters.push_back(c(2));
    if (fields.mask.kind == MaskKind::Documents)
      fields.mask.parameters.push_back(pool_[1].size);
    add(draft, OpKind::Masked, fields, {first});
  }

  void proposeView(Draft &draft, ValueId first) {
    const TensorType type = typeOf(draft, first);
    ViewFields fields;
    std::optional<Dim> dim = pickDim(type);
    TensorType result = type;
    if (dim && chance(70)) {
      if (const Dim *whole = type.find(n("H")); whole && whole->size == pool_[6].size)
        fields.items.push_back({{n("H")}, {pool_[3], pool_[4]}, true});
      else if (type.dims.size() >= 2 && chance(50))
        fields.items.push_back(
            {{type.dims[0].name, type.dims[1].name}, {{n("Merged"), type.dims[0].size * type.dims[1].size}}, false});
      else
        fields.items.push_back({{dim->name}, {{n(chance(50) ? "order" : "Renamed"), dim->size}}, false});
      Op op;
      op.kind = OpKind::View;
      op.fields = fields;
      ShapeResult viewed = inferTypes(op, {&type}, draft.body, context_);
      if (!viewed.ok())
        return;
      result = viewed.types[0];
    }
    if (chance(50)) {
      for (const Dim &each : result.dims)
        fields.order.push_back(each.name);
      for (size_t i = fields.order.size(); i > 1; --i)
        std::swap(fields.order[i - 1], fields.order[below(i)]);
    }
    add(draft, OpKind::View, fields, {first});
  }

  void proposeIndexed(Draft &draft, OpKind kind, ValueId data, std::optional<Dim> dim) {
    std::optional<ValueId> index = pickValue(draft, true);
    if (!index)
      return;
    if (kind == OpKind::Gather) {
      if (dim)
        add(draft, kind, GatherFields{dim->name}, {data, *index});
      return;
    }
    // Large enough for every index that an iota of the pool can hold.
    ScatterFields fields{{n("Slots"), c(8)}, {}, element()};
    for (const Dim &each : typeOf(draft, *index).dims)
      if (chance(50))
        fields.replaced.push_back(each.name);
    add(draft, kind, fields, {data, *index});
  }

  void proposeState(Draft &draft, OpKind kind, ValueId value) {
    if (draft.body.states.empty())
      return;
    uint32_t slot = below(draft.body.states.size());
    // One update per state.
    for (const Op &op : draft.body.ops)
      if (op.kind == OpKind::Update && op.get<SlotFields>().slot == slot)
        return;
    const TensorType &type = draft.body.states[slot].type;
    if (kind == OpKind::Update) {
      add(draft, kind, SlotFields{slot}, {value});
      return;
    }
    if (type.dims.empty())
      return;
    std::optional<ValueId> state;
    for (const Op &op : draft.body.ops)
      if (op.kind == OpKind::State && op.get<SlotFields>().slot == slot)
        state = op.results[0];
    if (!state)
      return;
    // One position of the state itself, under another name, is an addition that fits.
    const Dim into = type.dims[0];
    if (!add(draft, OpKind::Slice, SliceFields{into.name, {n("New"), c(1)}, c(0)}, {*state}))
      return;
    if (add(draft, kind, AppendFields{n("New"), into.name}, {*state, draft.values.back()}))
      add(draft, OpKind::Update, SlotFields{slot}, {draft.values.back()});
  }

  void proposeCall(Draft &draft, ValueId first) {
    llvm::SmallVector<ValueId, 4> operands{first};
    if (chance(50))
      operands.push_back(first);
    const TensorType type = typeOf(draft, first);
    CallFields fields;
    fields.callee = n("kernel");
    llvm::SmallVector<uint32_t, 6> all;
    for (const Dim &dim : type.dims) {
      // Factors of a composite share a name.
      Factor factor{
          n("f" + std::to_string(chance(80) ? all.size() : 0)), dim, static_cast<FactorKind>(below(8)), {}, {}};
      if (factor.kind == FactorKind::Halo)
        factor.args = {c(3), c(0)};
      if (factor.kind == FactorKind::Stream)
        factor.args = {std::string("gather"), std::string("ring")};
      if (factor.kind == FactorKind::Carry)
        factor.along = 0;
      all.push_back(static_cast<uint32_t>(all.size()));
      fields.factors.push_back(std::move(factor));
    }
    fields.operandFactors.assign(operands.size(), all);
    fields.resultFactors.push_back(all);
    fields.resultElements.push_back(type.element);
    fields.statics.push_back(
        {n("scale"), chance(50) ? StaticArg(0.5) : StaticArg(type.dims.empty() ? c(4) : type.dims[0].size)});
    if (chance(50)) {
      fields.statics.push_back({n("flag"), chance(50)});
      fields.statics.push_back({n("mask"), MaskValue{MaskKind::Window, {c(2)}}});
      fields.statics.push_back({n("name"), std::string("a \"name\"")});
    }
    fields.flops = elementCount(type, context_.dims) * 2;
    if (chance(50))
      fields.other = elementCount(type, context_.dims);
    if (chance(30))
      fields.bytes = byteCount(type, context_.dims) * 3;
    if (chance(80))
      fields.define = makeDefine(type, operands.size());
    add(draft, OpKind::Call, fields, operands);
  }

  /// in0 * in1 * ... + 1, or in0 + 1.
  BodyId makeDefine(const TensorType &type, size_t inputs) {
    Draft draft;
    draft.body.name = n("define" + std::to_string(program_.bodies.size()));
    for (uint32_t i = 0; i < inputs; ++i) {
      draft.body.inputs.push_back({n("in" + std::to_string(i)), type});
      add(draft, OpKind::Input, SlotFields{i});
    }
    if (inputs > 1)
      add(draft, OpKind::Map, MapFields{MapFn::Mul, type.element},
          llvm::SmallVector<ValueId, 4>(draft.values.begin(), draft.values.end()));
    ValueId last = draft.values.back();
    add(draft, OpKind::Constant, ConstantFields{1, {}, type.element});
    add(draft, OpKind::Map, MapFields{MapFn::Add, type.element}, {last, draft.values.back()});
    draft.body.outputs.push_back({n("out"), draft.values.back()});
    program_.bodies.push_back(std::move(draft.body));
    return BodyId(static_cast<uint32_t>(program_.bodies.size() - 1));
  }

  //===--------------------------------------------------------------------===//
  // Units
  //===--------------------------------------------------------------------===//

  InputBinding bindInput(const InputSlot &slot) {
    std::vector<UnitValue> fitting;
    for (uint32_t u = 0; u < program_.units.size(); ++u) {
      const Body &body = program_.body(program_.units[u]);
      for (uint32_t o = 0; o < body.outputs.size(); ++o)
        if (*body.value(body.outputs[o].value).type == slot.type)
          fitting.push_back({UnitId(u), o});
    }
    if (!fitting.empty() && chance(80))
      return pick(fitting);
    for (uint32_t i = 0; i < program_.inputs.size(); ++i)
      if (program_.inputs[i].type == slot.type)
        return InputId(i);
    program_.inputs.push_back({n("in" + std::to_string(program_.inputs.size())), slot.type, {}});
    return InputId(static_cast<uint32_t>(program_.inputs.size() - 1));
  }

  /// A weight or state of the program, or one that an earlier unit owns.
  template <class Id, class Slot, class Globals>
  std::variant<Id, UnitSlot> bindShared(const Slot &slot, std::vector<Slot> Body::*slots, Globals &globals,
                                        const std::string &prefix) {
    for (uint32_t u = 0; u < program_.units.size(); ++u) {
      const auto &theirs = program_.body(program_.units[u]).*slots;
      for (uint32_t s = 0; s < theirs.size(); ++s)
        if (theirs[s].owned && theirs[s].type == slot.type && chance(70))
          return UnitSlot{UnitId(u), s};
    }
    for (uint32_t i = 0; i < globals.size(); ++i)
      if (globals[i].type == slot.type)
        return Id(i);
    globals.push_back({n(prefix + std::to_string(globals.size())), slot.type, {}});
    return Id(static_cast<uint32_t>(globals.size() - 1));
  }

  void makeUnits(unsigned bodies) {
    std::vector<BodyId> candidates;
    for (uint32_t i = 0; i < program_.bodies.size(); ++i)
      if (!context_.text(program_.bodies[i].name).starts_with("define"))
        candidates.push_back(BodyId(i));
    unsigned count = bodies + below(options_.maxUnits);
    for (unsigned i = 0; i < count; ++i) {
      Unit unit;
      unit.body = i < candidates.size() ? candidates[i] : pick(candidates);
      bool isRepeated = chance(60);
      unit.path = n(isRepeated ? "blocks" : "unit" + std::to_string(i));
      unit.index = isRepeated ? i : -1;
      const Body &body = program_.body(unit.body);
      for (const InputSlot &slot : body.inputs)
        unit.inputs.push_back(bindInput(slot));
      for (const WeightSlot &slot : body.weights)
        if (!slot.owned)
          unit.weights.push_back(bindShared<WeightId>(slot, &Body::weights, program_.weights, "w"));
      for (const StateSlot &slot : body.states)
        if (!slot.owned)
          unit.states.push_back(bindShared<StateId>(slot, &Body::states, program_.states, "s"));
      program_.units.push_back(std::move(unit));
    }
    program_.outputs.push_back({n("result"), {UnitId(count - 1), 0}});
  }

  RandomProgramOptions options_;
  std::mt19937_64 random_;
  Program program_;
  IRContext &context_;
  std::vector<Dim> pool_;
};

} // namespace

Program randomProgram(uint64_t seed, const RandomProgramOptions &options) { return Generator(seed, options).run(); }

uint64_t firstSeed(uint64_t fallback) {
  const char *text = std::getenv("STG_SEED");
  return text ? std::strtoull(text, nullptr, 10) : fallback;
}

} // namespace stg
