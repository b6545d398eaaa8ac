//===- ScheduleCsv.cpp - schedules as PyTorch reads and writes them ------------===//
// A row per rank, a cell per slot; `(0F7;1B3)OVERLAP_F_B` is an overlapped pair. PyTorch's files do not say where
// stages are placed: the row in which a stage stands is its rank, and their largest numbers say how many there are.
//===----------------------------------------------------------------------===//
#include "ActionScanner.h"
#include <algorithm>

namespace stg {

namespace {

constexpr llvm::StringRef kOverlap = "OVERLAP_F_B";
/// What PyTorch's runtime does around compute: the compiler derives it.
constexpr llvm::StringRef kDerived[] = {"UNSHARD", "RESHARD", "REDUCE_GRAD", "SEND_F", "RECV_F", "SEND_B", "RECV_B"};

class CsvReader {
public:
  std::variant<CsvSchedule, ScheduleTextError> read(llvm::StringRef text) {
    std::optional<ScheduleTextError> error = readRows(text.rtrim());
    if (!error)
      error = place();
    if (error)
      return *error;
    renameInputGrads();
    return std::move(result_);
  }

private:
  using Error = std::optional<ScheduleTextError>;

  Error readRows(llvm::StringRef text) {
    for (uint32_t line = 1; !text.empty(); ++line) {
      auto [row, rest] = text.split('\n');
      text = rest;
      if (Error error = readRow({row, line}))
        return error;
      if (result_.schedule.ranks.back().empty())
        return TextPiece{row, line}.trimmed().error(ScheduleTextFault::NoActions);
    }
    if (result_.schedule.ranks.empty())
      return ScheduleTextError{ScheduleTextFault::NoActions, 1, 1, "the file"};
    return std::nullopt;
  }

  Error readRow(TextPiece row) {
    result_.schedule.ranks.emplace_back();
    for (size_t begin = 0; begin <= row.text.size();) {
      size_t end = std::min(row.text.find(',', begin), row.text.size());
      TextPiece cell = row.part(begin, end - begin).trimmed();
      if (!cell.text.empty())
        if (Error error = readCell(cell))
          return error;
      begin = end + 1;
    }
    return std::nullopt;
  }

  Error readCell(TextPiece cell) {
    if (!cell.text.starts_with("("))
      return readAction(cell, [&](Action action) { actions().push_back({action}); });
    size_t close = cell.text.find(')');
    if (close == llvm::StringRef::npos || cell.text.substr(close + 1) != kOverlap)
      return cell.error(ScheduleTextFault::BadPair);
    auto halves = splitPair(cell.part(1, close - 1), ';');
    if (!halves)
      return cell.error(ScheduleTextFault::BadPair);
    std::vector<Action> pair;
    auto add = [&](Action action) { pair.push_back(action); };
    if (Error error = readAction(halves->first, add))
      return error;
    if (Error error = readAction(halves->second, add))
      return error;
    if (pair.size() != 2)
      return cell.error(ScheduleTextFault::BadPair);
    actions().push_back({pair[0], pair[1]});
    return std::nullopt;
  }

  template <class Add> Error readAction(TextPiece piece, Add add) {
    auto scanned = scanAction(piece);
    if (auto *error = std::get_if<ScheduleTextError>(&scanned))
      return *error;
    const auto &parts = std::get<ScannedAction>(scanned);
    if (std::find(std::begin(kDerived), std::end(kDerived), parts.word) != std::end(kDerived)) {
      ++result_.skipped;
      return std::nullopt;
    }
    std::optional<ActionKind> kind = kindOf(parts.word);
    if (!kind)
      return piece.error(ScheduleTextFault::UnknownAction);
    if (!parts.microBatch)
      return piece.error(ScheduleTextFault::NoMicroBatch);
    if (Error error = noteStage(piece, parts.number))
      return error;
    placement().microBatches = std::max(placement().microBatches, *parts.microBatch + 1);
    add(Action{*kind, parts.number, *parts.microBatch});
    return std::nullopt;
  }

  /// A stage belongs to the row that names it first.
  Error noteStage(TextPiece piece, uint32_t stage) {
    auto rank = static_cast<uint32_t>(result_.schedule.ranks.size() - 1);
    if (stage >= rankOf_.size())
      rankOf_.resize(stage + 1);
    if (!rankOf_[stage])
      rankOf_[stage] = rank;
    if (*rankOf_[stage] != rank)
      return piece.error(ScheduleTextFault::StageOnTwoRanks);
    return std::nullopt;
  }

  Error place() {
    placement().ranks = static_cast<uint32_t>(result_.schedule.ranks.size());
    placement().stages = static_cast<uint32_t>(rankOf_.size());
    placement().copies = {{}};
    for (size_t stage = 0; stage < rankOf_.size(); ++stage) {
      if (!rankOf_[stage])
        return ScheduleTextError{ScheduleTextFault::StageWithoutRank, 1, 1, std::to_string(stage)};
      placement().copies[0].push_back(*rankOf_[stage]);
    }
    return std::nullopt;
  }

  /// Files of before PyTorch had `I` write the input gradient as `B`.
  void renameInputGrads() {
    bool inputGrads = false, weightGrads = false;
    forEachAction([&](Action &action) {
      inputGrads |= action.kind == ActionKind::InputGrad;
      weightGrads |= action.kind == ActionKind::WeightGrad;
    });
    if (inputGrads || !weightGrads)
      return;
    forEachAction([](Action &action) {
      if (action.kind == ActionKind::Backward)
        action.kind = ActionKind::InputGrad;
    });
  }

  template <class Visit> void forEachAction(Visit visit) {
    for (ActionList &list : result_.schedule.ranks)
      for (Slot &slot : list) {
        visit(slot.action);
        if (slot.overlapped)
          visit(*slot.overlapped);
      }
  }

  ActionList &actions() { return result_.schedule.ranks.back(); }
  Placement &placement() { return result_.schedule.placement; }

  CsvSchedule result_;
  std::vector<std::optional<uint32_t>> rankOf_;
};

void appendAction(std::string &text, const Action &action) {
  text += std::to_string(action.stage);
  text += letterOf(action.kind);
  text += std::to_string(action.microBatch);
}

} // namespace

std::variant<CsvSchedule, ScheduleTextError> readScheduleCsv(llvm::StringRef text) { return CsvReader().read(text); }

std::string csvOf(const Schedule &schedule) {
  std::string text;
  for (const ActionList &actions : schedule.ranks) {
    for (size_t i = 0; i < actions.size(); ++i) {
      if (i > 0)
        text += ',';
      const Slot &slot = actions[i];
      if (slot.overlapped)
        text += '(';
      appendAction(text, slot.action);
      if (!slot.overlapped)
        continue;
      text += ';';
      appendAction(text, *slot.overlapped);
      text += ')';
      text += kOverlap;
    }
    text += '\n';
  }
  return text;
}

} // namespace stg
