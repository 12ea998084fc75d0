//===- ChainPlanner.cpp - Schedules for every budget ----------------------===//

#include "ChainTable.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <map>
#include <numeric>

using namespace hone;

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// The table counts a value as held for longer than a schedule may need it, and
/// rounds, so that schedules for more memory than there is may still fit. This
/// many that do not are tried before giving up.
static constexpr int patience = 8;
static constexpr int mostTries = 64;

//===----------------------------------------------------------------------===//
// From the table to visits
//===----------------------------------------------------------------------===//

namespace {
class ScheduleReader {
public:
  ScheduleReader(const Chain &chain, const ChainTable &table,
                 ChainSchedule &schedule)
      : chain(chain), table(table), schedule(schedule) {}

  void read(ChainPiece piece, int64_t slots) {
    if (piece.isEmpty())
      return;
    ChainStep step = table.best(piece, slots);
    forward(piece.first, step.stage);
    if (step.option >= 0) {
      forward(step.stage, step.stage + 1);
      schedule.option[step.stage] = step.option;
    }
    if (step.arrives)
      backward(piece.last + 1);
    ChainPiece right = step.right.piece;
    read(right, slots - step.right.less);
    if (right.released &&
        !chain.stages[right.first].options[right.released - 1].needsInput)
      backward(right.first);
    if (step.goesBack)
      backward(step.stage);
    read(step.left.piece, slots - step.left.less);
  }

private:
  void forward(int first, int end) {
    for (int stage = first; stage != end; ++stage)
      schedule.visits.push_back({true, stage});
  }
  void backward(int stage) { schedule.visits.push_back({false, stage}); }

  const Chain &chain;
  const ChainTable &table;
  ChainSchedule &schedule;
};
} // namespace

static ChainSchedule readSchedule(const Chain &chain, const ChainTable &table,
                                  int64_t slots) {
  ChainSchedule schedule;
  schedule.option.assign(chain.stages.size(), 0);
  ScheduleReader(chain, table, schedule).read(table.whole(), slots);
  std::string problem;
  std::optional<ChainRun> run = simulate(chain, schedule, problem);
  assert(run && "the table holds only sound schedules");
  schedule.seconds = run->seconds;
  schedule.bytes = run->peakBytes;
  return schedule;
}

/// Slots, from `slots` on, from which schedules get faster; the first is the
/// least with the speed of `slots`.
static llvm::SmallVector<int64_t> findBreaks(const ChainRow &row,
                                             int64_t slots) {
  llvm::SmallVector<int64_t> breaks;
  if (row.seconds.empty())
    return breaks;
  // Less than a tick; sums in another order differ by less.
  auto isFaster = [](double a, double b) { return a < b * (1 - 1e-14); };
  slots = std::clamp(slots, row.first, row.last());
  double seconds = row.at(slots);
  while (slots > row.first && !isFaster(seconds, row.at(slots - 1)))
    --slots;
  breaks.push_back(slots);
  while (++slots <= row.last()) {
    if (!isFaster(row.at(slots), seconds))
      continue;
    seconds = row.at(slots);
    breaks.push_back(slots);
  }
  return breaks;
}

//===----------------------------------------------------------------------===//
// The unit of memory
//===----------------------------------------------------------------------===//

/// The largest unit that divides all sizes.
static int64_t findUnit(const Chain &chain) {
  int64_t unit = chain.inputGradientBytes;
  auto add = [&](int64_t bytes) { unit = std::gcd(unit, bytes); };
  for (const ChainStage &stage : chain.stages) {
    for (int64_t bytes : {stage.forwardPeak, stage.outputBytes,
                          stage.gradientBytes, stage.bornBytes})
      add(bytes);
    for (const ChainOption &option : stage.options)
      for (int64_t bytes : {option.saved, option.lastSaved, option.forwardPeak,
                            option.backwardPeak})
        add(bytes);
  }
  return std::max<int64_t>(unit, 1);
}

/// The size that most outputs have.
static int64_t findCommonOutput(const Chain &chain) {
  std::map<int64_t, int> counts;
  for (const ChainStage &stage : chain.stages)
    ++counts[stage.outputBytes];
  return llvm::max_element(counts, llvm::less_second())->first;
}

/// Bytes that suffice to save everything in the fastest way, as the table
/// counts, without a_{-1}.
static int64_t findAmple(const Chain &chain) {
  int64_t born = 0, peak = 0, held = 0;
  for (const ChainStage &stage : chain.stages)
    born += stage.bornBytes;
  int64_t before = chain.inputGradientBytes;
  for (const ChainStage &stage : chain.stages) {
    const ChainOption *fastest = stage.options.begin();
    for (const ChainOption &option : stage.options)
      if (option.forward + option.backward <
          fastest->forward + fastest->backward)
        fastest = &option;
    int64_t backward =
        before + stage.gradientBytes + fastest->backwardPeak + born;
    peak = std::max(peak, held + fastest->saved +
                              std::max(fastest->forwardPeak, backward));
    held += fastest->saved;
    born -= stage.bornBytes;
    before = stage.gradientBytes;
  }
  return peak;
}

//===----------------------------------------------------------------------===//
// ChainPlanner
//===----------------------------------------------------------------------===//

/// The most steps that the bounds allow with that many slots.
static ChainSteps chooseSteps(const Chain &chain, const ChainLimits &limits,
                              int64_t slots) {
  ChainSteps steps{limits.lazy, limits.lazy};
  auto fits = [&] {
    ChainTable::Size size = ChainTable::measure(chain, limits, steps);
    return size.sums <= limits.work / slots &&
           size.rows <= limits.tableBytes / int64_t(sizeof(double)) / slots;
  };
  if (steps.release)
    steps.release = fits();
  if (steps.lazy)
    steps.lazy = steps.release || fits();
  return steps;
}

ChainPlanner::ChainPlanner(Chain given, int64_t maxBytes, ChainLimits limits)
    : chain(std::move(given)), limits(limits) {
  int64_t bytes = std::max<int64_t>(maxBytes - chain.inputBytes, 0);
  // Somewhat more, as schedules often need less than the table counts.
  bytes = std::min(bytes + bytes / 4, findAmple(chain));
  int64_t unit = findUnit(chain);
  slots = bytes / unit;
  optimal = slots <= limits.exactSlots;
  if (!optimal)
    slots = limits.slots;
  ChainSteps steps = chooseSteps(chain, limits, slots + 1);
  ChainTable::Size size = ChainTable::measure(chain, limits, steps);
  int64_t affordable = limits.tableBytes / int64_t(sizeof(double)) / size.rows;
  optimal &= slots < affordable;
  if (!optimal) {
    slots = std::max<int64_t>(std::min(limits.slots, affordable), 16);
    unit = std::max<int64_t>(llvm::divideCeil(bytes, slots), 1);
    // Outputs are what is kept most often: whole units, if that is not much
    // more work.
    if (int64_t output = findCommonOutput(chain); output > 0) {
      int64_t units = std::max<int64_t>((output + unit / 2) / unit, 1);
      int64_t whole = llvm::divideCeil(output, units);
      if (bytes / whole <= std::min(affordable, 5 * limits.work / size.sums))
        unit = whole;
    }
    // What rounding up takes away.
    slots = bytes / unit + int64_t(chain.stages.size()) + 1;
  }
  table = std::make_unique<ChainTable>(chain, limits, steps, unit, slots,
                                       ChainTable::Up);
}

ChainPlanner::~ChainPlanner() = default;

int64_t ChainPlanner::peakAt(int64_t slots) const {
  auto [found, isNew] = peaks.try_emplace(slots, 0);
  if (isNew)
    found->second = readSchedule(chain, *table, slots).bytes;
  return found->second;
}

std::optional<ChainSchedule> ChainPlanner::schedule(int64_t bytes) const {
  std::optional<int64_t> fastest;
  int failures = 0, tries = 0;
  for (int64_t at : findBreaks(table->row(table->whole()), slotsIn(bytes))) {
    if (peakAt(at) <= bytes) {
      failures = 0;
      fastest = at;
    } else if (++failures == patience) {
      break;
    }
    if (++tries == mostTries)
      break;
  }
  if (!fastest)
    return std::nullopt;
  return readSchedule(chain, *table, *fastest);
}

std::optional<int64_t> ChainPlanner::smallest() const {
  std::optional<int64_t> least;
  auto breaks = findBreaks(table->row(table->whole()), 0);
  for (int64_t at : llvm::ArrayRef(breaks).take_front(patience))
    least = std::min(peakAt(at), least.value_or(peakAt(at)));
  return least;
}

llvm::SmallVector<ChainPoint, 0> ChainPlanner::curve() const {
  llvm::SmallVector<ChainPoint, 0> points;
  const ChainRow &row = table->row(table->whole());
  for (int64_t at : findBreaks(row, 0)) {
    // Visits cost a tick in the table, which is no time.
    double seconds = row.at(at);
    if (points.empty() || seconds < points.back().seconds * (1 - 1e-9))
      points.push_back({chain.inputBytes + at * table->unitBytes(), seconds});
  }
  return points;
}

double ChainPlanner::lowerBound(int64_t bytes) const {
  const ChainTable *rounded = table.get();
  if (!optimal) {
    if (!below)
      below = std::make_unique<ChainTable>(chain, limits, table->steps,
                                           table->unitBytes(), slots,
                                           ChainTable::Down);
    rounded = below.get();
  }
  int64_t least = slotsIn(bytes);
  return least < 0 ? infinity
                   : rounded->row(rounded->whole()).at(least) * (1 - 1e-9);
}

bool ChainPlanner::isOptimal() const { return optimal; }

int64_t ChainPlanner::slotsIn(int64_t bytes) const {
  int64_t left = bytes - chain.inputBytes;
  return left < 0 ? -1 : left / table->unitBytes();
}
