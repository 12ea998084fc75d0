//===- TimedRun.cpp - When the launches of a run ran on a GPU -------------===//

#include "exec/cuda/TimedRun.h"

#include <cmath>

using namespace honert;

Status TimedRun::create(const Device &onDevice, const Function &ofFunction,
                        bool inGraph) {
  device = &onDevice;
  function = &ofFunction;
  isGraph = inGraph;
  HONERT_TRY(whole.create(onDevice, inGraph));
  launches.resize(ofFunction.launches.size());
  for (EventPair &events : launches)
    HONERT_TRY(events.create(onDevice, inGraph));
  return done.create(onDevice, /*timed=*/false);
}

Status TimedRun::begin() {
  Status status = whole.begin(device->stream());
  refused = isGraph && !status.ok();
  return status;
}

Status TimedRun::read(std::chrono::steady_clock::time_point start,
                      FunctionTimes &times) const {
  HONERT_TRY(done.record());
  HONERT_TRY(
      done.wait(format("function '%s' with times", function->name.c_str())));
  auto momentsOf = [&](const EventPair &events, auto &begin, auto &end) {
    double first = 0, last = 0;
    HONERT_TRY(events.read(whole, first, last));
    begin = start + std::chrono::nanoseconds(std::llround(first * 1e9));
    end = start + std::chrono::nanoseconds(std::llround(last * 1e9));
    return Status();
  };
  times.function = function;
  times.isGraph = isGraph;
  HONERT_TRY(momentsOf(whole, times.begin, times.end));
  for (size_t i = 0; i != launches.size(); ++i) {
    LaunchTime time = {&function->launches[i], {}, {}};
    HONERT_TRY(momentsOf(launches[i], time.begin, time.end));
    times.launches.push_back(time);
  }
  return Status();
}

Status ReplayTimes::collectStep(std::vector<double> &seconds) {
  std::vector<EventPair> oldest = std::move(ended.front());
  ended.pop_front();
  if (oldest.empty())
    return Status();
  double sum = 0;
  for (const EventPair &events : oldest) {
    double begin = 0, end = 0;
    HONERT_TRY(events.read(events, begin, end));
    sum += end - begin;
  }
  seconds.push_back(sum);
  return Status();
}

Status StepClock::start(const Device &onDevice) {
  device = &onDevice;
  for (EventPair &step : steps)
    HONERT_TRY(step.create(onDevice, /*inGraph=*/false));
  return Status();
}

Status StepClock::run() {
  if (std::exchange(hasBegun, true))
    return Status();
  Step &step = steps[ended % 3];
  step.overlaps = ended != collected;
  return step.begin(device->stream());
}

Status StepClock::endStep() {
  HONERT_TRY(run()); // where nothing was
  hasBegun = false;
  return steps[ended++ % 3].end(device->stream());
}

Status StepClock::collectStep(double &seconds) {
  const Step &step = steps[collected % 3];
  const Step &before = steps[(collected + 2) % 3];
  ++collected;
  return step.overlaps ? step.readSince(before, seconds)
                       : step.readOwn(seconds);
}
