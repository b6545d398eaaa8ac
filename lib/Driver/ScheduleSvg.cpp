//===- ScheduleSvg.cpp ------------------------------------------------------===//
#include "stg/Driver/ScheduleSvg.h"
#include "stg/IR/ScheduleText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <fmt/format.h>

namespace stg {

std::string TimeScale::number(double time) const { return fmt::format("{:.{}f}", time / unit, decimals); }
std::string TimeScale::text(double time) const { return number(time) + (*name ? " " : "") + name; }

namespace {

//===----------------------------------------------------------------------===//
// Colours
//===----------------------------------------------------------------------===//

struct Colour {
  int red, green, blue;

  std::string text() const { return fmt::format("#{:02x}{:02x}{:02x}", red, green, blue); }
  /// Dark numbers on light boxes.
  const char *ink() const { return 299 * red + 587 * green + 114 * blue > 140'000 ? "#111111" : "#ffffff"; }
  /// `of` parts in `all` of the way to white.
  Colour lighter(uint32_t of, uint32_t all) const {
    auto mix = [&](int value) { return value + (255 - value) * static_cast<int>(of) / static_cast<int>(all); };
    return {mix(red), mix(green), mix(blue)};
  }
};

constexpr ActionKind kKinds[] = {ActionKind::Forward, ActionKind::Backward, ActionKind::InputGrad,
                                 ActionKind::WeightGrad};

Colour baseColour(ActionKind kind) {
  switch (kind) {
  case ActionKind::Forward:
    return {0x2f, 0x66, 0xb3};
  case ActionKind::Backward:
    return {0x1f, 0x80, 0x4c};
  case ActionKind::InputGrad:
    return {0xa8, 0x32, 0x7a};
  case ActionKind::WeightGrad:
    return {0xc7, 0x92, 0x00};
  }
  return {0, 0, 0};
}

const char *meaningOf(ActionKind kind) {
  switch (kind) {
  case ActionKind::Forward:
    return "F forward";
  case ActionKind::Backward:
    return "B backward";
  case ActionKind::InputGrad:
    return "I input gradient";
  case ActionKind::WeightGrad:
    return "W weight gradient";
  }
  return "";
}

/// Which shade an action has: that of its stage among those of its rank, copy by copy.
class Shades {
public:
  explicit Shades(const Placement &placement) : placement_(placement) {
    std::vector<uint32_t> onRank(placement.ranks, 0);
    for (const std::vector<uint32_t> &copy : placement.copies) {
      std::vector<uint32_t> &shades = ofStage_.emplace_back();
      for (uint32_t rank : copy)
        shades.push_back(onRank[rank]++);
    }
    count_ = *llvm::max_element(onRank);
  }

  uint32_t count() const { return count_; }
  Colour colour(ActionKind kind, uint32_t shade) const {
    // The lightest is three fifths of the way to white.
    return count_ == 1 ? baseColour(kind) : baseColour(kind).lighter(3 * shade, 5 * (count_ - 1));
  }
  Colour colour(const Action &action) const {
    return colour(action.kind, ofStage_[placement_.copyOf(action.microBatch)][action.stage]);
  }

private:
  const Placement &placement_;
  std::vector<std::vector<uint32_t>> ofStage_; ///< per copy
  uint32_t count_ = 1;
};

//===----------------------------------------------------------------------===//
// Layout, in pixels
//===----------------------------------------------------------------------===//

constexpr double kLeft = 64, kRight = 64, kHead = 72, kFoot = 52;
constexpr double kRow = 26, kBox = 22;
/// Of a digit in a box, of a letter in the legend.
constexpr double kDigit = 5.6, kLetter = 6.2;
constexpr double kLeastWidth = 900, kMostWidth = 16'000;
constexpr double kTick = 80;
constexpr double kSwatch = 16;

double digitsOf(uint32_t number) { return static_cast<double>(std::to_string(number).size()); }

class ChartWriter {
public:
  ChartWriter(const ScheduleChart &chart, double top, llvm::raw_ostream &os)
      : chart_(chart), placement_(chart.schedule.placement), shades_(placement_), top_(top), os_(os),
        perTime_(pixelsPerTime(chart)) {}

  static double width(const ScheduleChart &chart) {
    return kLeft + std::max(chart.times.makespan * pixelsPerTime(chart), kLeastWidth) + kRight;
  }
  static double height(const ScheduleChart &chart) {
    return kHead + kRow * static_cast<double>(chart.schedule.ranks.size()) + kFoot;
  }

  void write() {
    text(kLeft, top_ + 24, chart_.title, "font-size=\"15\" font-weight=\"bold\"");
    text(kLeft, top_ + 41, chart_.subtitle);
    writeLegend();
    writeLanes();
    writeAxis();
    os_ << "<g stroke=\"#ffffff\" stroke-width=\"0.6\">\n";
    for (uint32_t rank = 0; rank < chart_.schedule.ranks.size(); ++rank)
      for (size_t i = 0; i < chart_.schedule.ranks[rank].size(); ++i)
        writeSlot(rank, chart_.schedule.ranks[rank][i], chart_.times.ranks[rank].slots[i]);
    os_ << "</g>\n<g text-anchor=\"middle\">\n" << numbers_ << "</g>\n";
  }

private:
  /// So that the numbers of three in four actions fit.
  static double pixelsPerTime(const ScheduleChart &chart) {
    std::vector<double> lengths;
    for (const RankTimes &rank : chart.times.ranks)
      for (const SlotTime &slot : rank.slots)
        if (slot.end > slot.start)
          lengths.push_back(slot.end - slot.start);
    if (lengths.empty())
      return 1;
    auto quarter = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 4);
    std::nth_element(lengths.begin(), quarter, lengths.end());
    double wanted = (digitsOf(chart.schedule.placement.microBatches - 1) * kDigit + 6.5) / *quarter;
    return std::clamp(wanted, kLeastWidth / chart.times.makespan, kMostWidth / chart.times.makespan);
  }

  double xOf(double time) const { return kLeft + time * perTime_; }
  double yOf(uint32_t rank) const { return top_ + kHead + kRow * rank; }
  double bottom() const { return yOf(static_cast<uint32_t>(chart_.schedule.ranks.size())); }

  static std::string escaped(llvm::StringRef text) {
    std::string result;
    llvm::raw_string_ostream os(result);
    llvm::printHTMLEscaped(text, os);
    return result;
  }

  void text(double x, double y, llvm::StringRef words, const char *more = "") {
    os_ << fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\"{}{}>{}</text>\n", x, y, *more ? " " : "", more, escaped(words));
  }

  void writeLegend() {
    double x = kLeft, y = top_ + kHead - 23;
    auto label = [&](llvm::StringRef words) {
      text(x + 5, y + 11, words);
      x += 5 + kLetter * static_cast<double>(words.size()) + 18;
    };
    for (ActionKind kind : kKinds) {
      if (!occurs([&](const Action &action) { return action.kind == kind; }))
        continue;
      for (uint32_t shade = 0; shade < shades_.count(); ++shade, x += kSwatch)
        os_ << fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"14\" fill=\"{}\"/>\n", x, y,
                           kSwatch, shades_.colour(kind, shade).text());
      label(meaningOf(kind));
    }
    if (placement_.copies.size() > 1)
      label("lighter: the second copy of the model");
    else if (shades_.count() > 1)
      label("lighter: later chunks of the rank");
    if (llvm::any_of(chart_.schedule.ranks, [](const ActionList &list) {
          return llvm::any_of(list, [](const Slot &slot) { return slot.overlapped.has_value(); });
        }))
      label("halves: overlapped");
  }

  template <class Predicate> bool occurs(Predicate predicate) const {
    return llvm::any_of(chart_.schedule.ranks, [&](const ActionList &list) {
      return llvm::any_of(list, [&](const Slot &slot) {
        return predicate(slot.action) || (slot.overlapped && predicate(*slot.overlapped));
      });
    });
  }

  /// Grey where a rank is idle.
  void writeLanes() {
    double end = xOf(chart_.times.makespan);
    for (uint32_t rank = 0; rank < chart_.schedule.ranks.size(); ++rank) {
      os_ << fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"#ececec\"/>\n",
                         kLeft, yOf(rank), end - kLeft, kBox);
      std::string label = fmt::format("rank {}", rank);
      text(kLeft - 6, yOf(rank) + 15, label, "text-anchor=\"end\"");
      text(end + 6, yOf(rank) + 15, label);
    }
  }

  /// 1, 2 or 5 times a power of ten.
  double tickStep() const {
    double least = kTick / perTime_ / chart_.scale.unit;
    double power = std::pow(10, std::floor(std::log10(least)));
    for (double factor : {1.0, 2.0, 5.0})
      if (factor * power >= least)
        return factor * power * chart_.scale.unit;
    return 10 * power * chart_.scale.unit;
  }

  void writeAxis() {
    double step = tickStep();
    TimeScale scale = chart_.scale;
    scale.decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step / scale.unit) + 1e-9)));
    double y = bottom();
    for (uint32_t tick = 0; tick * step <= chart_.times.makespan; ++tick) {
      double x = xOf(tick * step);
      os_ << fmt::format("<path d=\"M{:.2f} {:.2f}V{:.2f}\" stroke=\"#b5b5b5\"/>\n", x, yOf(0) - 2, y + 6);
      text(x, y + 19, tick ? scale.number(tick * step) : scale.text(0), "text-anchor=\"middle\"");
    }
  }

  void writeSlot(uint32_t rank, const Slot &slot, const SlotTime &time) {
    if (!(time.end > time.start))
      return;
    if (!slot.overlapped) {
      writeBox(slot.action, time, yOf(rank), kBox);
      return;
    }
    writeBox(slot.action, time, yOf(rank), kBox / 2);
    writeBox(*slot.overlapped, time, yOf(rank) + kBox / 2, kBox / 2);
  }

  void writeBox(const Action &action, const SlotTime &time, double y, double height) {
    Colour colour = shades_.colour(action);
    double x = xOf(time.start), width = xOf(time.end) - x;
    os_ << fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\">"
                       "<title>{}: {} to {}</title></rect>\n",
                       x, y, width, height, colour.text(), textOf(action, placement_), chart_.scale.number(time.start),
                       chart_.scale.text(time.end));
    if (digitsOf(action.microBatch) * kDigit + 1.5 <= width)
      numbers_ += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" fill=\"{}\">{}</text>\n", x + width / 2,
                              y + height / 2 + 3.7, colour.ink(), action.microBatch);
  }

  const ScheduleChart &chart_;
  const Placement &placement_;
  Shades shades_;
  double top_;
  llvm::raw_ostream &os_;
  double perTime_;
  /// Above all boxes.
  std::string numbers_;
};

} // namespace

std::string svgOf(llvm::ArrayRef<ScheduleChart> charts) {
  double width = 0, height = 0;
  for (const ScheduleChart &chart : charts) {
    width = std::max(width, ChartWriter::width(chart));
    height += ChartWriter::height(chart);
  }
  std::string svg;
  llvm::raw_string_ostream os(svg);
  os << fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
                    "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"10\">\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
                    width, height);
  double top = 0;
  for (const ScheduleChart &chart : charts) {
    ChartWriter(chart, top, os).write();
    top += ChartWriter::height(chart);
  }
  os << "</svg>\n";
  return svg;
}

} // namespace stg
