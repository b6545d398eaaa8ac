//===- Memory.cpp - what is in the memory of a rank over a step -------------===//
#include "stg/Analysis/Memory.h"
#include "MemoryWalk.h"
#include "stg/Analysis/AxesText.h"
#include "stg/Analysis/Storage.h"
#include "stg/Analysis/ValueLabels.h"
#include "stg/IR/LayoutOps.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

llvm::StringRef nameOf(MemoryKind kind) {
  switch (kind) {
  case MemoryKind::Parameters:
    return "parameters";
  case MemoryKind::Gradients:
    return "gradients";
  case MemoryKind::Optimizer:
    return "optimizer";
  case MemoryKind::States:
    return "states";
  case MemoryKind::Activations:
    return "activations";
  case MemoryKind::Gathered:
    return "gathered weights";
  case MemoryKind::Communication:
    return "communication";
  case MemoryKind::Temporaries:
    return "temporaries";
  case MemoryKind::Host:
    return "host";
  }
  return "";
}

int64_t MemoryBytes::total() const {
  int64_t sum = 0;
  for (size_t i = 0; i < kDeviceMemoryKinds; ++i)
    sum += of[i];
  return sum;
}

MemoryBytes &MemoryBytes::operator+=(const MemoryBytes &other) {
  for (size_t i = 0; i < of.size(); ++i)
    of[i] += other.of[i];
  return *this;
}

struct MemoryOverTime::Profiles {
  explicit Profiles(const Program &program) : program(program), ofBody(program.bodies.size()) {}

  /// Parameters, gradients, optimizer and states of a rank. Nothing if one has no number.
  std::optional<MemoryBytes> kept(uint32_t rankClass) const {
    StoredBytes stored = storedBytes(program, rankClass);
    MemoryBytes bytes;
    for (auto [kind, size] :
         {std::pair(MemoryKind::Parameters, stored.weights), std::pair(MemoryKind::Gradients, stored.gradients),
          std::pair(MemoryKind::Optimizer, stored.optimizer), std::pair(MemoryKind::States, stored.states),
          std::pair(MemoryKind::Host, stored.host)}) {
      std::optional<int64_t> number = size.size();
      if (!number || *number >= int64_t{1} << 58)
        return std::nullopt;
      bytes[kind] = *number;
    }
    return bytes;
  }

  static OpId firstOp(const BodyKernels &kernels, const BodyKernels::Step &step) {
    return kernels.kernels[step.kernel].ops.front();
  }

  /// A node as traces call it.
  std::string nameOf(const WalkMoment &moment) const {
    const Unit &unit = program.units[moment.unit.index];
    const Body &body = program.body(unit);
    const BodyKernels &kernels = flow->profileOf(moment.unit).kernels;
    const BodyKernels::Step &at = kernels.steps[moment.step];
    bool isKernel = at.kernel != BodyKernels::kNone;
    Part part = isKernel ? kernels.kernels[at.kernel].part : body.op(at.op).part;
    std::string name(1, letterOf(part));
    if (moment.action)
      name += std::to_string(moment.action->microBatch);
    std::string path = program.unitPath(unit);
    std::string inside = isKernel ? kernelName(body, kernels, moment.step) : transferName(body, kernels, at.op);
    // Of several nodes: the first step, the message that brings the last of it.
    if (const Stream *stream = flow->profileOf(moment.unit).streams->of(isKernel ? firstOp(kernels, at) : at.op)) {
      if (isKernel)
        inside += stepSuffix(*stream, 0);
      else
        inside = inside.substr(0, inside.rfind('/')) +
                 messageSuffix(*stream, body.op(at.op).kind, /*isSend=*/false, stream->hops(), program.mesh);
    }
    return name + ":" + path + (path.empty() || inside[0] == '/' ? "" : ".") + inside;
  }

  static char letterOf(Part part) {
    switch (part) {
    case Part::Forward:
      return 'F';
    case Part::Recompute:
      return 'R';
    case Part::InputGrad:
      return 'B';
    case Part::WeightGrad:
      return 'W';
    default:
      return 'S';
    }
  }

  /// By the weight that it gives its new value or adds a gradient to, or else by its last result.
  std::string kernelName(const Body &body, const BodyKernels &kernels, uint32_t step) const {
    auto weight = [&](const Op &op) { return program.text(body.weights[op.get<SlotFields>().slot].name).str(); };
    for (const Op &op : body.ops)
      if (op.kind == OpKind::Assign && kernels.stepOf(body, op.operands[0]) == step)
        return weight(op);
    const Kernel &kernel = kernels.kernels[kernels.steps[step].kernel];
    for (OpId id : llvm::reverse(kernel.ops))
      if (!body.op(id).results.empty())
        return labelOf(program, body, body.op(id));
    const Op &last = body.op(kernel.ops.back());
    return last.kind == OpKind::Accumulate ? weight(last) : labelOf(program, body, last);
  }

  std::string transferName(const Body &body, const BodyKernels &kernels, OpId id) const {
    const Op &op = body.op(id);
    ValueId operand = op.operands[0];
    if (const Op &store = body.op(body.value(operand).def); store.kind == OpKind::Store)
      operand = store.operands[body.value(operand).result];
    if (!body.value(operand).name)
      operand = kernels.source[operand.index];
    const Op &from = body.op(body.value(kernels.source[operand.index]).def);
    std::string name = from.kind == OpKind::Gradient
                           ? program.text(body.weights[from.get<SlotFields>().slot].name).str()
                           : labelOf(program, body, operand);
    const auto *collective = std::get_if<CollectiveFields>(&op.fields);
    // What moves the tensors of a whole unit has the unit's name.
    bool isOfUnit = op.operands.size() > 1 && (!collective || collective->isStorage);
    return (isOfUnit ? "" : name) + "/" + mnemonic(op.kind).str() +
           (collective ? "(" + axesText(collective->atoms, program.mesh) + ")" : "");
  }

  const Program &program;
  std::vector<std::optional<BodyProfile>> ofBody;
  std::optional<MemoryFlow> flow;
};

MemoryOverTime::MemoryOverTime(std::unique_ptr<Profiles> profiles) : profiles_(std::move(profiles)) {}
MemoryOverTime::MemoryOverTime(MemoryOverTime &&) noexcept = default;
MemoryOverTime::~MemoryOverTime() = default;

std::optional<MemoryOverTime> MemoryOverTime::create(const Program &program, PassStats &stats) {
  auto profiles = std::make_unique<Profiles>(program);
  for (const Unit &unit : program.units) {
    std::optional<BodyProfile> &profile = profiles->ofBody[unit.body.index];
    if (profile)
      continue;
    profile = profileBody(program, program.body(unit), stats);
    if (!profile)
      return std::nullopt;
  }
  profiles->flow.emplace(program, profiles->ofBody);
  return MemoryOverTime(std::move(profiles));
}

uint32_t MemoryOverTime::classes() const { return pipelineRanks(profiles_->program); }

/// Two walks: the first finds the moment, the second takes it down.
std::optional<MemoryPeak> MemoryOverTime::peak(uint32_t rankClass) const {
  const Program &program = profiles_->program;
  std::optional<MemoryBytes> kept = profiles_->kept(rankClass);
  WalkResult found = walkRank(program, *profiles_->flow, rankClass, 0, nullptr);
  if (!kept || !found.fits)
    return std::nullopt;
  MemoryPeak peak;
  peak.alive = *kept;
  peak.host = (*kept)[MemoryKind::Host] + found.mostOnHost;
  if (found.peak.event == 0)
    return peak;
  peak.units = walkRank(program, *profiles_->flow, rankClass, found.peak.event, nullptr).units;
  for (const UnitMemory &unit : peak.units)
    peak.alive += unit.bytes;
  llvm::stable_sort(peak.units,
                    [](const UnitMemory &a, const UnitMemory &b) { return a.bytes.total() > b.bytes.total(); });
  peak.when = {found.peak.action, found.peak.unit, {}};
  if (found.peak.step != MemoryTensor::kNever)
    peak.when.node = profiles_->nameOf(found.peak);
  return peak;
}

int64_t MemoryOverTime::savedInside(UnitId unit) const {
  int64_t bytes = 0;
  for (const MemoryTensor &tensor : profiles_->flow->profileOf(unit).tensors)
    if (!tensor.isShared && tensor.kind == MemoryKind::Activations &&
        tensor.in(MemoryRun::Forward).made != MemoryTensor::kNever)
      bytes += tensor.bytes;
  return bytes;
}

std::vector<MemoryPoint> MemoryOverTime::curve(uint32_t rankClass) const {
  std::vector<MemoryPoint> points;
  std::optional<MemoryBytes> kept = profiles_->kept(rankClass);
  if (!kept)
    return points;
  walkRank(profiles_->program, *profiles_->flow, rankClass, 0, [&](const MemoryPoint &point) {
    points.push_back(point);
    points.back().alive += *kept;
    points.back().most += kept->total();
  });
  return points;
}

} // namespace stg
