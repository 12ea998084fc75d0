//===- MemoryChart.cpp - Memory over a step, and against time -------------===//

#include "MemoryChart.h"

#include "Chart.h"
#include "Markup.h"
#include "hone/Analysis/Sizes.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace hone;
using namespace honec;
using llvm::formatv;
using llvm::StringRef;

/// Colours that stand out from white and from black.
static StringRef colourOf(MemoryCategory category) {
  switch (category) {
  case MemoryCategory::Parameters:
    return "#4e79a7";
  case MemoryCategory::Optimizer:
    return "#76b7b2";
  case MemoryCategory::Shadows:
    return "#9c9ed6";
  case MemoryCategory::Inputs:
    return "#8c8c8c";
  case MemoryCategory::Gradients:
    return "#e15759";
  case MemoryCategory::Activations:
    return "#f28e2b";
  case MemoryCategory::Temporaries:
    return "#d4b13f";
  case MemoryCategory::Workspaces:
    return "#b07aa1";
  }
  llvm_unreachable("all categories are listed");
}

//===----------------------------------------------------------------------===//
// The timeline
//===----------------------------------------------------------------------===//

namespace {
/// Launches that are drawn as one: narrower together than half a pixel, seen as
/// the one with most bytes alive.
struct Column {
  double from, to; // pixels
  size_t launch;
};

/// The launches of one function.
struct Span {
  std::string function;
  double from, to;                   // pixels
  std::optional<double> forwardsEnd; // after the last activation
};

class Timeline {
public:
  Timeline(llvm::raw_ostream &out, const Summary &summary,
           const MachineModel &machine);

  void draw();

private:
  void addLaunch(size_t index, double from, double to);
  double total(const Column &column) const {
    return summary.launches[column.launch].live.total();
  }
  void drawStack();
  void drawArea(MemoryCategory category, llvm::ArrayRef<double> lower,
                llvm::ArrayRef<double> upper);
  void drawLines();
  void drawSpans();
  void drawLegend();
  void drawHits();

  llvm::raw_ostream &out;
  const Summary &summary;
  const MemorySummary &memory;
  std::vector<Column> columns;
  std::vector<Span> spans;
  std::vector<MemoryCategory> used;
  TimeUnit unit = {1, "s"};
  Axis x = {0, 1, 84, 764}, y = {0, 1, 372, 34};
};
} // namespace

Timeline::Timeline(llvm::raw_ostream &out, const Summary &summary,
                   const MachineModel &machine)
    : out(out), summary(summary), memory(summary.memory) {
  StringRef fullest =
      memory.at ? StringRef(summary.launches[*memory.at].function) : "";
  double seconds = 0;
  llvm::SmallVector<double> starts;
  for (const Launch &launch : summary.launches) {
    starts.push_back(seconds);
    bool isDrawn = summary.timesPerStep(launch.function) != 0 ||
                   launch.function == fullest;
    if (isDrawn)
      seconds += estimateSeconds(launch, machine);
  }
  starts.push_back(seconds);
  unit = timeUnitFor(seconds);
  x.high = seconds > 0 ? seconds * unit.perSecond : 1;
  double top = memory.arena;
  if (memory.budget && *memory.budget < 1.5 * top)
    top = std::max<double>(top, *memory.budget);
  y.high = std::max(1.0, top * 1.08);
  for (size_t index = 0; index != summary.launches.size(); ++index)
    if (starts[index] < starts[index + 1])
      addLaunch(index, x.at(starts[index] * unit.perSecond),
                x.at(starts[index + 1] * unit.perSecond));
  for (size_t index = 0; index != memoryCategories; ++index) {
    auto category = static_cast<MemoryCategory>(index);
    if (llvm::any_of(columns, [&](const Column &column) {
          return summary.launches[column.launch].live[category] != 0;
        }))
      used.push_back(category);
  }
}

void Timeline::addLaunch(size_t index, double from, double to) {
  const Launch &launch = summary.launches[index];
  bool isFirst = spans.empty() || spans.back().function != launch.function;
  if (isFirst)
    spans.push_back({launch.function, from, to, {}});
  spans.back().to = to;
  if (launch.endsForward)
    spans.back().forwardsEnd = to;
  if (isFirst || to - columns.back().from >= 0.5) {
    columns.push_back({from, to, index});
    return;
  }
  Column &column = columns.back();
  column.to = to;
  if (launch.live.total() > total(column))
    column.launch = index;
}

void Timeline::draw() {
  if (columns.empty())
    return;
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1000 424\" "
         "role=\"img\">\n<title>Bytes alive during one step of "
      << escapeMarkup(summary.model) << "</title>\n";
  drawStack();
  drawAxes(out, x, y, x.numbers(8), y.bytes(6),
           ("launches in order, by estimated time in " + unit.name).str(),
           "bytes alive");
  drawLines();
  drawSpans();
  drawLegend();
  drawHits();
  out << "</svg>\n";
}

void Timeline::drawStack() {
  std::vector<double> lower(columns.size(), 0), upper;
  for (MemoryCategory category : used) {
    upper = lower;
    for (size_t index = 0; index != columns.size(); ++index)
      upper[index] += summary.launches[columns[index].launch].live[category];
    drawArea(category, lower, upper);
    lower = upper;
  }
}

/// The steps of `upper` from left to right, then those of `lower` back.
void Timeline::drawArea(MemoryCategory category, llvm::ArrayRef<double> lower,
                        llvm::ArrayRef<double> upper) {
  size_t count = columns.size();
  out << formatv("<path fill=\"{0}\" d=\"M{1} {2}", colourOf(category),
                 pixel(columns.front().from), pixel(y.at(upper.front())));
  for (size_t index = 0; index + 1 != count; ++index)
    if (upper[index] != upper[index + 1])
      out << 'H' << pixel(columns[index].to) << 'V'
          << pixel(y.at(upper[index + 1]));
  out << 'H' << pixel(columns.back().to) << 'V' << pixel(y.at(lower.back()));
  for (size_t index = count - 1; index != 0; --index)
    if (lower[index] != lower[index - 1])
      out << 'H' << pixel(columns[index].from) << 'V'
          << pixel(y.at(lower[index - 1]));
  out << 'H' << pixel(columns.front().from) << "Z\"/>\n";
}

/// The arena, the budget where it is near, and the fullest point.
void Timeline::drawLines() {
  auto line = [&](StringRef style, double bytes) {
    out << formatv("<line class=\"{0}\" x1=\"{1}\" y1=\"{2}\" x2=\"{3}\" "
                   "y2=\"{2}\"/>\n",
                   style, pixel(x.from), pixel(y.at(bytes)), pixel(x.to));
  };
  line("arena", memory.arena);
  if (memory.budget && *memory.budget <= y.high)
    line("budget", *memory.budget);
  for (const Column &column : columns)
    if (column.launch == memory.at) {
      double middle = (column.from + column.to) / 2, at = y.at(total(column));
      out << formatv("<path class=\"peak\" d=\"M{0} {1}l-5 -9h10Z\"/>\n",
                     pixel(middle), pixel(at));
    }
}

void Timeline::drawSpans() {
  auto divide = [&](double at) {
    out << formatv("<line class=\"mark\" x1=\"{0}\" y1=\"{1}\" x2=\"{0}\" "
                   "y2=\"{2}\"/>\n",
                   pixel(at), pixel(y.to), pixel(y.from));
  };
  for (const Span &span : spans) {
    int64_t times = summary.timesPerStep(span.function);
    std::string label = span.function;
    if (times != 1)
      label += formatv(", {0} times a step", times);
    out << formatv("<text class=\"middle\" x=\"{0}\" y=\"{1}\">{2}</text>\n",
                   pixel((span.from + span.to) / 2), pixel(y.to - 12),
                   escapeMarkup(label));
    if (&span != &spans.front())
      divide(span.from);
    if (!span.forwardsEnd)
      continue;
    divide(*span.forwardsEnd);
    out << formatv("<text class=\"left\" x=\"{0}\" y=\"{1}\">forward</text>\n"
                   "<text x=\"{2}\" y=\"{1}\">backward</text>\n",
                   pixel(*span.forwardsEnd - 5), pixel(y.to + 8),
                   pixel(*span.forwardsEnd + 5));
  }
}

/// From the top of the stack to its bottom, with bytes at the fullest point.
void Timeline::drawLegend() {
  double left = x.to + 28, at = y.to + 4;
  auto entry = [&](StringRef sign, const llvm::Twine &name, int64_t bytes) {
    out << formatv("<g transform=\"translate({0} {1})\">{2}<text x=\"24\">{3}"
                   "</text><text class=\"left\" x=\"196\">{4}</text></g>\n",
                   pixel(left), pixel(at), sign, name.str(),
                   formatBytes(bytes));
    at += 22;
  };
  auto sample = [](StringRef style) {
    return formatv("<line class=\"{0}\" y1=\"-4\" x2=\"16\" y2=\"-4\"/>", style)
        .str();
  };
  if (memory.budget)
    entry(sample("budget"), "budget", *memory.budget);
  entry(sample("arena"), "arena", memory.arena);
  entry("<path class=\"peak\" d=\"M8 0l-5 -9h10Z\"/>", "fullest point",
        memory.peak.total());
  at += 6;
  for (MemoryCategory category : llvm::reverse(used))
    entry(formatv("<rect y=\"-10\" width=\"16\" height=\"12\" fill=\"{0}\"/>",
                  colourOf(category))
              .str(),
          categoryName(category), memory.peak[category]);
}

/// What the reader sees who rests the pointer on a launch.
void Timeline::drawHits() {
  for (const Column &column : columns) {
    const Launch &launch = summary.launches[column.launch];
    out << formatv(
        "<rect class=\"hit\" x=\"{0}\" y=\"{1}\" width=\"{2}\" "
        "height=\"{3}\"><title>{4} {5}: {6} ({7}), {8} alive{9}"
        "</title></rect>\n",
        pixel(column.from), pixel(y.to), pixel(column.to - column.from),
        pixel(y.from - y.to), escapeMarkup(launch.function), launch.number,
        launch.family, escapeMarkup(launch.ops),
        formatBytes(launch.live.total()),
        launch.location.empty() ? "" : ", " + escapeMarkup(launch.location));
  }
}

void honec::drawTimeline(llvm::raw_ostream &out, const Summary &summary,
                         const MachineModel &machine) {
  Timeline(out, summary, machine).draw();
}

//===----------------------------------------------------------------------===//
// The curve
//===----------------------------------------------------------------------===//

size_t honec::chosenPoint(const MemorySummary &memory) {
  auto distance = [&](const std::pair<double, double> &point) {
    return std::abs(point.first - memory.arena);
  };
  auto nearest = std::min_element(
      memory.curve.begin(), memory.curve.end(),
      [&](const auto &a, const auto &b) { return distance(a) < distance(b); });
  return nearest - memory.curve.begin();
}

/// An axis over the values and a tenth more on both sides.
static Axis axisOver(double low, double high, double from, double to) {
  double margin = (high > low ? high - low : std::max(high, 1e-9)) / 10;
  return {std::max(0.0, low - margin), high + margin, from, to};
}

void honec::drawCurve(llvm::raw_ostream &out, const MemorySummary &memory) {
  auto slower = [](const auto &a, const auto &b) {
    return a.second < b.second;
  };
  auto [fastest, slowest] =
      std::minmax_element(memory.curve.begin(), memory.curve.end(), slower);
  Axis x =
      axisOver(memory.curve.front().first, memory.curve.back().first, 84, 764);
  TimeUnit unit = timeUnitFor(slowest->second);
  Axis y = axisOver(fastest->second * unit.perSecond,
                    slowest->second * unit.perSecond, 292, 20);
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1000 344\" "
         "role=\"img\">\n<title>Estimated time of a step against the size of "
         "the arena</title>\n";
  drawAxes(out, x, y, x.bytes(7), y.numbers(5), "bytes of the arena",
           ("estimated " + unit.name + " per step").str());
  if (memory.budget && *memory.budget >= x.low && *memory.budget <= x.high)
    out << formatv("<line class=\"budget\" x1=\"{0}\" y1=\"{1}\" x2=\"{0}\" "
                   "y2=\"{2}\"/>\n",
                   pixel(x.at(*memory.budget)), pixel(y.from), pixel(y.to));
  // Between two points nothing better than the smaller one is known.
  out << formatv("<path class=\"curve\" d=\"M{0} {1}",
                 pixel(x.at(memory.curve.front().first)),
                 pixel(y.at(memory.curve.front().second * unit.perSecond)));
  for (auto [bytes, seconds] : llvm::drop_begin(memory.curve))
    out << 'H' << pixel(x.at(bytes)) << 'V'
        << pixel(y.at(seconds * unit.perSecond));
  out << 'H' << pixel(x.to) << "\"/>\n";
  size_t chosen = chosenPoint(memory);
  for (const auto &[index, point] : llvm::enumerate(memory.curve))
    out << formatv(
        "<circle class=\"{0}\" cx=\"{1}\" cy=\"{2}\" r=\"{3}\"><title>{4}, "
        "{5:F3} ms</title></circle>\n",
        index == chosen ? "chosen" : "dot", pixel(x.at(point.first)),
        pixel(y.at(point.second * unit.perSecond)), index == chosen ? 6 : 3,
        formatBytesToType(point.first), point.second * 1e3);
  out << "<g transform=\"translate(792 38)\"><circle class=\"chosen\" "
         "cx=\"8\" cy=\"-4\" r=\"6\"/><text x=\"24\">this program</text>"
         "</g>\n";
  if (memory.budget)
    out << formatv("<g transform=\"translate(792 60)\"><line class=\"budget\" "
                   "y1=\"-4\" x2=\"16\" y2=\"-4\"/><text x=\"24\">budget"
                   "</text><text class=\"left\" x=\"196\">{0}</text></g>\n",
                   formatBytes(*memory.budget));
  out << "</svg>\n";
}
