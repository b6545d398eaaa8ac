//===- StageTimes.cpp -------------------------------------------------------===//
// Kernels run as in traces: in forward the units of a stage in their order and the kernels of each in the order of its
// body's steps, in backward the units in reverse. So the time at which a value is made is that of all kernels up to the
// one that makes it.
//===----------------------------------------------------------------------===//
#include "stg/Analysis/StageTimes.h"
#include "stg/Analysis/Kernels.h"
#include "stg/Analysis/Streams.h"

namespace stg {

namespace {

constexpr uint64_t kLimit = INT64_MAX;

/// As traces write it: shares of a kernel round up, and a kernel has 1 at least.
std::optional<uint64_t> countOf(DimExpr expression) {
  std::optional<Rational> value = expression.rational();
  if (!value || value->numerator < 0)
    return std::nullopt;
  Int128 whole = value->numerator / value->denominator + (value->numerator % value->denominator > 0 ? 1 : 0);
  if (whole > Int128(kLimit))
    return std::nullopt;
  return std::max<uint64_t>(static_cast<uint64_t>(whole), 1);
}

/// False if the sum leaves the limit.
bool add(uint64_t &sum, uint64_t value) {
  if (value > kLimit - sum)
    return false;
  sum += value;
  return true;
}

/// The parts that run in an action. What is recomputed belongs to the input gradient.
struct ActionParts {
  bool forward = false, inputGrad = false, weightGrad = false;

  bool has(Part part) const {
    return (forward && part == Part::Forward) || (weightGrad && part == Part::WeightGrad) ||
           (inputGrad && (part == Part::InputGrad || part == Part::Recompute));
  }
};
constexpr ActionParts kForward{.forward = true}, kInputGrad{.inputGrad = true}, kWeightGrad{.weightGrad = true},
    kBackward{.inputGrad = true, .weightGrad = true};

struct BodyTimes {
  BodyKernels kernels;
  /// Per step; 0 of a collective.
  std::vector<uint64_t> steps;
  /// Of all steps; only times.
  StageTimes total;
};

uint64_t timeOf(const StageTimes &times, ActionParts action) {
  return (action.forward ? times.forward : 0) + (action.inputGrad ? times.inputGrad : 0) +
         (action.weightGrad ? times.weightGrad : 0);
}

class StageTimer {
public:
  StageTimer(const Program &program, const Machine &machine)
      : program_(program), pipeline_(*program.pipeline), machine_(machine), ofBody_(program.bodies.size()) {}

  std::optional<std::vector<StageTimes>> run() {
    std::vector<StageTimes> stages(pipeline_.stages());
    for (uint32_t stage = 0; stage < stages.size(); ++stage)
      for (uint32_t unit = pipeline_.firstUnits[stage]; unit < pipeline_.firstUnits[stage + 1]; ++unit) {
        BodyId body = program_.units[unit].body;
        if (!ofBody_[body.index] && !measure(body))
          return std::nullopt;
        const StageTimes &total = ofBody_[body.index]->total;
        if (!add(stages[stage].forward, total.forward) || !add(stages[stage].inputGrad, total.inputGrad) ||
            !add(stages[stage].weightGrad, total.weightGrad))
          return std::nullopt;
      }
    if (!addMessages(stages))
      return std::nullopt;
    return stages;
  }

private:
  struct Maker {
    uint32_t unit, step;
  };

  static Part partOf(const Body &body, const BodyKernels &kernels, const BodyKernels::Step &step) {
    return step.kernel == BodyKernels::kNone ? body.op(step.op).part : kernels.kernels[step.kernel].part;
  }

  /// A ring computes in steps.
  std::optional<uint64_t> kernelTime(uint64_t flops, uint64_t bytes, const Stream *stream) const {
    if (!stream)
      return rooflineNanoseconds(flops, bytes, machine_);
    uint64_t sum = 0;
    for (StepShare share : sharesOf(*stream, flops, bytes)) {
      std::optional<uint64_t> time =
          rooflineNanoseconds(std::max<uint64_t>(share.flops, 1), std::max<uint64_t>(share.bytes, 1), machine_);
      if (!time || !add(sum, *time))
        return std::nullopt;
    }
    return sum;
  }

  bool measure(BodyId id) {
    const Body &body = program_.body(id);
    BodyTimes &times = ofBody_[id.index].emplace();
    times.kernels = groupKernels(body, program_);
    BodyStreams streams(program_, body);
    for (const BodyKernels::Step &step : times.kernels.steps) {
      uint64_t &time = times.steps.emplace_back(0);
      if (step.kernel == BodyKernels::kNone)
        continue;
      const Kernel &kernel = times.kernels.kernels[step.kernel];
      std::optional<uint64_t> flops = countOf(kernel.flops.contraction + kernel.flops.other);
      std::optional<uint64_t> bytes = countOf(kernel.bytes);
      const Stream *stream = streams.of(kernel.ops.front());
      std::optional<uint64_t> taken = flops && bytes ? kernelTime(*flops, *bytes, stream) : std::nullopt;
      if (!taken)
        return false;
      time = *taken;
      StageTimes &total = times.total;
      bool fits = kForward.has(kernel.part)      ? add(total.forward, time)
                  : kInputGrad.has(kernel.part)  ? add(total.inputGrad, time)
                  : kWeightGrad.has(kernel.part) ? add(total.weightGrad, time)
                                                 : true;
      if (!fits)
        return false;
    }
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Messages
  //===--------------------------------------------------------------------===//

  /// A value for a stage further away is under way while those in between compute. False if a size has no number.
  bool addMessages(std::vector<StageTimes> &stages) const {
    RankShare share(program_);
    struct Made {
      std::optional<uint64_t> output, inputGrad, backward;
    };
    std::vector<Made> made(stages.size());
    for (const Transfer &transfer : pipeline_.transfers) {
      bool isToNeighbour = transfer.isForward() ? transfer.to == transfer.from + 1 : transfer.from == transfer.to + 1;
      if (!isToNeighbour)
        continue;
      const Body &body = program_.body(program_.units[transfer.value.unit.index]);
      std::optional<Rational> bytes = share.bytesOf(body.value(body.outputs[transfer.value.output].value)).rational();
      if (!bytes)
        return false;
      StageTimes &stage = stages[transfer.from];
      (transfer.isForward() ? stage.outputBytes : stage.gradBytes) += bytes->toDouble();
      auto note = [&](std::optional<uint64_t> &last, ActionParts action) {
        last = std::max(last.value_or(0), madeAt(transfer, action));
      };
      if (transfer.isForward()) {
        note(made[transfer.from].output, kForward);
      } else {
        note(made[transfer.from].inputGrad, kInputGrad);
        note(made[transfer.from].backward, kBackward);
      }
    }
    for (size_t i = 0; i < stages.size(); ++i) {
      auto ahead = [&](std::optional<uint64_t> last, ActionParts action) {
        return last ? timeOf(stages[i], action) - *last : 0;
      };
      stages[i].outputAhead = ahead(made[i].output, kForward);
      stages[i].inputGradAhead = ahead(made[i].inputGrad, kInputGrad);
      stages[i].backwardAhead = ahead(made[i].backward, kBackward);
    }
    return true;
  }

  /// From the start of the action. What is only handed on leaves at once.
  uint64_t madeAt(const Transfer &transfer, ActionParts action) const {
    std::optional<Maker> maker = makerOf(transfer.value);
    uint32_t first = pipeline_.firstUnits[transfer.from], end = pipeline_.firstUnits[transfer.from + 1];
    if (!maker || maker->unit < first || maker->unit >= end)
      return 0;
    auto [unit, step] = *maker;
    const Body &body = program_.body(program_.units[unit]);
    const BodyTimes &times = timesOf(unit);
    auto part = [&](uint32_t i) { return partOf(body, times.kernels, times.kernels.steps[i]); };
    if (!action.has(part(step)))
      return 0;
    uint64_t sum = 0;
    for (uint32_t before = action.forward ? first : unit + 1; before < (action.forward ? unit : end); ++before)
      sum += timeOf(timesOf(before).total, action);
    for (uint32_t i = 0; i <= step; ++i)
      sum += action.has(part(i)) ? times.steps[i] : 0;
    return sum;
  }

  /// The step of the unit that makes the value, however many units hand it on; nothing if it comes from outside.
  std::optional<Maker> makerOf(UnitValue value) const {
    while (true) {
      const Unit &unit = program_.units[value.unit.index];
      const Body &body = program_.body(unit);
      const BodyKernels &kernels = timesOf(value.unit.index).kernels;
      ValueId made = body.outputs[value.output].value;
      if (uint32_t step = kernels.stepOf(body, made); step != BodyKernels::kNone)
        return Maker{value.unit.index, step};
      const Op &op = body.op(body.value(kernels.source[made.index]).def);
      const auto *from =
          op.kind == OpKind::Input ? std::get_if<UnitValue>(&unit.inputs[op.get<SlotFields>().slot]) : nullptr;
      if (!from)
        return std::nullopt;
      value = *from;
    }
  }

  const BodyTimes &timesOf(uint32_t unit) const { return *ofBody_[program_.units[unit].body.index]; }

  const Program &program_;
  const Pipeline &pipeline_;
  Machine machine_;
  std::vector<std::optional<BodyTimes>> ofBody_;
};

} // namespace

std::optional<std::vector<StageTimes>> stageTimes(const Program &program, const Machine &machine) {
  return StageTimer(program, machine).run();
}

} // namespace stg
