//===- Unroll.cpp - a program to the nodes of one rank ----------------------===//
// Units are walked in order. Node ids of a unit are its base plus the place of the
// kernel in its body, so a dependency inside the unit is an addition. A dependency
// through an input slot leads to an output of an earlier unit, whose node is known
// by then: each unit leaves a list with the node behind each of its outputs. An
// output may itself be an input passed through; its node is then that input's.
// Program inputs, weights, states and constants have no node: 0.
//===----------------------------------------------------------------------===//

#include "UnrollTemplates.h"
#include "stg/Support/InternalError.h"

namespace stg {
namespace {

class Unroller {
public:
  Unroller(const Program &program, const UnrollOptions &options, PassStats &stats, Diagnostics &diags)
      : program_(program), options_(options), stats_(stats), diags_(diags) {}

  Outcome run(llvm::function_ref<void(const TraceNode &)> consume) {
    if (program_.level < Level::Typed)
      internalError(program_.text(program_.name), "unrolling needs level Typed");
    if (!prepare())
      return Outcome::Failed;
    for (uint32_t i = 0; i < program_.units.size(); ++i)
      unroll(UnitId(i), consume);
    return Outcome::Done;
  }

private:
  static constexpr llvm::StringLiteral kAction = "F0:";
  /// 1 ns of the fastest memory that is expected.
  static constexpr uint64_t kRootBytes = static_cast<uint64_t>(kRootMachine.memoryGbps);

  /// A tensor as other units see it.
  struct Named {
    /// 0: no node computes it.
    uint64_t node = 0;
    /// Only for annotations.
    std::string name;
  };

  bool prepare() {
    templates_.resize(program_.bodies.size());
    bool ok = true;
    uint64_t nodes = 0;
    for (const Unit &unit : program_.units) {
      std::optional<BodyTemplate> &slot = templates_[unit.body.index];
      if (!slot) {
        slot = makeTemplate(program_, program_.body(unit), options_.detail, stats_, diags_);
        if (!slot) {
          slot.emplace();
          ok = false;
        }
      }
      nodes += slot->kernels.size();
    }
    if (ok && nodes == 0) {
      diags_.report(diag::NothingToTrace{.program = program_.text(program_.name)})
          .note("a trace needs at least one node, or its reader aborts");
      ok = false;
    }
    return ok;
  }

  bool annotates() const { return options_.detail == UnrollDetail::Annotations; }

  Named inputOf(const Unit &unit, uint32_t slot) const {
    const InputBinding &binding = unit.inputs[slot];
    if (const auto *value = std::get_if<UnitValue>(&binding))
      return outputs_[value->unit.index][value->output];
    Named input;
    if (annotates())
      input.name = program_.text(program_.inputs[std::get<InputId>(binding).index].name).str();
    return input;
  }

  /// Owned slots are named by their unit; the others by whose they are.
  template <class Slots, class Bindings, class ProgramList>
  std::string slotName(const Unit &unit, uint32_t slot, const Slots &slots, const Bindings &bindings,
                       const ProgramList &programList, Slots Body::*list) const {
    if (slots[slot].owned)
      return join(program_.unitPath(unit), program_.text(slots[slot].name));
    uint32_t place = 0;
    for (uint32_t i = 0; i < slot; ++i)
      place += !slots[i].owned;
    const auto &binding = bindings[place];
    if (const auto *other = std::get_if<UnitSlot>(&binding)) {
      const Unit &owner = program_.units[other->unit.index];
      return join(program_.unitPath(owner), program_.text((program_.body(owner).*list)[other->slot].name));
    }
    return program_.text(programList[std::get<0>(binding).index].name).str();
  }

  static std::string join(std::string path, llvm::StringRef name) {
    if (!path.empty() && !name.empty())
      path += '.';
    return path + name.str();
  }

  std::string tensorName(const Unit &unit, const TensorTemplate &tensor) const {
    const Body &body = program_.body(unit);
    switch (tensor.origin.kind) {
    case ValueOrigin::Kind::Kernel:
    case ValueOrigin::Kind::Nowhere:
      return join(program_.unitPath(unit), tensor.name);
    case ValueOrigin::Kind::Input:
      return inputOf(unit, tensor.origin.index).name;
    case ValueOrigin::Kind::Weight:
      return slotName(unit, tensor.origin.index, body.weights, unit.weights, program_.weights, &Body::weights);
    case ValueOrigin::Kind::State:
      return slotName(unit, tensor.origin.index, body.states, unit.states, program_.states, &Body::states);
    }
    return "";
  }

  void unroll(UnitId id, llvm::function_ref<void(const TraceNode &)> consume) {
    const Unit &unit = program_.units[id.index];
    const BodyTemplate &body = *templates_[unit.body.index];
    std::vector<uint64_t> inputNodes;
    for (uint32_t slot = 0; slot < unit.inputs.size(); ++slot)
      inputNodes.push_back(inputOf(unit, slot).node);

    uint64_t base = nextId_;
    name_ = kAction.str() + program_.unitPath(unit);
    size_t prefix = name_.size();
    for (const KernelTemplate &kernel : body.kernels) {
      TraceNode node;
      node.id = nextId_++;
      name_.resize(prefix);
      if (!kernel.name.empty()) {
        if (prefix > kAction.size())
          name_ += '.';
        name_ += kernel.name;
      }
      node.name = name_;
      node.opType = kernel.opType;
      node.flops = std::max<uint64_t>(kernel.flops, 1);
      node.bytes = std::max<uint64_t>(kernel.bytes, 1);
      dataDeps_.clear();
      for (uint32_t slot : kernel.inputSlots)
        if (inputNodes[slot] != 0)
          dataDeps_.push_back(inputNodes[slot]);
      // Two slots may hold one value.
      llvm::sort(dataDeps_);
      dataDeps_.erase(std::unique(dataDeps_.begin(), dataDeps_.end()), dataDeps_.end());
      for (uint32_t place : kernel.kernels)
        dataDeps_.push_back(base + place);
      node.dataDeps = dataDeps_;
      uint64_t previous = node.id - 1;
      if (previous != 0)
        node.ctrlDeps = previous;
      else if (options_.target == TraceTarget::AstraSim)
        node.bytes = std::max(node.bytes, kRootBytes);
      if (annotates())
        consumeAnnotated(unit, kernel, node, consume);
      else
        consume(node);
    }
    leaveOutputs(unit, body, base);
  }

  void consumeAnnotated(const Unit &unit, const KernelTemplate &kernel, TraceNode &node,
                        llvm::function_ref<void(const TraceNode &)> consume) {
    std::vector<std::string> names;
    names.reserve(kernel.reads.size() + kernel.writes.size());
    auto named = [&](const std::vector<TensorTemplate> &tensors) {
      std::vector<TraceTensor> list;
      for (const TensorTemplate &tensor : tensors)
        list.push_back({names.emplace_back(tensorName(unit, tensor)), tensor.bytes});
      return list;
    };
    std::vector<TraceTensor> inputs = named(kernel.reads), outputs = named(kernel.writes);
    TraceAnnotations annotations{.extents = kernel.extents,
                                 .dtype = kernel.dtype,
                                 .part = kernel.part,
                                 .microBatch = 0,
                                 .source = kernel.source,
                                 .inputs = inputs,
                                 .outputs = outputs};
    node.annotations = &annotations;
    consume(node);
  }

  void leaveOutputs(const Unit &unit, const BodyTemplate &body, uint64_t base) {
    std::vector<Named> &outputs = outputs_.emplace_back();
    for (const TensorTemplate &output : body.outputs) {
      Named named;
      if (output.origin.kind == ValueOrigin::Kind::Input)
        named = inputOf(unit, output.origin.index);
      else if (output.origin.kind == ValueOrigin::Kind::Kernel)
        named.node = base + output.origin.index;
      if (annotates() && output.origin.kind != ValueOrigin::Kind::Input)
        named.name = tensorName(unit, output);
      outputs.push_back(std::move(named));
    }
  }

  const Program &program_;
  const UnrollOptions &options_;
  PassStats &stats_;
  Diagnostics &diags_;
  std::vector<std::optional<BodyTemplate>> templates_;
  /// Per unit so far.
  std::vector<std::vector<Named>> outputs_;
  uint64_t nextId_ = 1;
  std::string name_;
  llvm::SmallVector<uint64_t, 8> dataDeps_;
};

} // namespace

Outcome unrollForward(const Program &program, const UnrollOptions &options,
                      llvm::function_ref<void(const TraceNode &)> consume, PassStats &stats, Diagnostics &diags) {
  return Unroller(program, options, stats, diags).run(consume);
}

} // namespace stg
