//===- Program.cpp - spellings of the IR's enumerations, types as text -----===//
#include "stg/IR/Program.h"

namespace stg {

namespace {

template <class Enum, size_t count>
std::optional<Enum> find(const llvm::StringLiteral (&names)[count], llvm::StringRef text) {
  for (size_t i = 0; i < count; ++i)
    if (names[i] == text)
      return static_cast<Enum>(i);
  return std::nullopt;
}

// Each in the order of its enumeration.
constexpr llvm::StringLiteral kLevels[] = {"elaborated", "typed",  "differentiated", "laid",
                                           "explicit",   "stored", "scheduled"};
constexpr llvm::StringLiteral kModes[] = {"forward", "train", "prefill", "decode"};
constexpr llvm::StringLiteral kReduceFns[] = {"sum", "max", "min", "prod"};
constexpr llvm::StringLiteral kParts[] = {"gather",      "forward", "recompute", "input-grad",
                                          "weight-grad", "sync",    "step"};
constexpr llvm::StringLiteral kFactorKinds[] = {"map", "sum", "max", "whole", "stream", "halo", "chain", "carry"};
constexpr llvm::StringLiteral kStageCuts[] = {"even", "balanced", "listed"};
constexpr llvm::StringLiteral kSlotRoles[] = {"value", "cotangent", "accumulator"};
static_assert(std::size(kLevels) == static_cast<size_t>(Level::Scheduled) + 1);
static_assert(std::size(kParts) == static_cast<size_t>(Part::Step) + 1);
static_assert(std::size(kSlotRoles) == static_cast<size_t>(SlotRole::Accumulator) + 1);
static_assert(std::size(kFactorKinds) == static_cast<size_t>(FactorKind::Carry) + 1);
static_assert(std::size(kStageCuts) == static_cast<size_t>(StageCut::Listed) + 1);
static_assert(std::size(kModes) == static_cast<size_t>(Mode::Decode) + 1);
static_assert(std::size(kReduceFns) == static_cast<size_t>(ReduceFn::Prod) + 1);

constexpr llvm::StringLiteral kMnemonics[] = {
#define OP(kind, mnemonic, ...) mnemonic,
#include "stg/IR/Ops.def"
};
constexpr llvm::StringLiteral kMeanings[] = {
#define OP(kind, mnemonic, shape, factors, cost, gradient, meaning) meaning,
#include "stg/IR/Ops.def"
};

struct MapFnInfo {
  llvm::StringLiteral spelling;
  unsigned arity, flops;
  llvm::StringLiteral meaning;
};
constexpr MapFnInfo kMapFns[] = {
#define FN(name, spelling, arity, flops, meaning, gradient) {spelling, arity, flops, meaning},
#include "stg/IR/MapFns.def"
};

} // namespace

llvm::StringRef spelling(Level level) { return kLevels[static_cast<size_t>(level)]; }
std::optional<Level> levelFrom(llvm::StringRef text) { return find<Level>(kLevels, text); }
llvm::StringRef spelling(Mode mode) { return kModes[static_cast<size_t>(mode)]; }
std::optional<Mode> modeFrom(llvm::StringRef text) { return find<Mode>(kModes, text); }
llvm::StringRef spelling(ReduceFn fn) { return kReduceFns[static_cast<size_t>(fn)]; }
std::optional<ReduceFn> reduceFnFrom(llvm::StringRef text) { return find<ReduceFn>(kReduceFns, text); }
llvm::StringRef spelling(Part part) { return kParts[static_cast<size_t>(part)]; }
std::optional<Part> partFrom(llvm::StringRef text) { return find<Part>(kParts, text); }
llvm::StringRef spelling(FactorKind kind) { return kFactorKinds[static_cast<size_t>(kind)]; }
std::optional<FactorKind> factorKindFrom(llvm::StringRef text) { return find<FactorKind>(kFactorKinds, text); }

llvm::StringRef spelling(SlotRole role) { return kSlotRoles[static_cast<size_t>(role)]; }
std::optional<SlotRole> slotRoleFrom(llvm::StringRef text) { return find<SlotRole>(kSlotRoles, text); }

llvm::StringRef spelling(StageCut cut) { return kStageCuts[static_cast<size_t>(cut)]; }
std::optional<StageCut> stageCutFrom(llvm::StringRef text) { return find<StageCut>(kStageCuts, text); }

llvm::StringRef mnemonic(OpKind kind) { return kMnemonics[static_cast<size_t>(kind)]; }
std::optional<OpKind> opKindFrom(llvm::StringRef text) { return find<OpKind>(kMnemonics, text); }
llvm::StringRef meaning(OpKind kind) { return kMeanings[static_cast<size_t>(kind)]; }

llvm::StringRef spelling(MapFn fn) { return kMapFns[static_cast<size_t>(fn)].spelling; }
llvm::StringRef meaning(MapFn fn) { return kMapFns[static_cast<size_t>(fn)].meaning; }
unsigned arity(MapFn fn) { return kMapFns[static_cast<size_t>(fn)].arity; }
unsigned flopsPerElement(MapFn fn) { return kMapFns[static_cast<size_t>(fn)].flops; }
std::optional<MapFn> mapFnFrom(llvm::StringRef text) {
  for (size_t i = 0; i < std::size(kMapFns); ++i)
    if (kMapFns[i].spelling == text)
      return static_cast<MapFn>(i);
  return std::nullopt;
}

OpFields defaultFields(OpKind kind) {
  switch (kind) {
  case OpKind::Input:
  case OpKind::Weight:
  case OpKind::State:
  case OpKind::Update:
  case OpKind::Accumulate:
  case OpKind::Gradient:
  case OpKind::Assign:
  case OpKind::Tally:
  case OpKind::Total:
    return SlotFields();
  case OpKind::Pad:
    return PadFields();
  case OpKind::Broadcast:
    return BroadcastFields();
  case OpKind::Convert:
    return ConvertFields();
  case OpKind::Shard:
  case OpKind::Demote:
  case OpKind::ReduceScatter:
  case OpKind::AllReduce:
  case OpKind::AllToAll:
  case OpKind::AllGather:
    return CollectiveFields();
  case OpKind::Store:
  case OpKind::Load:
    return HostFields();
  case OpKind::Constant:
    return ConstantFields();
  case OpKind::Iota:
    return IotaFields();
  case OpKind::Contract:
    return ContractFields();
  case OpKind::Map:
    return MapFields();
  case OpKind::Reduce:
    return ReduceFields();
  case OpKind::Stop:
    return StopFields();
  case OpKind::Dropout:
    return DropoutFields();
  case OpKind::Masked:
    return MaskedFields();
  case OpKind::View:
    return ViewFields();
  case OpKind::Concat:
    return ConcatFields();
  case OpKind::At:
    return AtFields();
  case OpKind::Slice:
    return SliceFields();
  case OpKind::Gather:
    return GatherFields();
  case OpKind::Scatter:
    return ScatterFields();
  case OpKind::Append:
    return AppendFields();
  case OpKind::Call:
    return CallFields();
  }
  return SlotFields();
}

bool fieldsMatchKind(const Op &op) { return op.fields.index() == defaultFields(op.kind).index(); }

std::string Program::unitPath(const Unit &unit) const {
  std::string path = text(unit.path).str();
  if (unit.index >= 0)
    path += "[" + std::to_string(unit.index) + "]";
  return path;
}

const Enumeration *Program::enumerationOf(NameId dim) const {
  auto found = llvm::find_if(enumerations, [&](const Enumeration &each) { return each.dim == dim; });
  return found == enumerations.end() ? nullptr : &*found;
}

bool Program::hasEnumeration(const TensorType &type) const {
  return llvm::any_of(type.dims, [&](const Dim &dim) { return enumerationOf(dim.name) != nullptr; });
}

std::string toString(const Dim &dim, const IRContext &context) {
  std::string text = context.text(dim.name).str();
  if (dim.size && dim.size.isSymbol(text))
    return text;
  return text + " = " + dim.size.str();
}

std::string toString(const TensorType &type, const IRContext &context) {
  std::string text = spelling(type.element).str() + "[";
  for (size_t i = 0; i < type.dims.size(); ++i)
    text += (i == 0 ? "" : ", ") + toString(type.dims[i], context);
  return text + "]";
}

bool compatible(const TensorType &a, const TensorType &b) {
  if (a.element != b.element || a.dims.size() != b.dims.size())
    return false;
  for (size_t i = 0; i < a.dims.size(); ++i)
    if (a.dims[i].name != b.dims[i].name || sameSize(a.dims[i].size, b.dims[i].size) == false)
      return false;
  return true;
}

DimExpr elementCount(const TensorType &type, DimContext &dims) {
  DimExpr count = dims.constant(int64_t(1));
  for (const Dim &dim : type.dims)
    count = count * dim.size;
  return count;
}

DimExpr byteCount(const TensorType &type, DimContext &dims) {
  return elementCount(type, dims) * dims.constant(Rational{bitWidth(type.element), 8});
}

} // namespace stg
