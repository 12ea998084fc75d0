//===- MemoryCurve.cpp - What other sizes of the arena would cost ---------===//

#include "MemoryCurve.h"

using namespace hone::report;

/// The point of the phase's curve that is nearest to the arena as it is.
static size_t findChosenPoint(const MemorySummary &memory) {
  auto distance = [&](const std::pair<double, double> &point) {
    return std::abs(point.first - double(memory.arena));
  };
  auto nearest = std::min_element(
      memory.curve.begin(), memory.curve.end(),
      [&](const auto &a, const auto &b) { return distance(a) < distance(b); });
  return nearest - memory.curve.begin();
}

MemoryCurve hone::report::readMemoryCurve(const Report &report) {
  const MemorySummary &memory = report.summary.memory;
  MemoryCurve curve;
  if (memory.curve.empty())
    return curve;
  curve.chosen = findChosenPoint(memory);
  double here = memory.curve[curve.chosen].second;
  double step = estimateStep(report.summary, report.machine);
  double work = estimateTimeline(report.summary, report.machine).work;
  double scale = here > 0 ? work / here : 1;
  for (auto [bytes, seconds] : memory.curve)
    curve.points.push_back({int64_t(bytes), step + (seconds - here) * scale});
  curve.points[curve.chosen] = {memory.arena, step};
  return curve;
}
