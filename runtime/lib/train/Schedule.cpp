//===- Schedule.cpp - Learning rates by step ------------------------------===//

#include "train/Schedule.h"
#include "train/options/Options.h"

#include <algorithm>
#include <cmath>

using namespace honert;

std::vector<std::string> honert::scheduleNames() {
  return {"constant", "linear", "cosine", "wsd"};
}

const char *honert::name(ScheduleKind kind) {
  static const std::vector<std::string> names = scheduleNames();
  return names[static_cast<size_t>(kind)].c_str();
}

int64_t honert::decaySteps(const Options &options) {
  if (options.decaySteps > 0)
    return options.decaySteps;
  return std::clamp<int64_t>(
      options.steps / 5, 0,
      std::max<int64_t>(0, options.steps - options.warmup));
}

/// The share of the way down to the minimum that is left after `progress`.
static double shareLeft(ScheduleKind kind, double progress) {
  switch (kind) {
  case ScheduleKind::constant:
    return 1;
  case ScheduleKind::linear:
    return 1 - progress;
  case ScheduleKind::cosine:
    return 0.5 * (1 + std::cos(M_PI * progress));
  case ScheduleKind::wsd:
    return 1 - std::sqrt(progress);
  }
  return 1;
}

double honert::learningRateAt(const Options &options, int64_t step) {
  if (step <= options.warmup)
    return options.learningRate * static_cast<double>(step) /
           static_cast<double>(options.warmup);
  int64_t first = options.schedule == ScheduleKind::wsd
                      ? options.steps - decaySteps(options)
                      : options.warmup;
  if (options.schedule == ScheduleKind::constant || step <= first)
    return options.learningRate;
  double progress = static_cast<double>(step - first) /
                    static_cast<double>(options.steps - first);
  double left = shareLeft(options.schedule, std::min(progress, 1.0));
  return options.minLearningRate +
         left * (options.learningRate - options.minLearningRate);
}
