//===- StepBuilder.cpp ------------------------------------------------------===//
#include "StepBuilder.h"
#include "stg/Analysis/Factors.h"
#include "stg/Analysis/Kernels.h"
#include "stg/Analysis/ValueLabels.h"

namespace stg {

void setOps(Body &body, std::vector<Op> ops) {
  body.ops = std::move(ops);
  for (uint32_t i = 0; i < body.ops.size(); ++i)
    for (ValueId result : body.ops[i].results)
      body.values[result.index].def = OpId(i);
}

StepBuilder::StepBuilder(Program &program, Body &body) : program_(program), body_(body), atoms_(program.mesh.atoms()) {
  for (const Value &value : body.values)
    if (value.name)
      names_.insert(program.text(value.name));
  for (const Op &op : body.ops)
    kernel_ = std::max(kernel_, op.kernel);
}

void StepBuilder::begin(Part part, NameId scope, SourceRange where) {
  part_ = part;
  scope_ = scope;
  where_ = where;
  nextKernel();
}

NameId StepBuilder::unique(llvm::StringRef name) {
  std::string candidate = name.str();
  for (unsigned n = 1; !names_.insert(candidate).second; ++n)
    candidate = name.str() + "'" + std::to_string(n);
  return program_.context->name(candidate);
}

ValueId StepBuilder::newValue(TensorType type, Layout layout, llvm::StringRef name) {
  ValueId id(static_cast<uint32_t>(body_.values.size()));
  Value value;
  value.type = std::move(type);
  value.layout = std::move(layout);
  value.name = unique(name);
  body_.values.push_back(std::move(value));
  return id;
}

void StepBuilder::placeFactors(Op &op) {
  std::vector<OpFactor> factors = factorsOf(op, body_);
  if (factors.empty() || op.operands.empty())
    return;
  op.compute.assign(atoms_.size(), -1);
  for (size_t atom = 0; atom < atoms_.size(); ++atom)
    for (size_t f = 0; f < factors.size() && op.compute[atom] < 0; ++f)
      for (size_t i = 0; i < op.operands.size(); ++i) {
        const Place &place = layoutOf(op.operands[i]).places[atom];
        if (place.isSplit() && factors[f].operandDims[i] == place.dim)
          op.compute[atom] = static_cast<int16_t>(f);
      }
}

void StepBuilder::append(Op op) {
  OpId id(static_cast<uint32_t>(body_.ops.size()));
  op.part = part_;
  op.kernel = kernel_;
  op.scope = scope_;
  op.where = where_;
  for (uint32_t i = 0; i < op.results.size(); ++i) {
    body_.values[op.results[i].index].def = id;
    body_.values[op.results[i].index].result = i;
  }
  placeFactors(op);
  body_.ops.push_back(std::move(op));
}

ValueId StepBuilder::add(OpKind kind, llvm::ArrayRef<ValueId> operands, OpFields fields, TensorType type, Layout layout,
                         llvm::StringRef name) {
  Op op;
  op.kind = kind;
  op.operands.assign(operands.begin(), operands.end());
  op.fields = std::move(fields);
  ValueId result = newValue(std::move(type), std::move(layout), name);
  op.results.push_back(result);
  append(std::move(op));
  return result;
}

void StepBuilder::addEffect(OpKind kind, ValueId operand, SlotFields fields) {
  Op op;
  op.kind = kind;
  op.operands.push_back(operand);
  op.fields = fields;
  append(std::move(op));
}

ValueId StepBuilder::constant(double number) {
  ConstantFields fields;
  fields.number = number;
  return add(OpKind::Constant, {}, fields, {ElementType::F32, {}}, Layout(atoms_.size()), "constant");
}

ValueId StepBuilder::map(MapFn fn, llvm::ArrayRef<ValueId> operands, ElementType element, llvm::StringRef name) {
  ValueId largest = operands[0];
  for (ValueId operand : operands)
    if (typeOf(operand).dims.size() > typeOf(largest).dims.size())
      largest = operand;
  TensorType type{element, typeOf(largest).dims};
  return add(OpKind::Map, operands, MapFields{fn, element}, std::move(type), layoutOf(largest), name);
}

ValueId StepBuilder::cast(ValueId value, ElementType element, llvm::StringRef name) {
  return typeOf(value).element == element ? value : map(MapFn::Cast, {value}, element, name);
}

std::string StepBuilder::nameOf(ValueId value) const {
  NameId name = body_.value(value).name;
  return name ? program_.text(name).str() : labelOf(program_, body_, value);
}

void StepBuilder::castTo(ValueId value, ValueId result) {
  Op op;
  op.kind = OpKind::Map;
  op.operands.push_back(value);
  op.results.push_back(result);
  op.fields = MapFields{MapFn::Cast, typeOf(result).element};
  append(std::move(op));
}

ValueId StepBuilder::sumOfSquares(ValueId value, llvm::StringRef name) {
  ValueId square = map(MapFn::Square, {value}, ElementType::F32, name);
  ReduceFields fields{ReduceFn::Sum, {}, ElementType::F32};
  for (const Dim &dim : typeOf(square).dims)
    fields.reduced.push_back(dim.name);
  if (fields.reduced.empty())
    return square;
  Layout layout(atoms_.size());
  for (size_t atom = 0; atom < atoms_.size(); ++atom)
    if (!layoutOf(square).places[atom].isWhole())
      layout.places[atom] = Place::partial();
  return add(OpKind::Reduce, {square}, std::move(fields), {ElementType::F32, {}}, std::move(layout), name);
}

ValueId StepBuilder::demote(ValueId value, const AtomList &atoms, llvm::StringRef name) {
  if (atoms.empty())
    return value;
  Layout layout = layoutOf(value);
  for (uint32_t atom : atoms)
    layout.places[atom] = Place::partial();
  CollectiveFields fields;
  fields.atoms = atoms;
  return add(OpKind::Demote, {value}, std::move(fields), typeOf(value), std::move(layout), name);
}

llvm::SmallVector<ValueId, 4> StepBuilder::allReduce(llvm::ArrayRef<ValueId> values, const AtomList &atoms) {
  if (atoms.empty())
    return {values.begin(), values.end()};
  Op op;
  op.kind = OpKind::AllReduce;
  op.operands.assign(values.begin(), values.end());
  CollectiveFields fields;
  fields.atoms = atoms;
  op.fields = std::move(fields);
  llvm::SmallVector<ValueId, 4> results;
  for (ValueId value : values) {
    Layout layout = layoutOf(value);
    for (uint32_t atom : atoms)
      layout.places[atom] = Place::whole();
    TensorType type = typeOf(value);
    results.push_back(newValue(std::move(type), std::move(layout), nameOf(value)));
  }
  op.results.assign(results.begin(), results.end());
  append(std::move(op));
  return results;
}

void StepBuilder::storageCollective(OpKind kind, llvm::ArrayRef<ValueId> operands, const AtomList &atoms,
                                    llvm::ArrayRef<ValueId> results) {
  Op op;
  op.kind = kind;
  op.operands.assign(operands.begin(), operands.end());
  op.results.assign(results.begin(), results.end());
  CollectiveFields fields;
  fields.atoms = atoms;
  fields.isStorage = true;
  op.fields = std::move(fields);
  append(std::move(op));
}

ValueId StepBuilder::reduceScatter(ValueId value, const AtomList &atoms, const Layout &home, llvm::StringRef name) {
  for (const Dim &dim : TensorType(typeOf(value)).dims) {
    CollectiveFields fields;
    Layout scattered = layoutOf(value);
    for (uint32_t atom : atoms)
      if (home.places[atom] == Place::split(dim.name)) {
        fields.atoms.push_back(atom);
        scattered.places[atom] = home.places[atom];
      }
    fields.to = dim.name;
    if (!fields.atoms.empty())
      value = add(OpKind::ReduceScatter, {value}, std::move(fields), typeOf(value), std::move(scattered), name);
  }
  return value;
}

ValueId StepBuilder::convert(ValueId value, const Layout &to, llvm::StringRef name) {
  for (const Dim &dim : TensorType(typeOf(value)).dims) {
    CollectiveFields gather, shard;
    Layout gathered = layoutOf(value);
    for (uint32_t atom : layoutOf(value).atomsOn(dim.name))
      if (to.places[atom] != Place::split(dim.name)) {
        gather.atoms.push_back(atom);
        gathered.places[atom] = Place::whole();
      }
    gather.from = dim.name;
    if (!gather.atoms.empty())
      value = add(OpKind::AllGather, {value}, std::move(gather), typeOf(value), std::move(gathered), name);
  }
  for (const Dim &dim : TensorType(typeOf(value)).dims) {
    CollectiveFields shard;
    Layout part = layoutOf(value);
    for (uint32_t atom : to.atomsOn(dim.name))
      if (part.places[atom].isWhole()) {
        shard.atoms.push_back(atom);
        part.places[atom] = Place::split(dim.name);
      }
    shard.to = dim.name;
    if (!shard.atoms.empty())
      value = add(OpKind::Shard, {value}, std::move(shard), typeOf(value), std::move(part), name);
  }
  return value;
}

ValueId StepBuilder::repeated(ValueId value, std::map<uint32_t, ValueId> &again) {
  if (auto known = again.find(value.index); known != again.end())
    return known->second;
  Op op = body_.op(body_.value(value).def);
  if (isBackward(op.part) || !isLookedThrough(op.kind))
    return value;
  for (ValueId &operand : op.operands)
    operand = repeated(operand, again);
  if (op.operands == body_.op(body_.value(value).def).operands)
    return value;
  for (ValueId &result : op.results) {
    const Value old = body_.value(result);
    ValueId copy = newValue(*old.type, *old.layout, old.name ? program_.text(old.name) : "view");
    again[result.index] = copy;
    result = copy;
  }
  append(std::move(op));
  return again.at(value.index);
}

Layout StepBuilder::restrictTo(const Layout &layout, llvm::ArrayRef<Dim> dims) {
  Layout restricted = layout;
  for (Place &place : restricted.places)
    if (place.isSplit() && llvm::none_of(dims, [&](const Dim &dim) { return dim.name == place.dim; }))
      place = Place::whole();
  return restricted;
}

} // namespace stg
