//===- Streams.cpp ----------------------------------------------------------===//
#include "stg/Analysis/Streams.h"
#include "stg/Analysis/AxesText.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

namespace {

const MaskValue *maskOf(const CallFields &call) {
  for (const auto &[name, value] : call.statics)
    if (const auto *mask = std::get_if<MaskValue>(&value))
      return mask;
  return nullptr;
}

bool isZigzag(const Program &program, const CollectiveFields &gather) {
  if (gather.cause.had < 0 || static_cast<size_t>(gather.cause.had) >= program.plan.splits.size())
    return false;
  return llvm::any_of(program.plan.splits[static_cast<size_t>(gather.cause.had)].dims,
                      [&](const SplitRule::Target &target) { return target.zigzag && target.dim == gather.from; });
}

} // namespace

BodyStreams::BodyStreams(const Program &program, const Body &body)
    : body_(body), share_(program), dims_(program.context->dims) {
  std::vector<MeshAtom> atoms = program.mesh.atoms();
  std::map<uint32_t, OpId> scatters; // by operand
  auto runs = [](const Op &op, OpKind kind) {
    return op.kind == kind && op.get<CollectiveFields>().algorithm != RunAlgorithm::Gather;
  };
  for (uint32_t i = 0; i < body.ops.size(); ++i)
    if (runs(body.ops[i], OpKind::ReduceScatter))
      scatters[body.ops[i].operands[0].index] = OpId(i);
  for (uint32_t i = 0; i < body.ops.size(); ++i) {
    const Op &op = body.ops[i];
    if (op.kind != OpKind::Call)
      continue;
    Stream stream;
    stream.call = OpId(i);
    for (ValueId operand : op.operands)
      if (OpId def = body.value(operand).def;
          runs(body.op(def), OpKind::AllGather) && !llvm::is_contained(stream.gathers, def))
        stream.gathers.push_back(def);
    if (stream.gathers.empty())
      continue;
    for (ValueId result : op.results)
      if (auto found = scatters.find(result.index); found != scatters.end())
        stream.scatters.push_back(found->second);
    const Op &first = body.op(stream.gathers.front());
    const auto &fields = first.get<CollectiveFields>();
    stream.algorithm = fields.algorithm;
    stream.atoms = fields.atoms;
    stream.ranks = static_cast<uint32_t>(groupSize(fields.atoms, atoms));
    stream.block = share_.sizeOf(body.value(first.operands[0]), fields.from).size().value_or(0);
    const MaskValue *mask = maskOf(op.get<CallFields>());
    stream.isCausalZigzag = mask && mask->kind == MaskKind::Causal && isZigzag(program, fields);
    if (stream.algorithm == RunAlgorithm::Halo && mask && mask->kind == MaskKind::Window) {
      int64_t left = mask->parameters[0].size().value_or(1) - 1;
      for (uint32_t rank = 1; rank < stream.ranks && left > 0; ++rank, left -= stream.block)
        stream.halo.push_back(std::min(left, stream.block));
    }
    auto number = static_cast<uint32_t>(streams_.size());
    ofOp_[i] = number;
    for (OpId gather : stream.gathers) {
      ofOp_[gather.index] = number;
      ofValue_[body.op(gather).results[0].index] = gather;
    }
    for (OpId scatter : stream.scatters) {
      ofOp_[scatter.index] = number;
      ofValue_[body.op(scatter).operands[0].index] = scatter;
    }
    streams_.push_back(std::move(stream));
  }
}

const Stream *BodyStreams::of(OpId op) const {
  auto found = ofOp_.find(op.index);
  return found == ofOp_.end() ? nullptr : &streams_[found->second];
}

/// The rank's own block: what is gathered, or what is left of the sum.
DimExpr BodyStreams::blockOf(OpId collective) const {
  const Op &op = body_.op(collective);
  return share_.bytesOf(body_.value(op.kind == OpKind::AllGather ? op.operands[0] : op.results[0]));
}

DimExpr BodyStreams::hopBytes(OpId collective, uint32_t hop) const {
  const Stream &stream = *of(collective);
  DimExpr block = blockOf(collective);
  return stream.isRing() ? block : block * stream.entries(hop) / dims_.constant(stream.block);
}

DimExpr BodyStreams::sentBytes(OpId collective) const {
  DimExpr sum = dims_.constant(int64_t(0));
  for (uint32_t hop = 1; hop <= of(collective)->hops(); ++hop)
    sum = sum + hopBytes(collective, hop);
  return sum;
}

DimExpr BodyStreams::bytesOf(ValueId value) const {
  auto found = ofValue_.find(value.index);
  if (found == ofValue_.end())
    return share_.bytesOf(body_.value(value));
  const Stream &stream = *of(found->second);
  bool isGathered = body_.op(found->second).kind == OpKind::AllGather;
  DimExpr block = blockOf(found->second);
  if (stream.isRing())
    return block * int64_t{isGathered ? std::min(2u, stream.ranks - 1) : std::min(3u, stream.ranks)};
  return isGathered ? sentBytes(found->second) : block + sentBytes(found->second);
}

static std::string placeSuffix(uint32_t number, uint32_t of) {
  return of < 2 ? std::string() : "/" + std::to_string(number) + "of" + std::to_string(of);
}

std::string stepSuffix(const Stream &stream, uint32_t step) { return placeSuffix(step + 1, stream.steps()); }

std::string messageSuffix(const Stream &stream, OpKind collective, bool isSend, uint32_t hop, const Mesh &mesh) {
  // Sums of a halo go back; all else goes to the ranks behind.
  bool isForward = collective == OpKind::AllGather || stream.isRing();
  return (isSend ? "/send(" : "/recv(") + axesText(stream.atoms, mesh) + (isSend == isForward ? "+" : "-") +
         std::to_string(stream.isRing() ? 1 : hop) + ")" + placeSuffix(hop, stream.hops());
}

std::vector<StepShare> sharesOf(const Stream &stream, uint64_t flops, uint64_t bytes) {
  std::vector<StepShare> shares(stream.steps());
  auto steps = static_cast<Int128>(shares.size());
  // What steps before number i have, of a whole of `all`.
  Int128 all = stream.isCausalZigzag && stream.isRing() ? stream.block * steps + 1 : steps;
  auto before = [&](Int128 i) -> Int128 { return all == steps ? i : i == 0 ? Int128(0) : i * stream.block + 1; };
  for (Int128 i = 0; i < steps; ++i) {
    auto part = [](uint64_t whole, Int128 from, Int128 to, Int128 of) {
      return static_cast<uint64_t>(whole * to / of - whole * from / of);
    };
    shares[static_cast<size_t>(i)] = {part(flops, before(i), before(i + 1), all), part(bytes, i, i + 1, steps)};
  }
  return shares;
}

} // namespace stg
