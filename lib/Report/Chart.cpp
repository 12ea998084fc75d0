//===- Chart.cpp - Axes of a picture in SVG -------------------------------===//

#include "Chart.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace honec;
using llvm::formatv;
using llvm::StringRef;

TimeUnit honec::timeUnitFor(double seconds) {
  if (seconds >= 10)
    return {1, "s"};
  if (seconds >= 1e-3)
    return {1e3, "ms"};
  return {1e6, "µs"};
}

std::string honec::pixel(double position) {
  return formatv("{0:F1}", position).str();
}

static std::string shortNumber(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

/// The least of 1, 2, 5, 10, 20, ... that divides `range` into at most `wanted`
/// steps.
static double roundStep(double range, unsigned wanted) {
  double power = std::pow(10, std::floor(std::log10(range / wanted)));
  for (double digit : {1, 2, 5})
    if (range / (digit * power) <= wanted)
      return digit * power;
  return 10 * power;
}

/// Round multiples of `unit` on `axis`, labelled with its name.
static llvm::SmallVector<Tick> ticksOf(const Axis &axis, unsigned wanted,
                                       double unit, StringRef name) {
  double step = roundStep((axis.high - axis.low) / unit, wanted);
  llvm::SmallVector<Tick> ticks;
  auto first = static_cast<int64_t>(std::ceil(axis.low / unit / step - 1e-9));
  for (int64_t index = first; index * step * unit <= axis.high; ++index) {
    std::string label = shortNumber(index * step);
    if (!name.empty() && index != 0)
      label += (" " + name).str();
    ticks.push_back({index * step * unit, label});
  }
  return ticks;
}

llvm::SmallVector<Tick> Axis::numbers(unsigned wanted) const {
  return ticksOf(*this, wanted, 1, "");
}

llvm::SmallVector<Tick> Axis::bytes(unsigned wanted) const {
  const char *names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t index = 0;
  double unit = 1;
  for (; high / unit >= 1024 && index + 1 < std::size(names); ++index)
    unit *= 1024;
  return ticksOf(*this, wanted, unit, names[index]);
}

void honec::drawAxes(llvm::raw_ostream &out, const Axis &x, const Axis &y,
                     llvm::ArrayRef<Tick> xTicks, llvm::ArrayRef<Tick> yTicks,
                     StringRef xLabel, StringRef yLabel) {
  for (const Tick &tick : yTicks) {
    std::string at = pixel(y.at(tick.value));
    out << formatv("<line class=\"grid\" x1=\"{0}\" y1=\"{1}\" x2=\"{2}\" "
                   "y2=\"{1}\"/>\n"
                   "<text class=\"left\" x=\"{3}\" y=\"{1}\" dy=\"4\">{4}"
                   "</text>\n",
                   pixel(x.from), at, pixel(x.to), pixel(x.from - 8),
                   tick.label);
  }
  for (const Tick &tick : xTicks) {
    std::string at = pixel(x.at(tick.value));
    out << formatv("<line class=\"axis\" x1=\"{0}\" y1=\"{1}\" x2=\"{0}\" "
                   "y2=\"{2}\"/>\n"
                   "<text class=\"middle\" x=\"{0}\" y=\"{3}\">{4}</text>\n",
                   at, pixel(y.from), pixel(y.from + 5), pixel(y.from + 19),
                   tick.label);
  }
  out << formatv("<path class=\"axis\" d=\"M{0} {1}V{2}H{3}\"/>\n",
                 pixel(x.from), pixel(y.to), pixel(y.from), pixel(x.to));
  out << formatv("<text class=\"middle\" x=\"{0}\" y=\"{1}\">{2}</text>\n",
                 pixel((x.from + x.to) / 2), pixel(y.from + 40), xLabel);
  double left = x.from - 68, middle = (y.from + y.to) / 2;
  out << formatv("<text class=\"middle\" x=\"{0}\" y=\"{1}\" "
                 "transform=\"rotate(-90 {0} {1})\">{2}</text>\n",
                 pixel(left), pixel(middle), yLabel);
}

StringRef honec::chartStyle() {
  return "svg{width:100%;height:auto;font:12px sans-serif}"
         "svg text{fill:currentColor}.left{text-anchor:end}"
         ".middle{text-anchor:middle}"
         ".axis{stroke:currentColor;fill:none}"
         ".grid{stroke:currentColor;stroke-opacity:.15}"
         ".mark{stroke:currentColor;stroke-dasharray:2 3}"
         ".arena{stroke:currentColor;stroke-width:1.5;stroke-dasharray:7 4}"
         ".budget{stroke:#d62728;stroke-width:1.5}"
         ".curve{stroke:#4e79a7;stroke-width:2;fill:none}"
         ".dot{fill:#4e79a7}.chosen{fill:#f28e2b;stroke:currentColor}"
         ".peak{fill:currentColor}"
         ".hit{fill:currentColor;fill-opacity:0}"
         ".hit:hover{fill-opacity:.2}";
}
