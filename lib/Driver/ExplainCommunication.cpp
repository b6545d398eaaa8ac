//===- ExplainCommunication.cpp ---------------------------------------------===//
#include "ExplainText.h"
#include "PathText.h"
#include "stg/Analysis/AxesText.h"
#include "stg/Analysis/Communication.h"
#include "stg/Analysis/Cost.h"
#include "stg/Analysis/UnevenTraffic.h"
#include "stg/Analysis/ValueLabels.h"
#include "stg/Driver/Explain.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

using namespace stg;
using llvm::StringRef;

namespace {

class CommunicationText {
public:
  CommunicationText(const Program &program, ReportStyle style, const SourceManager &sources, llvm::raw_ostream &os)
      : program_(program), style_(style), sources_(sources), os_(os), atoms_(program.mesh.atoms()),
        paths_(bodyPaths(program)), uneven_(program) {}

  void print() {
    std::vector<CommunicationRow> rows = rowsOfAllRanks();
    struct Phase {
      const char *title;
      std::vector<Part> parts;
    };
    const Phase phases[] = {{"forward", {Part::Gather, Part::Forward}},
                            {"backward", {Part::Recompute, Part::InputGrad, Part::WeightGrad}},
                            {"gradient sync and step", {Part::Sync, Part::Step}}};
    for (const Phase &phase : phases) {
      std::vector<CommunicationRow> chosen;
      for (const CommunicationRow &row : rows)
        if (llvm::is_contained(phase.parts, opOf(row).part))
          chosen.push_back(row);
      if (!chosen.empty())
        printPhase(phase.title, chosen);
    }
    if (program_.pipeline)
      printPipeline();
    else if (rows.empty())
      os_ << "  nothing: no axis makes two layouts differ\n";
  }

private:
  /// How often a collective runs on the ranks at each place of the pipeline.
  using Counts = std::vector<int64_t>;

  /// Rows in the order of bodies and ops, once however many places have them.
  std::vector<CommunicationRow> rowsOfAllRanks() {
    std::map<std::pair<uint32_t, uint32_t>, CommunicationRow> rows;
    for (uint32_t rank = 0; rank < pipelineRanks(program_); ++rank)
      for (const CommunicationRow &row : communicationOf(program_, rank)) {
        std::pair key(firstUnit(row.body), row.op.index);
        rows.try_emplace(key, row);
        counts_.try_emplace(key, Counts(pipelineRanks(program_))).first->second[rank] = row.count;
      }
    std::vector<CommunicationRow> list;
    for (auto &[key, row] : rows)
      list.push_back(row);
    return list;
  }

  uint32_t firstUnit(BodyId body) const {
    auto found = llvm::find_if(program_.units, [&](const Unit &unit) { return unit.body == body; });
    return static_cast<uint32_t>(found - program_.units.begin());
  }

  /// `32`; `8` with the places that have it in `where`; `7..9`.
  std::string countText(const CommunicationRow &row, std::string &where) const {
    const Counts &counts = counts_.at({firstUnit(row.body), row.op.index});
    std::vector<uint32_t> places;
    int64_t least = row.count, most = row.count;
    for (uint32_t rank = 0; rank < counts.size(); ++rank)
      if (counts[rank] != 0) {
        places.push_back(rank);
        least = std::min(least, counts[rank]);
        most = std::max(most, counts[rank]);
      }
    if (places.size() < counts.size())
      where = placesText(places);
    return least == most ? std::to_string(least) : fmt::format("{}..{}", least, most);
  }

  /// `pp 0`, `pp 1 to 6`, `pp 0, 3`.
  std::string placesText(llvm::ArrayRef<uint32_t> places) const {
    std::string text = axesText(program_.pipeline->atoms, program_.mesh) + " ";
    if (places.size() > 2 && places.back() - places.front() + 1 == places.size())
      return text + fmt::format("{} to {}", places.front(), places.back());
    return text + fmt::format("{}", fmt::join(places, ", "));
  }

  /// What the pipeline adds: messages between stages, sums of gradients that several of its ranks hold.
  void printPipeline() {
    const Pipeline &pipeline = *program_.pipeline;
    std::string axis = axesText(pipeline.atoms, program_.mesh);
    os_ << "\nbetween stages, all micro-batches\n";
    RankShare share(program_);
    for (const Transfer &transfer : pipeline.transfers) {
      const Unit &unit = program_.units[transfer.value.unit.index];
      const Body &body = program_.body(unit);
      const Value &value = body.value(body.outputs[transfer.value.output].value);
      DimExpr bytes = share.bytesOf(value);
      os_ << fmt::format("  {:<15} {:<10} {:>12} x {:<6} {}.{}\n      stage {} -> stage {}: {}\n", "send", axis,
                         style_ == ReportStyle::Formulas ? bytes.str() : bytesText(bytes),
                         pipeline.placement.microBatches, program_.unitPath(unit),
                         program_.text(body.outputs[transfer.value.output].name), transfer.from, transfer.to,
                         layoutText(*value.layout, value, program_));
    }
    for (const BufferSum &sum : pipeline.sums) {
      const auto *unit = std::get_if<UnitId>(&sum.of);
      DimExpr bytes = bytesOf(sum, program_);
      os_ << fmt::format(
          "  {:<15} {:<10} {:>12} x {:<6} {}\n      {} hold it: {}\n", "all_reduce", axis,
          style_ == ReportStyle::Formulas ? bytes.str() : bytesText(bytes), 1,
          unit ? "gradients of " + program_.unitPath(program_.units[unit->index])
               : "gradient of " + program_.text(program_.weights[std::get<WeightId>(sum.of).index].name).str(),
          placesText(sum.ranks), unit ? "the schedule keeps two copies of each stage" : "its stages use the weight");
    }
  }

  const Op &opOf(const CommunicationRow &row) const { return program_.body(row.body).op(row.op); }

  void printPhase(StringRef title, llvm::ArrayRef<CommunicationRow> rows) {
    os_ << "\n" << title << (title == "gradient sync and step" ? "" : ", all micro-batches") << "\n";
    for (const CommunicationRow &row : rows)
      printRow(row);
  }

  void printRow(const CommunicationRow &row) {
    const Body &body = program_.body(row.body);
    const Op &op = opOf(row);
    const auto &fields = op.get<CollectiveFields>();
    const std::string &where = paths_[row.body.index].family;
    std::string tensor = labelOf(program_, body, op.operands[0]);
    if (op.operands.size() > 1)
      tensor += fmt::format(" and {} more", op.operands.size() - 1);
    std::string places, count = countText(row, places);
    std::string kind = (row.messages == 0 ? mnemonic(op.kind) : spelling(fields.algorithm)).str();
    os_ << fmt::format("  {:<15} {:<10} {:>12} x {:<6} {}.{}\n", kind, axesText(fields.atoms, program_.mesh),
                       sizeText(row), count, where, tensor);
    if (!places.empty())
      os_ << "      on     " << places << "\n";
    if (std::optional<ExchangeBytes> bytes = uneven_.bytesOf(row))
      os_ << fmt::format("      uneven {} to {} bytes of a rank, {} padded\n", bytes->least, bytes->most,
                         bytes->padded);
    const Value &from = body.value(op.operands[0]), &to = body.value(op.results[0]);
    os_ << fmt::format("      {} -> {}\n", layoutText(*from.layout, from, program_),
                       layoutText(*to.layout, to, program_));
    if (row.messages != 0)
      os_ << fmt::format("      as     {} message{} to {}, beside what computes\n", row.messages,
                         row.messages == 1 ? "" : "s", receiversText(row, fields, op));
    printCause(fields, body, op);
  }

  /// Sums of a halo go back.
  static std::string receiversText(const CommunicationRow &row, const CollectiveFields &fields, const Op &op) {
    bool isRing = fields.algorithm == RunAlgorithm::Ring;
    return std::string(isRing || row.messages == 1 ? "the " : "each of the ") +
           (op.kind == OpKind::AllGather || isRing ? "next" : "previous") +
           (isRing || row.messages == 1 ? " rank" : " ranks");
  }

  std::string sizeText(const CommunicationRow &row) const {
    if (style_ != ReportStyle::Formulas)
      return bytesText(row.bytes);
    if (row.messages == 0)
      return formula(row);
    bool isRing = opOf(row).get<CollectiveFields>().algorithm == RunAlgorithm::Ring;
    return isRing ? fmt::format("{}*{}", row.messages, formula(row)) : row.bytes.str();
  }
  /// `2*B*S*D/(dp*tp)`: the whole tensor over the atoms that split it.
  std::string formula(const CommunicationRow &row) const {
    // A ring sends blocks: of a sum what a rank keeps of it.
    const Op &op = opOf(row);
    bool isBlock = row.messages != 0 && op.kind == OpKind::ReduceScatter;
    const Value &from = program_.body(row.body).value(isBlock ? op.results[0] : op.operands[0]);
    AtomList split;
    for (uint32_t atom = 0; atom < atoms_.size(); ++atom)
      if (from.layout->places[atom].isSplit())
        split.push_back(atom);
    std::string text = row.globalBytes.str();
    if (split.empty())
      return text;
    bool isSum = text.find(" + ") != std::string::npos;
    return (isSum ? "(" + text + ")" : text) + "/" + (split.size() == 1 ? "" : "(") + axesText(split, program_.mesh) +
           (split.size() == 1 ? "" : ")");
  }

  /// What is summed once per step: gradients, or a number that every rank has a share of.
  static const char *syncReason(const Body &body, const Op &op) {
    return body.op(body.value(op.operands[0]).def).kind == OpKind::Total
               ? "each rank adds its share of one number of the step"
               : "the gradient is a sum over ranks that hold different parts of the batch";
  }

  void printCause(const CollectiveFields &fields, const Body &body, const Op &op) {
    std::string had = ruleText(fields.cause.had, program_, sources_);
    std::string wants = ruleText(fields.cause.wants, program_, sources_);
    if (fields.isStorage)
      return printStorageCause(op);
    if (op.part == Part::Sync)
      os_ << "      " << syncReason(body, op) << "\n";
    if (op.part == Part::Recompute)
      os_ << "      again, for what backward reads\n";
    if (!had.empty())
      os_ << "      had    " << had << "\n";
    if (!wants.empty())
      os_ << "      wants  " << wants << "\n";
    if (op.where.valid())
      os_ << "      for    " << placeText(op.where, sources_) << "\n";
  }

  void printStorageCause(const Op &op) {
    const char *why = op.part == Part::Step ? "new weights are whole on every rank, their optimizer's states in shards"
                      : op.kind == OpKind::AllGather ? "the weights are kept in shards"
                      : op.part == Part::Sync
                          ? "the gradients are a sum over ranks; the optimizer's states are in shards"
                          : "the gradients are a sum over ranks and kept in shards";
    os_ << "      " << why << "\n";
    if (op.where.valid())
      os_ << "      wants  " << quotedText(op.where, sources_) << "\n";
  }

  const Program &program_;
  ReportStyle style_;
  const SourceManager &sources_;
  llvm::raw_ostream &os_;
  std::vector<MeshAtom> atoms_;
  std::map<std::pair<uint32_t, uint32_t>, Counts> counts_; ///< by first unit of the body, and op
  std::vector<BodyPath> paths_;
  UnevenCommunication uneven_;
};

} // namespace

void stg::explainCommunication(const CompiledWorkload &workload, ReportStyle style, const SourceManager &sources,
                               llvm::raw_ostream &os) {
  const Program &program = workload.program;
  os << fmt::format("{}: collectives of one step of {} on {}\n", workload.name, program.text(program.name).str(),
                    meshText(program.mesh));
  CommunicationText(program, style, sources, os).print();
}
