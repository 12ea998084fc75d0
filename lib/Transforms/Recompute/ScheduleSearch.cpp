//===- ScheduleSearch.cpp - The fastest schedule that fits ----------------===//

#include "ScheduleSearch.h"

#include "hone/Plan/Plan.h"

using namespace mlir;
using namespace hone;

/// A table may take about half a second; its work is counted, not timed.
static ChainLimits tableLimits() {
  ChainLimits limits;
  limits.work /= 2;
  return limits;
}

/// The chain with stages that are saved whole, or not at all.
static Chain withoutOptions(Chain chain) {
  for (ChainStage &stage : chain.stages)
    stage.options.truncate(1);
  return chain;
}

static bool isFaster(const ChainSchedule &schedule,
                     const std::optional<MeasuredSchedule> &than) {
  return !than || schedule.seconds < than->schedule.seconds;
}

/// Bytes of the chain for one of the arena.
static double scaleOf(const StepChain &chain) {
  if (!chain.isOfStage())
    return 1;
  int64_t kept =
      chain.bytesAtTurn() != 0 ? chain.getKept().windows : chain.keptBytes();
  return double(keepAll(chain.get()).bytes - chain.bytesAtTurn()) /
         double(std::max<int64_t>(kept, 1));
}

ScheduleSearch::ScheduleSearch(StepChain &chain, int64_t limit,
                               CheckpointSearch &bounds)
    : chain(chain), limit(limit), bounds(bounds), scale(scaleOf(chain)),
      outside(int64_t(double(chain.keptBytes()) * scale) -
              keepAll(chain.get()).bytes),
      table(chain.get(), keepAll(chain.get()).bytes, tableLimits()) {}

/// The fastest of `schedules` that fits; else the least memory is searched for.
ScheduleSearch::Found
ScheduleSearch::fallBack(ArrayRef<ChainSchedule> schedules) {
  std::optional<MeasuredSchedule> best, smallest;
  for (const ChainSchedule &schedule : schedules) {
    int64_t bytes = chain.measure(schedule, limit);
    if (bytes < 0)
      return failure();
    if (bytes <= limit && isFaster(schedule, best))
      best = latest(schedule, bytes);
    if (!smallest || bytes < smallest->total)
      smallest = latest(schedule, bytes);
  }
  least = chain.keptBytes();
  if (best || !smallest)
    return best;
  int64_t bytes = chain.measureFully(smallest->schedule);
  if (bytes < 0)
    return failure();
  least = std::min(least, bytes);
  if (bytes > limit)
    return best;
  return std::optional(latest(smallest->schedule, bytes));
}

/// The model is off by what packing loses: asks for less until it fits, then
/// for as much as still does.
ScheduleSearch::Found ScheduleSearch::searchTable(const ChainPlanner &planner) {
  std::optional<MeasuredSchedule> best;
  int64_t asked = inChain(limit);
  int64_t fits = -1, exceeds = std::numeric_limits<int64_t>::max();
  for (int trial = 0;; ++trial) {
    if (trial == bounds.maxTrials) {
      bounds.metTrials = true;
      break;
    }
    std::optional<ChainSchedule> schedule = planner.schedule(asked);
    if (!schedule)
      break;
    int64_t bytes = chain.measure(*schedule, limit);
    if (bytes < 0)
      return failure();
    auto slack = int64_t(double(limit - bytes) * scale);
    if (bytes <= limit) {
      if (isFaster(*schedule, best))
        best = latest(*schedule, bytes);
      fits = asked;
      asked += std::max<int64_t>(slack, plan::alignment);
    } else {
      exceeds = std::min(asked, schedule->bytes);
      asked = std::min(asked, schedule->bytes) + std::min<int64_t>(slack, -1);
    }
    if (fits >= 0 && (asked <= fits || asked >= exceeds)) {
      asked = fits + (exceeds - fits) / 2;
      if (asked <= fits || exceeds - fits < limit / 256)
        break;
    }
  }
  return best;
}

/// Schedules of least memory by the model; the arena of one may be smaller than
/// the model says of another.
static void addSmallest(const ChainPlanner &planner,
                        SmallVectorImpl<ChainSchedule> &schedules) {
  constexpr int tried = 6;
  auto curve = planner.curve();
  for (ChainPoint point : llvm::ArrayRef(curve).take_front(tried))
    if (std::optional<ChainSchedule> schedule = planner.schedule(point.bytes))
      schedules.push_back(*schedule);
}

/// What a backward visit makes again lies between what it reads; stages that
/// are run again whole pack more tightly.
ChainPlanner ScheduleSearch::makeWholeTable() const {
  return ChainPlanner(withoutOptions(chain.get()), keepAll(chain.get()).bytes,
                      tableLimits());
}

SmallVector<ChainSchedule>
ScheduleSearch::smallSchedules(const ChainPlanner &whole) const {
  SmallVector<ChainSchedule> schedules = {recomputeAll(chain.get()),
                                          squareRoot(chain.get())};
  addSmallest(table, schedules);
  addSmallest(whole, schedules);
  return schedules;
}

ScheduleSearch::Found ScheduleSearch::run() {
  Found found = searchTable(table);
  if (failed(found))
    return failure();
  ChainPlanner whole = makeWholeTable();
  std::optional<ChainSchedule> promised = whole.schedule(inChain(limit));
  if (!*found || (promised && isFaster(*promised, *found))) {
    Found other = searchTable(whole);
    if (failed(other))
      return failure();
    if (*other && isFaster((*other)->schedule, *found))
      found = other;
  }
  if (*found)
    return found;
  return fallBack(smallSchedules(whole));
}

ScheduleSearch::Found ScheduleSearch::findSmallest() {
  std::optional<MeasuredSchedule> smallest;
  for (const ChainSchedule &schedule : smallSchedules(makeWholeTable())) {
    int64_t bytes = chain.measure(schedule, /*limit=*/0);
    if (bytes < 0)
      return failure();
    if (!smallest || bytes < smallest->total)
      smallest = latest(schedule, bytes);
  }
  if (!smallest)
    return smallest;
  int64_t bytes = chain.measureFully(smallest->schedule);
  if (bytes < 0)
    return failure();
  if (bytes >= chain.keptBytes())
    return std::optional<MeasuredSchedule>();
  return std::optional(latest(smallest->schedule, bytes));
}
