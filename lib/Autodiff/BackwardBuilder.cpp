//===- BackwardBuilder.cpp --------------------------------------------------===//
#include "BackwardBuilder.h"
#include "SavedValues.h"
#include "stg/Analysis/Kernels.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <map>

namespace stg::autodiff {

namespace {

bool hasDim(llvm::ArrayRef<Dim> dims, NameId name) {
  return llvm::any_of(dims, [&](const Dim &dim) { return dim.name == name; });
}

DimList missingFrom(llvm::ArrayRef<Dim> wanted, llvm::ArrayRef<Dim> present) {
  DimList missing;
  for (const Dim &dim : wanted)
    if (!hasDim(present, dim.name))
      missing.push_back(dim);
  return missing;
}

} // namespace

BackwardBuilder::BackwardBuilder(IRContext &context, Body &body)
    : context_(context), body_(body), firstValue_(body.values.size()), readByBackward_(body.values.size(), false),
      stored_(storedByForward(body, context)) {
  for (const Value &value : body.values)
    names_.insert(value.name);
}

void BackwardBuilder::enter(const Op &forward, uint32_t group) {
  scope_ = forward.scope;
  where_ = forward.where;
  statement_ = forward.kernel;
  group_ = group;
}

void BackwardBuilder::standWith(ValueId value) {
  if (isBackward(value))
    scope_ = maker(value).op.scope;
}

void BackwardBuilder::fuseWith(ValueId value) {
  if (!isBackward(value))
    return;
  const Draft &draft = maker(value);
  // A broadcast is no work, but belongs to the statement that asked for it.
  bool isOutside = isFree(draft.op.kind) && draft.op.kind != OpKind::Broadcast;
  if (isOutside || draft.op.kind == OpKind::Contract || draft.op.kind == OpKind::Call)
    return;
  statement_ = draft.op.kernel;
  group_ = draft.group;
}

llvm::SmallVector<ValueId, 2> BackwardBuilder::emitAll(OpKind kind, llvm::ArrayRef<ValueId> operands, OpFields fields,
                                                       llvm::ArrayRef<TensorType> types) {
  Draft draft;
  draft.group = group_;
  Op &op = draft.op;
  op.kind = kind;
  op.part = Part::WeightGrad; // until it turns out that an input needs it
  op.operands.assign(operands.begin(), operands.end());
  op.fields = std::move(fields);
  op.kernel = statement_;
  op.scope = scope_;
  op.where = where_;
  for (const TensorType &type : types) {
    Value value;
    value.type = type;
    value.def = OpId(static_cast<uint32_t>(body_.ops.size() + drafts_.size()));
    value.result = static_cast<uint32_t>(op.results.size());
    op.results.push_back(ValueId(static_cast<uint32_t>(body_.values.size())));
    body_.values.push_back(std::move(value));
  }
  for (ValueId operand : operands)
    if (!isBackward(operand))
      readByBackward_[storageOf(operand).index] = true;
  drafts_.push_back(std::move(draft));
  return drafts_.back().op.results;
}

ValueId BackwardBuilder::emit(OpKind kind, llvm::ArrayRef<ValueId> operands, OpFields fields, TensorType type) {
  return emitAll(kind, operands, std::move(fields), type).front();
}

ValueId BackwardBuilder::constant(double number) {
  return emit(OpKind::Constant, {}, ConstantFields{.number = number}, {ElementType::F32, {}});
}

ValueId BackwardBuilder::constant(DimExpr size) {
  return emit(OpKind::Constant, {}, ConstantFields{.value = size}, {ElementType::F32, {}});
}

ValueId BackwardBuilder::map(MapFn fn, llvm::ArrayRef<ValueId> operands, ElementType element) {
  DimList all;
  for (ValueId operand : operands)
    all.append(missingFrom(type(operand).dims, all));
  llvm::SmallVector<ValueId, 4> list(operands.begin(), operands.end());
  auto hasAll = [&](ValueId operand) { return type(operand).dims.size() == all.size(); };
  auto *complete = llvm::find_if(list, hasAll);
  if (complete == list.end()) {
    list.front() = withDims(list.front(), all);
    complete = list.begin();
  }
  TensorType result{element, type(*complete).dims};
  return emit(OpKind::Map, list, MapFields{fn, element}, std::move(result));
}

ValueId BackwardBuilder::contract(llvm::ArrayRef<ValueId> operands, llvm::ArrayRef<NameId> reduced,
                                  ElementType element) {
  TensorType result{element, {}};
  for (ValueId operand : operands)
    result.dims.append(missingFrom(type(operand).dims, result.dims));
  llvm::erase_if(result.dims, [&](const Dim &dim) { return llvm::is_contained(reduced, dim.name); });
  ContractFields fields{{reduced.begin(), reduced.end()}, element};
  return emit(OpKind::Contract, operands, std::move(fields), std::move(result));
}

ValueId BackwardBuilder::reduceSum(ValueId value, llvm::ArrayRef<NameId> reduced, ElementType element) {
  TensorType result{element, type(value).dims};
  llvm::erase_if(result.dims, [&](const Dim &dim) { return llvm::is_contained(reduced, dim.name); });
  ReduceFields fields{ReduceFn::Sum, {reduced.begin(), reduced.end()}, element};
  return emit(OpKind::Reduce, value, std::move(fields), std::move(result));
}

ValueId BackwardBuilder::slice(ValueId value, NameId from, const Dim &to, DimExpr start) {
  TensorType result = type(value);
  for (Dim &dim : result.dims)
    if (dim.name == from)
      dim = to;
  return emit(OpKind::Slice, value, SliceFields{from, to, start}, std::move(result));
}

ValueId BackwardBuilder::pad(ValueId value, NameId from, const Dim &to, DimExpr start) {
  TensorType result = type(value);
  if (!from)
    result.dims.push_back(to);
  for (Dim &dim : result.dims)
    if (from && dim.name == from)
      dim = to;
  return emit(OpKind::Pad, value, PadFields{from, to, start}, std::move(result));
}

ValueId BackwardBuilder::renamed(ValueId value, llvm::ArrayRef<NameId> from, llvm::ArrayRef<Dim> to) {
  ViewFields fields;
  TensorType result = type(value);
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[i].name || !result.has(from[i]))
      continue;
    fields.items.push_back({{from[i]}, {to[i]}, false});
  }
  for (Dim &dim : result.dims)
    for (const ViewItem &item : fields.items)
      if (item.from.front() == dim.name) {
        dim = item.to.front();
        break;
      }
  return fields.items.empty() ? value : emit(OpKind::View, value, std::move(fields), std::move(result));
}

ValueId BackwardBuilder::withDims(ValueId value, llvm::ArrayRef<Dim> dims) {
  DimList missing = missingFrom(dims, type(value).dims);
  if (missing.empty())
    return value;
  BroadcastFields fields;
  fields.dims.assign(dims.begin(), dims.end());
  fields.dims.append(missingFrom(type(value).dims, dims));
  TensorType result{type(value).element, {fields.dims.begin(), fields.dims.end()}};
  return emit(OpKind::Broadcast, value, std::move(fields), std::move(result));
}

ValueId BackwardBuilder::full(ValueId value, llvm::ArrayRef<Dim> dims) {
  value = withDims(value, dims);
  ViewFields fields;
  bool inOrder = true;
  for (size_t i = 0; i < dims.size(); ++i) {
    fields.order.push_back(dims[i].name);
    inOrder &= type(value).dims[i].name == dims[i].name;
  }
  if (inOrder)
    return value;
  TensorType result{type(value).element, {dims.begin(), dims.end()}};
  return emit(OpKind::View, value, std::move(fields), std::move(result));
}

ValueId BackwardBuilder::summedTo(ValueId value, llvm::ArrayRef<Dim> kept, llvm::ArrayRef<Dim> domain,
                                  ElementType element) {
  llvm::SmallVector<NameId, 4> reduced;
  DimExpr times;
  for (const Dim &dim : domain) {
    if (hasDim(kept, dim.name))
      continue;
    if (type(value).has(dim.name))
      reduced.push_back(dim.name);
    else
      times = times ? times * dim.size : dim.size;
  }
  if (!reduced.empty())
    value = reduceSum(value, reduced, element);
  if (times)
    value = map(MapFn::Mul, {value, constant(times)}, element);
  return value;
}

/// What a view is a view of.
ValueId BackwardBuilder::storageOf(ValueId value) const {
  while (!isBackward(value)) {
    const Op &def = body_.op(body_.value(value).def);
    if (def.kind != OpKind::View && def.kind != OpKind::Stop)
      break;
    value = def.operands[0];
  }
  return value;
}

bool BackwardBuilder::isSaved(ValueId value) const {
  ValueId storage = storageOf(value);
  if (isBackward(storage) || readByBackward_[storage.index])
    return true;
  switch (body_.op(body_.value(storage).def).kind) {
  case OpKind::Weight:
  case OpKind::Constant:
  case OpKind::Iota:
    return true;
  default:
    return false;
  }
}

void BackwardBuilder::needForInput(ValueId value) {
  if (isBackward(value))
    maker(value).op.part = Part::InputGrad;
}

void BackwardBuilder::placeLike(ValueId value, ValueId primal) {
  if (!isBackward(value) || !placed_.insert(value).second)
    return;
  const Value &model = body_.value(primal);
  NameId home = model.scope ? model.scope : body_.op(model.def).scope;
  NameId unit = context_.name("");
  NameId own = maker(value).op.scope;
  if ((home ? home : unit) != (own ? own : unit))
    body_.values[value.index].scope = home ? home : unit;
}

void BackwardBuilder::nameCotangent(ValueId value, ValueId primal) {
  NameId name = body_.value(primal).name;
  if (!isBackward(value) || body_.value(value).name || !name)
    return;
  llvm::StringRef text = context_.text(name);
  size_t dot = text.rfind('.');
  size_t last = dot == llvm::StringRef::npos ? 0 : dot + 1;
  std::string wanted = (text.take_front(last) + "d" + text.drop_front(last)).str();
  NameId unique = context_.name(wanted);
  for (unsigned number = 2; !names_.insert(unique).second; ++number)
    unique = context_.name(wanted + "'" + std::to_string(number));
  body_.values[value.index].name = unique;
}

ValueId BackwardBuilder::addInput(InputSlot slot, ValueId primal) {
  std::string wanted = context_.text(slot.name).str();
  auto isTaken = [&](const InputSlot &other) { return other.name == slot.name; };
  for (unsigned number = 2; llvm::any_of(body_.inputs, isTaken); ++number)
    slot.name = context_.name(wanted + "'" + std::to_string(number));
  body_.inputs.push_back(slot);
  ValueId value = emit(OpKind::Input, {}, SlotFields{static_cast<uint32_t>(body_.inputs.size() - 1)}, slot.type);
  needForInput(value);
  placeLike(value, primal);
  return value;
}

void BackwardBuilder::accumulate(ValueId gradient, uint32_t slot) {
  emitAll(OpKind::Accumulate, gradient, SlotFields{slot}, {});
}

void BackwardBuilder::finish(PassStats &stats) {
  markLive();
  spreadInputGrad();
  computeAgain();
  numberKernels();
  append(stats);
}

void BackwardBuilder::markLive() {
  std::vector<bool> used(body_.values.size(), false);
  for (const BodyOutput &output : body_.outputs)
    used[output.value.index] = true;
  for (Draft &draft : llvm::reverse(drafts_)) {
    draft.live = draft.op.kind == OpKind::Accumulate ||
                 llvm::any_of(draft.op.results, [&](ValueId result) { return used[result.index]; });
    if (draft.live)
      for (ValueId operand : draft.op.operands)
        used[operand.index] = true;
  }
}

/// What an input-grad op reads is part of the input gradient, too.
void BackwardBuilder::spreadInputGrad() {
  for (Draft &draft : llvm::reverse(drafts_))
    if (draft.live && draft.op.part == Part::InputGrad)
      for (ValueId operand : draft.op.operands)
        needForInput(operand);
}

/// Gives each backward kernel copies of its own of the forward ops that it computes again.
void BackwardBuilder::computeAgain() {
  std::vector<bool> read(firstValue_, false);
  for (const Draft &draft : drafts_) {
    if (!draft.live)
      continue;
    bool standsAlone = draft.op.kind == OpKind::Contract || draft.op.kind == OpKind::Call;
    for (ValueId operand : draft.op.operands) {
      if (isBackward(operand))
        continue;
      read[operand.index] = true;
      stored_[operand.index] = stored_[operand.index] || standsAlone;
    }
  }
  std::vector<bool> again = computedAgain(body_, body_.ops.size(), std::move(read), stored_, context_);
  std::vector<Draft> all;
  std::map<std::tuple<ValueId, Part, uint32_t, uint32_t>, ValueId> copies;
  auto copyFor = [&](const Draft &user, ValueId value, auto &&self) -> ValueId {
    if (isBackward(value) || !again[value.index])
      return value;
    auto [entry, isNew] = copies.try_emplace({value, user.op.part, user.op.kernel, user.group});
    if (!isNew)
      return entry->second;
    Draft copy{body_.op(body_.value(value).def), user.group, true};
    copy.op.part = user.op.part;
    copy.op.kernel = user.op.kernel;
    for (ValueId &operand : copy.op.operands)
      operand = self(user, operand, self);
    ValueId result(static_cast<uint32_t>(body_.values.size()));
    copy.op.results = {result};
    Value made;
    made.type = body_.value(value).type;
    made.scope = body_.value(value).scope;
    body_.values.push_back(std::move(made));
    all.push_back(std::move(copy));
    return copies[{value, user.op.part, user.op.kernel, user.group}] = result;
  };
  for (Draft &draft : drafts_) {
    if (draft.live)
      for (ValueId &operand : draft.op.operands)
        operand = copyFor(draft, operand, copyFor);
    all.push_back(std::move(draft));
  }
  drafts_ = std::move(all);
}

/// Numbers behind those of the forward: one per part, statement and group, in order of appearance.
void BackwardBuilder::numberKernels() {
  uint32_t next = 0;
  for (const Op &op : body_.ops)
    next = std::max(next, op.kernel + 1);
  std::map<std::tuple<Part, uint32_t, uint32_t>, uint32_t> numbers;
  for (Draft &draft : drafts_) {
    if (!draft.live)
      continue;
    auto [entry, isNew] = numbers.try_emplace({draft.op.part, draft.op.kernel, draft.group}, next);
    next += isNew;
    draft.op.kernel = entry->second;
  }
}

void BackwardBuilder::append(PassStats &stats) {
  std::vector<Value> drafted(body_.values.begin() + static_cast<ptrdiff_t>(firstValue_), body_.values.end());
  body_.values.resize(firstValue_);
  std::vector<ValueId> placed(drafted.size());
  auto relocate = [&](ValueId &value) {
    if (isBackward(value))
      value = placed[value.index - firstValue_];
  };
  for (Draft &draft : drafts_) {
    ++stats.opVisits;
    if (!draft.live)
      continue;
    OpId id(static_cast<uint32_t>(body_.ops.size()));
    for (ValueId &operand : draft.op.operands)
      relocate(operand);
    for (ValueId &result : draft.op.results) {
      Value &value = drafted[result.index - firstValue_];
      value.def = id;
      placed[result.index - firstValue_] = ValueId(static_cast<uint32_t>(body_.values.size()));
      body_.values.push_back(std::move(value));
      relocate(result);
    }
    body_.ops.push_back(std::move(draft.op));
  }
  for (BodyOutput &output : body_.outputs)
    relocate(output.value);
  drafts_.clear();
}

} // namespace stg::autodiff
