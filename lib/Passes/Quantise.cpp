//===- Quantise.cpp - matrix products on narrow copies ------------------------===//
// Example: y = sum(D) x * w becomes y = sum(D) x.f8 * w.f8 * x.scale * w.scale. A copy takes two kernels in front of
// its first reader: one finds the largest magnitude, the other divides by the scale and rounds. First the products are
// found (those of backward by what they share with one of the forward), then which collectives bring tensors to such
// products only, then the body is written anew.
//===----------------------------------------------------------------------===//
#include "stg/Passes/Quantise.h"
#include "stg/Analysis/Kernels.h"
#include "stg/Analysis/ValueLabels.h"
#include "stg/IR/LayoutOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include <map>
#include <set>

namespace stg {

namespace {

double largestOf(ElementType element) { return element == ElementType::F8E4M3 ? 448 : 57344; }

/// Whether each operand has a dim of its own, and some dim of both is summed.
bool isMatrixProduct(const Op &op, const Body &body) {
  if (op.kind != OpKind::Contract || op.operands.size() != 2)
    return false;
  const TensorType &a = *body.value(op.operands[0]).type, &b = *body.value(op.operands[1]).type;
  auto isOwn = [](const TensorType &other) { return [&](const Dim &dim) { return !other.has(dim.name); }; };
  auto isShared = [&](NameId dim) { return a.has(dim) && b.has(dim); };
  return isFloat(a.element) && isFloat(b.element) && llvm::any_of(a.dims, isOwn(b)) && llvm::any_of(b.dims, isOwn(a)) &&
         llvm::any_of(op.get<ContractFields>().reduced, isShared);
}

std::set<NameId> dimNames(const TensorType &type) {
  std::set<NameId> names;
  for (const Dim &dim : type.dims)
    names.insert(dim.name);
  return names;
}

class BodyQuantiser {
public:
  BodyQuantiser(Program &program, Body &body, std::string unitPath)
      : program_(program), context_(*program.context), body_(body), unitPath_(std::move(unitPath)),
        scales_(body.values.size()) {
    for (const Value &value : body.values)
      if (value.name)
        names_.insert(program.text(value.name));
    for (const Op &op : body.ops)
      nextKernel_ = std::max(nextKernel_, op.kernel + 1);
  }

  void run() {
    findProducts();
    if (llvm::none_of(products_, [](const auto &element) { return element.has_value(); }))
      return;
    findCarriers();
    rewrite();
  }

private:
  /// Of a cast, the scale is invalid.
  struct Copy {
    ValueId value, scale;
  };

  const Op &definition(ValueId value) const { return body_.op(body_.value(value).def); }
  const TensorType &type(ValueId value) const { return *body_.value(value).type; }

  /// What the value is another form of: views and layouts are looked through.
  ValueId origin(ValueId value) const {
    const Op &def = definition(value);
    return isLookedThrough(def.kind) || convertsLayout(def.kind) ? origin(def.operands[body_.value(value).result])
                                                                 : value;
  }
  bool isWeight(ValueId value) const {
    const Op &def = definition(origin(value));
    bool isCast = def.kind == OpKind::Map && def.get<MapFields>().fn == MapFn::Cast;
    return isCast ? isWeight(def.operands[0]) : def.kind == OpKind::Weight;
  }

  //===--------------------------------------------------------------------===//
  // Which products
  //===--------------------------------------------------------------------===//

  void findProducts() {
    // By what a weight is multiplied with: the dims of the weights, which are those of their gradients.
    std::map<ValueId, std::set<std::set<NameId>>> factors;
    for (const Op &op : body_.ops) {
      std::optional<ElementType> &element = products_.emplace_back();
      if (!isMatrixProduct(op, body_))
        continue;
      std::optional<size_t> weight;
      for (size_t i = 0; i < 2; ++i)
        if (isWeight(op.operands[i]))
          weight = i;
      if (weight && op.part == Part::Forward)
        factors[origin(op.operands[1 - *weight])].insert(dimNames(type(op.operands[*weight])));
      auto givesGradient = [&](ValueId operand) {
        auto known = factors.find(origin(operand));
        return known != factors.end() && known->second.count(dimNames(type(op.results[0])));
      };
      bool isBehind = isBackward(op.part) && llvm::any_of(op.operands, givesGradient);
      bool isPending =
          llvm::any_of(op.operands, [&](ValueId operand) { return body_.value(operand).layout->isPartial(); });
      if ((weight || isBehind) && !isPending)
        element = ruledElement(op);
    }
  }

  /// That of the first rule that names the op.
  std::optional<ElementType> ruledElement(const Op &op) const {
    llvm::StringRef inner = op.scope ? program_.text(op.scope) : llvm::StringRef();
    std::string path = inner.empty() ? unitPath_ : unitPath_ + "." + inner.str();
    for (const GemmRule &rule : program_.plan.gemms)
      if (matches(rule.scopes, path))
        return rule.element;
    return std::nullopt;
  }

  /// The type of the copy of an operand; nothing if it is no wider.
  std::optional<ElementType> copiedTo(ValueId operand, ElementType element) const {
    if (element == ElementType::F8E4M3 && isBackward(definition(origin(operand)).part))
      element = ElementType::F8E5M2;
    return bitWidth(type(operand).element) > bitWidth(element) ? std::optional(element) : std::nullopt;
  }

  //===--------------------------------------------------------------------===//
  // Collectives that may bring the copy
  //===--------------------------------------------------------------------===//

  /// What all readers of a value want instead of it.
  struct Demand {
    bool isRead = false;
    std::optional<ElementType> element;
    void add(std::optional<ElementType> wanted) {
      element = isRead && element != wanted ? std::nullopt : wanted;
      isRead = true;
    }
  };

  static bool moves(const Op &op) {
    return (op.kind == OpKind::AllGather || op.kind == OpKind::AllToAll) && op.operands.size() == 1;
  }

  void findCarriers() {
    std::vector<Demand> demands(body_.values.size());
    carried_.resize(body_.ops.size());
    for (const BodyOutput &output : body_.outputs)
      demands[output.value.index].add(std::nullopt);
    for (ValueId loss : body_.losses)
      demands[loss.index].add(std::nullopt);
    for (size_t i = body_.ops.size(); i-- > 0;) {
      const Op &op = body_.ops[i];
      if (moves(op))
        carried_[i] = demands[op.results[0].index].element;
      for (ValueId operand : op.operands)
        demands[operand.index].add(products_[i] ? copiedTo(operand, *products_[i]) : carried_[i]);
    }
  }

  //===--------------------------------------------------------------------===//
  // Writing the body
  //===--------------------------------------------------------------------===//

  void rewrite() {
    std::vector<Op> ops = std::move(body_.ops);
    body_.ops.clear();
    for (size_t i = 0; i < ops.size(); ++i) {
      Op &op = ops[i];
      if (carried_[i]) {
        Copy copy = copyOf(op.operands[0], op, *carried_[i]);
        op.operands[0] = copy.value;
        body_.values[op.results[0].index].type->element = *carried_[i];
        scales_[op.results[0].index] = copy.scale;
      } else if (products_[i]) {
        takeCopies(op, *products_[i]);
      }
      add(std::move(op));
    }
  }

  void takeCopies(Op &op, ElementType element) {
    llvm::SmallVector<ValueId, 2> scales;
    for (ValueId &operand : op.operands) {
      ValueId scale = scales_[operand.index]; // of what a collective brought
      if (std::optional<ElementType> narrow = copiedTo(operand, element)) {
        Copy copy = copyOf(operand, op, *narrow);
        operand = copy.value;
        scale = copy.scale;
      }
      if (scale)
        scales.push_back(scale);
    }
    op.operands.append(scales.begin(), scales.end());
  }

  Copy copyOf(ValueId value, const Op &reader, ElementType element) {
    // That of a weight is made again, else it would be kept from the forward on.
    Part again = isWeight(value) ? reader.part : Part::Forward;
    auto [known, isNew] = copies_.try_emplace({value, element, again});
    if (!isNew)
      return known->second;
    Part own = definition(value).part;
    at_ = {reader.scope, reader.where, isBackward(own) ? own : reader.part};
    return known->second = bitWidth(element) == 8 ? quantised(value, element) : Copy{cast(value, element), ValueId()};
  }

  ValueId cast(ValueId value, ElementType element) {
    ++nextKernel_;
    return map(MapFn::Cast, {value}, element, label(value) + "." + spelling(element).str());
  }

  Copy quantised(ValueId value, ElementType element) {
    std::string name = label(value);
    // A tensor has one scale, whatever its layout; of a weight backward takes that of the forward.
    ValueId &scale = tensorScales_[{origin(value), element}];
    if (!scale || !isThere(scale)) {
      ++nextKernel_;
      ValueId most = largest(map(MapFn::Abs, {value}, type(value).element, name + ".magnitude"), name + ".amax");
      ++nextKernel_;
      TensorType number{ElementType::F32, {}};
      Layout whole(body_.value(value).layout->places.size());
      ValueId range = make(OpKind::Constant, {}, ConstantFields{.number = largestOf(element)}, number, whole, "");
      scale = make(OpKind::Map, {most, range}, MapFields{MapFn::Div, ElementType::F32}, number, whole, name + ".scale");
    } else {
      ++nextKernel_;
    }
    return {map(MapFn::Quantise, {value, scale}, element, name + ".f8"), scale};
  }

  /// Whether what is being made can read the value: of the halves of a backward, only the second reads the first.
  bool isThere(ValueId value) const {
    return at_.part == definition(value).part || definition(value).part != Part::WeightGrad;
  }

  std::string label(ValueId value) const { return labelOf(program_, body_, value); }

  /// An element-wise function of the first operand, laid as it is; others are numbers.
  ValueId map(MapFn fn, llvm::ArrayRef<ValueId> operands, ElementType element, const std::string &name) {
    TensorType made{element, type(operands[0]).dims};
    Layout layout = *body_.value(operands[0]).layout;
    return make(OpKind::Map, operands, MapFields{fn, element}, std::move(made), std::move(layout), name);
  }

  /// Over all elements, on all ranks.
  ValueId largest(ValueId value, const std::string &name) {
    ReduceFields fields{ReduceFn::Max, {}, ElementType::F32};
    for (const Dim &dim : type(value).dims)
      fields.reduced.push_back(dim.name);
    Layout layout = *body_.value(value).layout;
    for (Place &place : layout.places)
      if (place.isSplit())
        place = Place::partial(ReduceFn::Max);
    AtomList atoms = layout.partialAtoms();
    TensorType number{ElementType::F32, {}};
    Layout whole(layout.places.size());
    ValueId most = make(OpKind::Reduce, {value}, std::move(fields), number, std::move(layout), name);
    if (atoms.empty())
      return most;
    CollectiveFields collective;
    collective.atoms = std::move(atoms);
    collective.fn = ReduceFn::Max;
    return make(OpKind::AllReduce, {most}, std::move(collective), number, std::move(whole), name);
  }

  ValueId make(OpKind kind, llvm::ArrayRef<ValueId> operands, OpFields fields, TensorType type, Layout layout,
               const std::string &name) {
    Op op;
    if (!operands.empty() && kind != OpKind::AllReduce)
      op.compute = computeOn(operands[0]);
    Value value;
    value.type = std::move(type);
    value.layout = std::move(layout);
    value.name = name.empty() ? NameId() : unique(name);
    op.kind = kind;
    op.part = at_.part;
    op.scope = at_.scope;
    op.where = at_.where;
    op.kernel = nextKernel_ - 1;
    op.operands.assign(operands.begin(), operands.end());
    op.results.push_back(ValueId(static_cast<uint32_t>(body_.values.size())));
    op.fields = std::move(fields);
    body_.values.push_back(std::move(value));
    ValueId result = op.results[0];
    add(std::move(op));
    return result;
  }

  /// Each rank takes the part of the operand that it has: its factors are its dims.
  llvm::SmallVector<int16_t, 4> computeOn(ValueId operand) const {
    llvm::SmallVector<int16_t, 4> compute;
    if (type(operand).dims.empty())
      return compute;
    for (const Place &place : body_.value(operand).layout->places) {
      const auto &dims = type(operand).dims;
      auto *dim = llvm::find_if(dims, [&](const Dim &dim) { return place.isSplit() && dim.name == place.dim; });
      compute.push_back(dim == dims.end() ? int16_t(-1) : static_cast<int16_t>(dim - dims.begin()));
    }
    return compute;
  }

  NameId unique(const std::string &name) {
    std::string text = name;
    for (unsigned n = 2; !names_.insert(text).second; ++n)
      text = name + "'" + std::to_string(n);
    return context_.name(text);
  }

  void add(Op op) {
    for (ValueId result : op.results)
      body_.values[result.index].def = OpId(static_cast<uint32_t>(body_.ops.size()));
    body_.ops.push_back(std::move(op));
  }

  Program &program_;
  IRContext &context_;
  Body &body_;
  std::string unitPath_;
  llvm::StringSet<> names_;
  uint32_t nextKernel_ = 0;
  // Per op, before the rewriting: a product's rule; what a collective brings instead of its operand.
  std::vector<std::optional<ElementType>> products_, carried_;
  /// Per value that was there before: its scale, if a collective brings a copy.
  std::vector<ValueId> scales_;
  /// By value, type, and the part for which it is made again.
  std::map<std::tuple<ValueId, ElementType, Part>, Copy> copies_;
  /// By tensor and type of the copy.
  std::map<std::pair<ValueId, ElementType>, ValueId> tensorScales_;
  /// Of what is being made.
  struct {
    NameId scope;
    SourceRange where;
    Part part = Part::Forward;
  } at_;
};

} // namespace

void quantise(Program &program, PassStats &stats) {
  if (program.plan.gemms.empty())
    return;
  std::vector<bool> done(program.bodies.size(), false);
  for (const Unit &unit : program.units) {
    if (done[unit.body.index])
      continue;
    done[unit.body.index] = true;
    Body &body = program.bodies[unit.body.index];
    stats.opVisits += body.ops.size();
    // No rule tells two units of one body apart.
    BodyQuantiser(program, body, program.unitPath(unit)).run();
  }
}

} // namespace stg
