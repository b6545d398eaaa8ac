//===- MemorySvg.cpp --------------------------------------------------------===//
#include "stg/Driver/MemorySvg.h"
#include "ExplainText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <fmt/format.h>

namespace stg {

namespace {

// In pixels.
constexpr double kLeft = 84, kRight = 64, kHead = 76, kFoot = 48, kPlot = 320;
constexpr double kLeastWidth = 900, kMostWidth = 2400;
/// Of a letter in the legend.
constexpr double kLetter = 6.2;
/// Columns beyond this many are drawn together.
constexpr size_t kMostColumns = 4000;

const char *colourOf(MemoryKind kind) {
  switch (kind) {
  case MemoryKind::Parameters:
    return "#2f66b3";
  case MemoryKind::Gradients:
    return "#1f804c";
  case MemoryKind::Optimizer:
    return "#8f8f8f";
  case MemoryKind::States:
    return "#5b4a9e";
  case MemoryKind::Activations:
    return "#c79200";
  case MemoryKind::Gathered:
    return "#6fa3e0";
  case MemoryKind::Communication:
    return "#a8327a";
  case MemoryKind::Temporaries:
    return "#d86a4a";
  case MemoryKind::Host:
    break; // not drawn
  }
  return "#000000";
}

class ChartWriter {
public:
  ChartWriter(const MemoryChart &chart, double top, llvm::raw_ostream &os)
      : chart_(chart), points_(thinned(chart)), top_(top), os_(os) {
    for (const MemoryChart::Point &point : points_)
      highest_ = std::max({highest_, point.most, point.alive.total()});
    highest_ = std::max({highest_, chart.limit, int64_t{1}});
    perPoint_ = plotWidth(points_.size()) / static_cast<double>(std::max<size_t>(points_.size(), 1));
  }

  static double width(const MemoryChart &chart) { return kLeft + plotWidth(chart.points.size()) + kRight; }
  static double height() { return kHead + kPlot + kFoot; }

  void write() {
    text(kLeft, top_ + 24, chart_.title, "font-size=\"15\" font-weight=\"bold\"");
    text(kLeft, top_ + 41, chart_.subtitle);
    writeLegend();
    writeAxis();
    for (size_t kind = 0; kind < kDeviceMemoryKinds; ++kind)
      writeArea(static_cast<MemoryKind>(kind));
    writeMost();
    writeLimit();
    writeActions();
  }

private:
  static double plotWidth(size_t points) {
    return std::clamp(3.0 * static_cast<double>(points), kLeastWidth, kMostWidth);
  }

  /// Of several columns drawn as one, the one with the most.
  static std::vector<MemoryChart::Point> thinned(const MemoryChart &chart) {
    size_t together = (chart.points.size() + kMostColumns - 1) / kMostColumns;
    if (together <= 1)
      return chart.points;
    std::vector<MemoryChart::Point> points;
    for (size_t i = 0; i < chart.points.size(); ++i) {
      if (i % together == 0)
        points.push_back(chart.points[i]);
      else if (chart.points[i].most > points.back().most)
        points.back() = chart.points[i];
    }
    return points;
  }

  double xOf(size_t point) const { return kLeft + static_cast<double>(point) * perPoint_; }
  double yOf(double bytes) const { return top_ + kHead + kPlot * (1 - bytes / (1.05 * static_cast<double>(highest_))); }

  static std::string escaped(llvm::StringRef text) {
    std::string result;
    llvm::raw_string_ostream os(result);
    llvm::printHTMLEscaped(text, os);
    return result;
  }

  void text(double x, double y, llvm::StringRef words, const char *more = "") {
    os_ << fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\"{}{}>{}</text>\n", x, y, *more ? " " : "", more, escaped(words));
  }

  bool occurs(MemoryKind kind) const {
    return llvm::any_of(points_, [&](const MemoryChart::Point &point) { return point.alive[kind] != 0; });
  }

  void writeLegend() {
    double x = kLeft, y = top_ + kHead - 23;
    auto label = [&](llvm::StringRef words) {
      text(x + 21, y + 11, words);
      x += 21 + kLetter * static_cast<double>(words.size()) + 14;
    };
    for (size_t i = 0; i < kDeviceMemoryKinds; ++i) {
      auto kind = static_cast<MemoryKind>(i);
      if (!occurs(kind))
        continue;
      os_ << fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"16\" height=\"14\" fill=\"{}\"/>\n", x, y,
                         colourOf(kind));
      label(nameOf(kind));
    }
    os_ << fmt::format("<path d=\"M{:.2f} {:.2f}h16\" stroke=\"#111111\"/>\n", x, y + 7);
    label("most while a unit runs");
  }

  /// A power of two times 1 or so many of the unit below it that about six lines fit.
  double tickStep() const {
    double step = std::exp2(std::floor(std::log2(static_cast<double>(highest_) / 5)));
    return std::max(step, 1.0);
  }

  void writeAxis() {
    double end = xOf(points_.size());
    for (double bytes = 0; bytes <= 1.05 * static_cast<double>(highest_); bytes += tickStep()) {
      os_ << fmt::format("<path d=\"M{:.2f} {:.2f}H{:.2f}\" stroke=\"#dddddd\"/>\n", kLeft, yOf(bytes), end);
      text(kLeft - 6, yOf(bytes) + 4, bytes == 0 ? "0" : bytesText(bytes), "text-anchor=\"end\"");
    }
  }

  static int64_t sumBelow(const MemoryBytes &bytes, size_t kind) {
    int64_t sum = 0;
    for (size_t i = 0; i < kind; ++i)
      sum += bytes.of[i];
    return sum;
  }

  /// Steps: a point holds from its column's left to its right.
  void writeArea(MemoryKind kind) {
    if (!occurs(kind))
      return;
    auto index = static_cast<size_t>(kind);
    std::string upper, lower;
    for (size_t i = 0; i < points_.size(); ++i)
      upper += fmt::format("{:.2f},{:.2f} {:.2f},{:.2f} ", xOf(i), yOf(sumBelow(points_[i].alive, index + 1)),
                           xOf(i + 1), yOf(sumBelow(points_[i].alive, index + 1)));
    for (size_t i = points_.size(); i-- > 0;)
      lower += fmt::format("{:.2f},{:.2f} {:.2f},{:.2f} ", xOf(i + 1), yOf(sumBelow(points_[i].alive, index)), xOf(i),
                           yOf(sumBelow(points_[i].alive, index)));
    lower.pop_back();
    os_ << fmt::format("<polygon points=\"{}{}\" fill=\"{}\"><title>{}</title></polygon>\n", upper, lower,
                       colourOf(kind), std::string_view(nameOf(kind)));
  }

  void writeMost() {
    if (points_.empty())
      return;
    std::string line;
    for (size_t i = 0; i < points_.size(); ++i)
      line += fmt::format("{:.2f},{:.2f} {:.2f},{:.2f} ", xOf(i), yOf(static_cast<double>(points_[i].most)), xOf(i + 1),
                          yOf(static_cast<double>(points_[i].most)));
    line.pop_back();
    os_ << fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"#111111\" stroke-width=\"0.8\"/>\n", line);
    auto peak = llvm::max_element(points_, [](const auto &a, const auto &b) { return a.most < b.most; });
    auto at = static_cast<size_t>(peak - points_.begin());
    os_ << fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"3.5\" fill=\"#111111\"><title>{} {}: {}</title>"
                       "</circle>\n",
                       (xOf(at) + xOf(at + 1)) / 2, yOf(static_cast<double>(peak->most)), escaped(peak->action),
                       escaped(peak->unit), bytesText(static_cast<double>(peak->most)));
  }

  void writeLimit() {
    if (chart_.limit == 0)
      return;
    double y = yOf(static_cast<double>(chart_.limit)), end = xOf(points_.size());
    os_ << fmt::format("<path d=\"M{:.2f} {:.2f}H{:.2f}\" stroke=\"#c02020\" stroke-dasharray=\"6 4\"/>\n", kLeft, y,
                       end);
    text(end + 4, y + 4, chart_.limitText, "fill=\"#c02020\"");
  }

  /// Where actions begin, as far as their names fit.
  void writeActions() {
    double y = top_ + kHead + kPlot, free = 0;
    for (size_t i = 0; i < points_.size(); ++i) {
      const std::string &action = points_[i].action;
      if (i != 0 && points_[i - 1].action == action)
        continue;
      double x = xOf(i), width = kLetter * static_cast<double>(action.size());
      if (x < free)
        continue;
      os_ << fmt::format("<path d=\"M{:.2f} {:.2f}v5\" stroke=\"#777777\"/>\n", x, y);
      text(x, y + 16, action);
      free = x + width + 6;
    }
    text(kLeft, y + 34,
         "units of actions in the order of the rank; behind the last action gradients are summed and "
         "weights stepped");
  }

  const MemoryChart &chart_;
  std::vector<MemoryChart::Point> points_;
  double top_;
  llvm::raw_ostream &os_;
  int64_t highest_ = 0;
  double perPoint_ = 1;
};

} // namespace

std::string svgOf(llvm::ArrayRef<MemoryChart> charts) {
  double width = 0, height = ChartWriter::height() * static_cast<double>(charts.size());
  for (const MemoryChart &chart : charts)
    width = std::max(width, ChartWriter::width(chart));
  std::string svg;
  llvm::raw_string_ostream os(svg);
  os << fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
                    "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"10\">\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
                    width, height);
  for (size_t i = 0; i < charts.size(); ++i)
    ChartWriter(charts[i], ChartWriter::height() * static_cast<double>(i), os).write();
  os << "</svg>\n";
  return svg;
}

} // namespace stg
