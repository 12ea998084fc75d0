//===- Svg.cpp - Pictures of schedules ------------------------------------===//

#include "hone/Analysis/Pipeline/Text.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace hone::pipeline;
using llvm::formatv;

// Boxes are filled, so that their text reads on any page; text beside them
// follows the page.
static constexpr llvm::StringLiteral style = R"(  <style>
    text { font: 12px system-ui, sans-serif; text-anchor: middle; fill: #1f2328; }
    .label { text-anchor: start; }
    .F0 { fill: #a5d0ff; } .F1 { fill: #0a5dc2; }
    .B0 { fill: #a8e0b0; } .B1 { fill: #1a6b34; }
    .I0 { fill: #9fe0de; } .I1 { fill: #0b6a6e; }
    .W0 { fill: #ffd7a3; } .W1 { fill: #9a4a08; }
    .on1 { fill: #ffffff; }
    @media (prefers-color-scheme: dark) { .label { fill: #e6edf3; } }
  </style>
)";

static constexpr int left = 64, rowHeight = 26, boxHeight = 22, legendRow = 30;
static constexpr double shortestBox = 22, widestPicture = 20000;

namespace {
class Picture {
public:
  Picture(const Schedule &schedule, const Timeline &timeline,
          llvm::raw_ostream &out)
      : schedule(schedule), timeline(timeline), out(out) {}

  void write();

private:
  double unitsPerSecond() const;
  void writeRow(int rank);
  void writeBox(int top, int height, const Action &action, const Span &span);
  void writeLegend();
  int heightOfRows() const { return rowHeight * schedule.shape.ranks; }

  const Schedule &schedule;
  const Timeline &timeline;
  llvm::raw_ostream &out;
  double scale = 1; // units of the picture per second
};
} // namespace

/// The shortest action has room for a number, where the picture does not become
/// too wide.
double Picture::unitsPerSecond() const {
  double shortest = timeline.makespan;
  for (auto [list, rank] : llvm::zip(schedule.ranks, timeline.ranks))
    for (auto [action, span] : llvm::zip(list, rank.spans))
      if (!isTransfer(action.kind) && span.end > span.begin)
        shortest = std::min(shortest, span.end - span.begin);
  if (timeline.makespan == 0)
    return 1;
  return std::min(shortestBox / shortest, widestPicture / timeline.makespan);
}

void Picture::write() {
  scale = unitsPerSecond();
  double width = left + std::max(scale * timeline.makespan, 420.0) + 8;
  int height = heightOfRows() + legendRow;
  std::string title;
  llvm::raw_string_ostream text(title);
  llvm::printHTMLEscaped(schedule.name, text);
  text << formatv(": {0} ranks, {1} micro-batches, bubble {2:P2}",
                  schedule.shape.ranks, schedule.shape.microBatches,
                  timeline.bubble());
  out << formatv("<svg xmlns=\"http://www.w3.org/2000/svg\" "
                 "viewBox=\"0 0 {0:F1} {1}\" width=\"{0:F1}\" height=\"{1}\" "
                 "role=\"img\">\n  <title>{2}</title>\n",
                 width, height, title)
      << style;
  for (int rank = 0; rank != schedule.shape.ranks; ++rank)
    writeRow(rank);
  writeLegend();
  out << "</svg>\n";
}

void Picture::writeRow(int rank) {
  out << formatv("  <text class=\"label\" x=\"4\" y=\"{0}\">rank {1}</text>\n",
                 rank * rowHeight + 16, rank);
  bool isBehind = false; // an action that overlaps this one
  for (auto [action, span] :
       llvm::zip(schedule.ranks[rank], timeline.ranks[rank].spans)) {
    int top = rank * rowHeight + 1, half = boxHeight / 2;
    if (action.overlapsNext || isBehind) // one above the other
      writeBox(isBehind ? top + half : top, half, action, span);
    else if (!isTransfer(action.kind))
      writeBox(top, boxHeight, action, span);
    isBehind = action.overlapsNext;
  }
}

void Picture::writeBox(int top, int height, const Action &action,
                       const Span &span) {
  double x = left + scale * span.begin, width = scale * (span.end - span.begin);
  // Chunks of a rank alternate between two shades.
  int shade = action.chunk / schedule.shape.ranks % 2;
  out << formatv("  <g><title>{0}</title><rect class=\"{1}{2}\" x=\"{3:F1}\" "
                 "y=\"{4}\" width=\"{5:F1}\" height=\"{6}\" rx=\"2\"/>",
                 formatAction(action), kindName(action.kind), shade, x, top,
                 std::max(width - 1, 0.5), height);
  if (width >= 8 * double(std::to_string(action.micro).size()))
    out << formatv("<text class=\"on{0}\" x=\"{1:F1}\" y=\"{2}\">{3}</text>",
                   shade, x + width / 2, top + height / 2 + 4, action.micro);
  out << "</g>\n";
}

void Picture::writeLegend() {
  static constexpr std::pair<ActionKind, const char *> names[] = {
      {ActionKind::Forward, "forward"},
      {ActionKind::Backward, "backward"},
      {ActionKind::BackwardInput, "input gradient"},
      {ActionKind::BackwardWeight, "weight gradient"}};
  int x = left, y = heightOfRows() + 4;
  int shades = std::min(2, schedule.shape.chunksPerRank);
  for (auto [kind, name] : names) {
    if (!schedule.hasAny(kind))
      continue;
    for (int shade = 0; shade != shades; ++shade, x += 16)
      out << formatv("  <rect class=\"{0}{1}\" x=\"{2}\" y=\"{3}\" "
                     "width=\"14\" height=\"14\" rx=\"2\"/>\n",
                     kindName(kind), shade, x, y);
    out << formatv("  <text class=\"label\" x=\"{0}\" y=\"{1}\">{2}</text>\n",
                   x + 4, y + 12, name);
    x += 120;
  }
}

void hone::pipeline::writeSvg(const Schedule &schedule,
                              const Timeline &timeline,
                              llvm::raw_ostream &out) {
  Picture(schedule, timeline, out).write();
}
