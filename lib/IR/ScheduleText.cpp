//===- ScheduleText.cpp - the notation of publications -------------------------===//
#include "stg/IR/ScheduleText.h"
#include "ActionScanner.h"
#include <fmt/format.h>

namespace stg {

namespace {

/// Larger stages and micro-batches are slips of the pen.
constexpr uint32_t kLargestNumber = 1'000'000;

llvm::StringRef explanationOf(ScheduleTextFault fault) {
  switch (fault) {
  case ScheduleTextFault::NotAnAction:
    return "is not an action; an action is a stage, a letter and a micro-batch, like 2F0";
  case ScheduleTextFault::NumberTooLarge:
    return "has a number that is too large";
  case ScheduleTextFault::UnknownAction:
    return "names no action; those are F, B, I and W";
  case ScheduleTextFault::NoMicroBatch:
    return "has no micro-batch";
  case ScheduleTextFault::BadPair:
    return "is not an overlapped pair of two actions";
  case ScheduleTextFault::NoSuchStage:
    return "names a stage that does not exist";
  case ScheduleTextFault::NoSuchMicroBatch:
    return "names a micro-batch that does not exist";
  case ScheduleTextFault::WrongRankLabel:
    return "does not begin with the next rank and a colon";
  case ScheduleTextFault::NoActions:
    return "has no actions";
  case ScheduleTextFault::StageOnTwoRanks:
    return "names a stage of another rank";
  case ScheduleTextFault::StageWithoutRank:
    return "is a stage that no rank has, though there are later ones";
  case ScheduleTextFault::RowsAndRanks:
    return "rows do not make one for each rank";
  }
  return "";
}

/// Reads actions of one rank, whose stages follow from its copies of the model.
class RankReader {
public:
  RankReader(uint32_t rank, const Placement &placement) : rank_(rank), placement_(placement) {}

  std::variant<ActionList, ScheduleTextError> read(TextPiece piece) const {
    ActionList actions;
    for (size_t begin = 0;;) {
      begin = piece.text.find_first_not_of(" \t\r", begin);
      if (begin == llvm::StringRef::npos)
        return actions;
      size_t end = std::min(piece.text.find_first_of(" \t\r", begin), piece.text.size());
      auto slot = readSlot(piece.part(begin, end - begin));
      if (auto *error = std::get_if<ScheduleTextError>(&slot))
        return *error;
      actions.push_back(std::get<Slot>(slot));
      begin = end;
    }
  }

private:
  std::variant<Slot, ScheduleTextError> readSlot(TextPiece piece) const {
    if (!piece.text.starts_with("(")) {
      auto action = readAction(piece);
      if (auto *error = std::get_if<ScheduleTextError>(&action))
        return *error;
      return Slot{std::get<Action>(action)};
    }
    auto halves = splitPair(piece.part(1, piece.text.size() - 2), '&');
    if (!piece.text.ends_with(")") || !halves)
      return piece.error(ScheduleTextFault::BadPair);
    auto first = readAction(halves->first);
    auto second = readAction(halves->second);
    for (auto *half : {&first, &second})
      if (auto *error = std::get_if<ScheduleTextError>(half))
        return *error;
    return Slot{std::get<Action>(first), std::get<Action>(second)};
  }

  std::variant<Action, ScheduleTextError> readAction(TextPiece piece) const {
    auto scanned = scanAction(piece);
    if (auto *error = std::get_if<ScheduleTextError>(&scanned))
      return *error;
    const auto &parts = std::get<ScannedAction>(scanned);
    std::optional<ActionKind> kind = kindOf(parts.word);
    if (!kind)
      return piece.error(ScheduleTextFault::UnknownAction);
    if (!parts.microBatch)
      return piece.error(ScheduleTextFault::NoMicroBatch);
    if (*parts.microBatch >= placement_.microBatchesPerCopy())
      return piece.error(ScheduleTextFault::NoSuchMicroBatch);
    if (placement_.copies.size() == 1)
      return parts.number < placement_.stages
                 ? std::variant<Action, ScheduleTextError>(Action{*kind, parts.number, *parts.microBatch})
                 : piece.error(ScheduleTextFault::NoSuchStage);
    return actionOfCopy(piece, *kind, parts);
  }

  std::variant<Action, ScheduleTextError> actionOfCopy(TextPiece piece, ActionKind kind,
                                                       const ScannedAction &parts) const {
    if (parts.number < placement_.copies.size())
      for (uint32_t stage = 0; stage < placement_.stages; ++stage)
        if (placement_.copies[parts.number][stage] == rank_)
          return Action{kind, stage, parts.number * placement_.microBatchesPerCopy() + *parts.microBatch};
    return piece.error(ScheduleTextFault::NoSuchStage);
  }

  uint32_t rank_;
  const Placement &placement_;
};

/// `piece` behind its label `rank:`.
std::optional<TextPiece> behindLabel(TextPiece piece, uint32_t rank) {
  size_t colon = piece.text.find(':');
  uint32_t label;
  if (colon == llvm::StringRef::npos || piece.text.take_front(colon).trim().getAsInteger(10, label) || label != rank)
    return std::nullopt;
  return piece.part(colon + 1);
}

} // namespace

TextPiece TextPiece::trimmed() const {
  size_t begin = std::min(text.find_first_not_of(" \t\r"), text.size());
  return part(begin, text.substr(begin).rtrim().size());
}

std::variant<ScannedAction, ScheduleTextError> scanAction(TextPiece piece) {
  auto digits = [](char c) { return c >= '0' && c <= '9'; };
  llvm::StringRef number = piece.text.take_while(digits);
  llvm::StringRef rest = piece.text.drop_front(number.size());
  llvm::StringRef word = rest.take_while([](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
  llvm::StringRef last = rest.drop_front(word.size());
  if (number.empty() || word.empty() || last.find_first_not_of("0123456789") != llvm::StringRef::npos)
    return piece.error(ScheduleTextFault::NotAnAction);
  ScannedAction action{.word = word};
  uint32_t microBatch = 0;
  if (number.getAsInteger(10, action.number) || action.number > kLargestNumber ||
      (!last.empty() && (last.getAsInteger(10, microBatch) || microBatch > kLargestNumber)))
    return piece.error(ScheduleTextFault::NumberTooLarge);
  if (!last.empty())
    action.microBatch = microBatch;
  return action;
}

std::optional<ActionKind> kindOf(llvm::StringRef word) {
  for (ActionKind kind : {ActionKind::Forward, ActionKind::Backward, ActionKind::InputGrad, ActionKind::WeightGrad})
    if (word.size() == 1 && word.front() == letterOf(kind))
      return kind;
  return std::nullopt;
}

std::optional<std::pair<TextPiece, TextPiece>> splitPair(TextPiece piece, char separator) {
  size_t at = piece.text.find(separator);
  if (at == llvm::StringRef::npos || piece.text.find(separator, at + 1) != llvm::StringRef::npos)
    return std::nullopt;
  return std::pair{piece.part(0, at).trimmed(), piece.part(at + 1).trimmed()};
}

std::string faultOf(const ScheduleTextError &error) {
  return fmt::format("{} {}", error.seen, explanationOf(error.fault).str());
}

std::string textOf(const ScheduleTextError &error) {
  return fmt::format("line {}, column {}: {}", error.line, error.column, faultOf(error));
}

std::string textOf(const Action &action, const Placement &placement) {
  uint32_t number = action.stage;
  uint32_t microBatch = action.microBatch;
  if (placement.copies.size() > 1) {
    number = placement.copyOf(action.microBatch);
    microBatch -= number * placement.microBatchesPerCopy();
  }
  return fmt::format("{}{}{}", number, letterOf(action.kind), microBatch);
}

std::string textOf(const Slot &slot, const Placement &placement) {
  if (!slot.overlapped)
    return textOf(slot.action, placement);
  return fmt::format("({}&{})", textOf(slot.action, placement), textOf(*slot.overlapped, placement));
}

std::string textOf(const ActionList &actions, const Placement &placement) {
  std::string text;
  for (const Slot &slot : actions) {
    if (!text.empty())
      text += ' ';
    text += textOf(slot, placement);
  }
  return text;
}

std::string textOf(const Schedule &schedule) {
  std::string text;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    text += fmt::format("{}: {}\n", rank, textOf(schedule.ranks[rank], schedule.placement));
  return text;
}

std::variant<ActionList, ScheduleTextError> readActions(llvm::StringRef text, uint32_t rank,
                                                        const Placement &placement) {
  return RankReader(rank, placement).read({text});
}

std::variant<Schedule, ScheduleTextError> readSchedule(llvm::StringRef text, const Placement &placement) {
  Schedule schedule{.placement = placement, .ranks = {}};
  for (uint32_t line = 1; !text.empty(); ++line) {
    auto [row, rest] = text.split('\n');
    text = rest;
    TextPiece piece{row, line};
    if (row.trim().empty())
      continue;
    auto rank = static_cast<uint32_t>(schedule.ranks.size());
    if (rank == placement.ranks)
      return piece.trimmed().error(ScheduleTextFault::RowsAndRanks);
    std::optional<TextPiece> list = behindLabel(piece, rank);
    if (!list)
      return piece.trimmed().error(ScheduleTextFault::WrongRankLabel);
    auto actions = RankReader(rank, placement).read(*list);
    if (auto *error = std::get_if<ScheduleTextError>(&actions))
      return *error;
    schedule.ranks.push_back(std::get<ActionList>(std::move(actions)));
  }
  if (schedule.ranks.size() != placement.ranks)
    return ScheduleTextError{ScheduleTextFault::RowsAndRanks, 1, 1, std::to_string(schedule.ranks.size())};
  return schedule;
}

} // namespace stg
