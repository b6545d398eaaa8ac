//===- VerifyPipeline.cpp - promises of a program cut into stages -----------===//
#include "VerifyPipeline.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

namespace stg {

namespace {

class PipelineVerifier {
public:
  explicit PipelineVerifier(const Program &program) : program_(program), pipeline_(*program.pipeline) {}

  std::vector<Violation> run() {
    checkPlacement();
    checkUnits();
    // The rest asks where units are.
    if (!violations_.empty())
      return std::move(violations_);
    checkSums();
    checkTransfers();
    checkLayouts();
    if (!violations_.empty())
      return std::move(violations_);
    if (program_.level >= Level::Scheduled)
      checkSchedule();
    return std::move(violations_);
  }

private:
  void fail(const llvm::Twine &text) { violations_.push_back({"pipeline", text.str(), {}}); }

  void checkPlacement() {
    const Placement &placement = pipeline_.placement;
    std::vector<MeshAtom> atoms = program_.mesh.atoms();
    for (uint32_t atom : pipeline_.atoms)
      if (atom >= atoms.size())
        return fail("has an atom that the mesh has not");
    if (groupSize(pipeline_.atoms, atoms) != placement.ranks)
      fail("has " + llvm::Twine(placement.ranks) + " ranks on atoms of " +
           llvm::Twine(groupSize(pipeline_.atoms, atoms)));
    if (placement.microBatches != program_.plan.microBatches)
      fail("has another number of micro-batches than the plan");
    if (placement.copies.empty() || placement.microBatches % placement.copies.size() != 0)
      return fail("has copies that cannot share the micro-batches");
    for (const std::vector<uint32_t> &copy : placement.copies)
      if (copy.size() != placement.stages || llvm::any_of(copy, [&](uint32_t rank) { return rank >= placement.ranks; }))
        fail("places stages on ranks that it has not");
  }

  void checkUnits() {
    const std::vector<uint32_t> &first = pipeline_.firstUnits;
    bool ascends = std::adjacent_find(first.begin(), first.end(), std::greater_equal<>()) == first.end();
    if (first.size() != size_t{pipeline_.placement.stages} + 1 || first.front() != 0 || !ascends)
      return fail("has stages that are not runs of units");
    if (first.back() + pipeline_.stepRanks.size() != program_.units.size())
      return fail("leaves units without a stage or a rank");
    for (std::optional<uint32_t> rank : pipeline_.stepRanks)
      if (rank && *rank >= pipeline_.placement.ranks)
        fail("runs a step on a rank that it has not");
  }

  void checkSums() {
    for (const BufferSum &sum : pipeline_.sums) {
      const auto *unit = std::get_if<UnitId>(&sum.of);
      if (unit ? unit->index >= pipeline_.firstUnits.back()
               : std::get<WeightId>(sum.of).index >= program_.weights.size())
        fail("sums the gradients of a unit or weight that is not there");
      bool ascends = std::adjacent_find(sum.ranks.begin(), sum.ranks.end(), std::greater_equal<>()) == sum.ranks.end();
      if (sum.ranks.size() < 2 || !ascends || sum.ranks.back() >= pipeline_.ranks())
        fail("sums over ranks that are not two or more of its own, in order");
    }
  }

  void checkTransfers() {
    for (const Transfer &transfer : pipeline_.transfers) {
      UnitId unit = transfer.value.unit;
      if (unit.index >= program_.units.size() ||
          transfer.value.output >= program_.body(program_.units[unit.index]).outputs.size() ||
          transfer.from >= pipeline_.stages() || transfer.to >= pipeline_.stages())
        fail("sends what is not there");
      else if (pipeline_.stageOf(unit) != transfer.from)
        fail("sends a value from stage " + llvm::Twine(transfer.from) + ", which does not make it");
      else if (rankOf(transfer.from) == rankOf(transfer.to))
        fail("sends a value to the rank that makes it");
    }
  }

  uint32_t rankOf(uint32_t stage) const { return pipeline_.placement.copies.front()[stage]; }

  void checkLayouts() {
    std::vector<bool> seen(program_.bodies.size(), false);
    for (const Unit &unit : program_.units) {
      if (seen[unit.body.index])
        continue;
      seen[unit.body.index] = true;
      for (const Value &value : program_.body(unit).values)
        if (value.layout)
          for (uint32_t atom : pipeline_.atoms)
            if (value.layout->places[atom].isSplit())
              return fail("has its axis on a dim of " + program_.unitPath(unit));
    }
  }

  void checkSchedule() {
    if (pipeline_.lists.size() != pipeline_.ranks())
      fail("has " + llvm::Twine(pipeline_.lists.size()) + " lists of actions for " + llvm::Twine(pipeline_.ranks()) +
           " ranks");
    for (const ActionList &list : pipeline_.lists)
      for (const Slot &slot : list)
        for (const Action *action : {&slot.action, slot.overlapped ? &*slot.overlapped : nullptr})
          if (action && (action->stage >= pipeline_.stages() || action->microBatch >= pipeline_.placement.microBatches))
            return fail("has an action of a stage or micro-batch that is not there");
    for (uint32_t u = 0; u < pipeline_.firstUnits.back(); ++u)
      for (const InputBinding &binding : program_.units[u].inputs)
        if (const auto *from = std::get_if<UnitValue>(&binding); from && !arrives(*from, UnitId(u)))
          fail(program_.unitPath(program_.units[u]) + " reads a value of " +
               program_.unitPath(program_.units[from->unit.index]) + ", which no rank sends it");
  }

  bool arrives(UnitValue value, UnitId reader) const {
    uint32_t to = rankOf(*pipeline_.stageOf(reader));
    if (rankOf(*pipeline_.stageOf(value.unit)) == to)
      return true;
    const Body &body = program_.body(program_.units[value.unit.index]);
    return llvm::any_of(pipeline_.transfers, [&](const Transfer &transfer) {
      return transfer.value.unit == value.unit && rankOf(transfer.to) == to &&
             body.outputs[transfer.value.output].value == body.outputs[value.output].value;
    });
  }

  const Program &program_;
  const Pipeline &pipeline_;
  std::vector<Violation> violations_;
};

} // namespace

std::vector<Violation> verifyPipeline(const Program &program) { return PipelineVerifier(program).run(); }

} // namespace stg
