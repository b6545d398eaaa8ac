//===- ExplainCommunication.cpp ---------------------------------------------===//
#include "ExplainText.h"
#include "PathText.h"
#include "stg/Analysis/AxesText.h"
#include "stg/Analysis/Communication.h"
#include "stg/Analysis/ValueLabels.h"
#include "stg/Driver/Explain.h"
#include <fmt/format.h>

using namespace stg;
using llvm::StringRef;

namespace {

class CommunicationText {
public:
  CommunicationText(const Program &program, ReportStyle style, const SourceManager &sources, llvm::raw_ostream &os)
      : program_(program), style_(style), sources_(sources), os_(os), atoms_(program.mesh.atoms()),
        paths_(bodyPaths(program)) {}

  void print() {
    std::vector<CommunicationRow> rows = communicationOf(program_);
    struct Phase {
      const char *title;
      std::vector<Part> parts;
    };
    const Phase phases[] = {{"forward", {Part::Forward}},
                            {"backward", {Part::InputGrad, Part::WeightGrad, Part::Recompute}},
                            {"gradient sync and step", {Part::Sync, Part::Step}}};
    for (const Phase &phase : phases) {
      std::vector<CommunicationRow> chosen;
      for (const CommunicationRow &row : rows)
        if (llvm::is_contained(phase.parts, opOf(row).part))
          chosen.push_back(row);
      if (!chosen.empty())
        printPhase(phase.title, chosen);
    }
    if (rows.empty())
      os_ << "  nothing: no axis makes two layouts differ\n";
  }

private:
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
    os_ << fmt::format("  {:<15} {:<10} {:>12} x {:<6} {}.{}\n", mnemonic(op.kind).str(),
                       axesText(fields.atoms, program_.mesh), sizeText(row), row.count, where, tensor);
    const Value &from = body.value(op.operands[0]), &to = body.value(op.results[0]);
    os_ << fmt::format("      {} -> {}\n", layoutText(*from.layout, from, program_),
                       layoutText(*to.layout, to, program_));
    printCause(fields, body, op);
  }

  std::string sizeText(const CommunicationRow &row) const {
    return style_ == ReportStyle::Formulas ? formula(row) : bytesText(row.bytes);
  }
  /// `2*B*S*D/(dp*tp)`: the whole tensor over the atoms that split it.
  std::string formula(const CommunicationRow &row) const {
    const Value &from = program_.body(row.body).value(opOf(row).operands[0]);
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
    if (op.part == Part::Sync)
      os_ << "      " << syncReason(body, op) << "\n";
    if (!had.empty())
      os_ << "      had    " << had << "\n";
    if (!wants.empty())
      os_ << "      wants  " << wants << "\n";
    if (op.where.valid())
      os_ << "      for    " << placeText(op.where, sources_) << "\n";
  }

  const Program &program_;
  ReportStyle style_;
  const SourceManager &sources_;
  llvm::raw_ostream &os_;
  std::vector<MeshAtom> atoms_;
  std::vector<BodyPath> paths_;
};

} // namespace

void stg::explainCommunication(const CompiledWorkload &workload, ReportStyle style, const SourceManager &sources,
                               llvm::raw_ostream &os) {
  const Program &program = workload.program;
  os << fmt::format("{}: collectives of one step of {} on {}\n", workload.name, program.text(program.name).str(),
                    meshText(program.mesh));
  CommunicationText(program, style, sources, os).print();
}
