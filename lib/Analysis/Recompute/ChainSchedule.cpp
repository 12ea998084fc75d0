//===- ChainSchedule.cpp - What a schedule costs, classic schedules -------===//

#include "hone/Analysis/Recompute/ChainSchedule.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace hone;

namespace {
/// Who reads what each visit makes, found without looking at costs.
struct Readers {
  struct Of {
    int lastReader = -1;  ///< visit, of the output; none: -1
    int savedUntil = -1;  ///< backward visit that uses what this one saves
    int readsOutput = -1; ///< visit whose output this one reads
    int readsSaved = -1;  ///< forward visit that saved for this one
  };
  std::vector<Of> visits;

  /// Returns what is wrong, or nothing.
  std::string find(const Chain &chain, const ChainSchedule &schedule);
};
} // namespace

static std::string nameOf(const ChainSchedule &schedule, int visit) {
  ChainVisit at = schedule.visits[visit];
  return "visit " + std::to_string(visit + 1) + (at.isForward ? " (f" : " (b") +
         std::to_string(at.stage) + ")";
}

static std::string checkRanges(const Chain &chain,
                               const ChainSchedule &schedule) {
  int stages = chain.stages.size();
  if (int(schedule.option.size()) != stages)
    return "there are " + std::to_string(schedule.option.size()) +
           " options for " + std::to_string(stages) + " stages";
  for (auto [stage, option] : llvm::enumerate(schedule.option))
    if (option < 0 || option >= int(chain.stages[stage].options.size()))
      return "stage " + std::to_string(stage) + " has no option " +
             std::to_string(option);
  for (auto [index, visit] : llvm::enumerate(schedule.visits))
    if (visit.stage < 0 || visit.stage >= stages)
      return nameOf(schedule, index) + " is of no stage";
  return "";
}

std::string Readers::find(const Chain &chain, const ChainSchedule &schedule) {
  if (std::string problem = checkRanges(chain, schedule); !problem.empty())
    return problem;
  visits.resize(schedule.visits.size());
  std::vector<int> latest(chain.stages.size(), -1); // forward visit, by stage
  int next = int(chain.stages.size()) - 1;          // stage to go backward
  for (auto [index, visit] : llvm::enumerate(schedule.visits)) {
    int stage = visit.stage;
    bool readsInput = stage > 0;
    if (!visit.isForward) {
      if (next < 0)
        return nameOf(schedule, index) + " follows the last backward visit";
      if (stage != next)
        return nameOf(schedule, index) + " is not the backward visit that is " +
               "due, b" + std::to_string(next);
      --next;
      if (latest[stage] < 0)
        return nameOf(schedule, index) + " has no forward visit before it";
      visits[index].readsSaved = latest[stage];
      visits[latest[stage]].savedUntil = index;
      readsInput &=
          chain.stages[stage].options[schedule.option[stage]].needsInput;
    }
    if (readsInput) {
      if (latest[stage - 1] < 0)
        return nameOf(schedule, index) + " has no f" +
               std::to_string(stage - 1) + " before it";
      visits[index].readsOutput = latest[stage - 1];
      visits[latest[stage - 1]].lastReader = index;
    }
    if (visit.isForward)
      latest[stage] = index;
  }
  if (next >= 0)
    return "b" + std::to_string(next) + " is missing";
  for (auto [index, visit] : llvm::enumerate(visits))
    if (schedule.visits[index].isForward && visit.lastReader < 0 &&
        visit.savedUntil < 0)
      return nameOf(schedule, index) + " makes nothing that is read";
  return "";
}

std::optional<ChainRun> hone::simulate(const Chain &chain,
                                       const ChainSchedule &schedule,
                                       std::string &problem) {
  Readers readers;
  problem = readers.find(chain, schedule);
  if (!problem.empty())
    return std::nullopt;
  auto optionOf = [&](int stage) -> const ChainOption & {
    return chain.stages[stage].options[schedule.option[stage]];
  };
  ChainRun run{0, chain.inputBytes};
  int64_t live = chain.inputBytes;
  for (auto [index, visit] : llvm::enumerate(schedule.visits)) {
    const ChainStage &stage = chain.stages[visit.stage];
    const ChainOption &option = optionOf(visit.stage);
    const Readers::Of &of = readers.visits[index];
    if (visit.isForward) {
      bool saves = of.savedUntil >= 0, isRead = of.lastReader >= 0;
      live += !saves   ? stage.outputBytes
              : isRead ? option.saved
                       : option.lastSaved;
      run.seconds += !saves   ? stage.forward
                     : isRead ? option.forward
                              : option.lastForward;
      run.peakBytes =
          std::max(run.peakBytes,
                   live + (saves ? option.forwardPeak : stage.forwardPeak));
    } else {
      bool isTurn = visit.stage + 1 == int(chain.stages.size());
      live += isTurn ? stage.gradientBytes : 0;
      live += visit.stage == 0 ? chain.inputGradientBytes
                               : chain.stages[visit.stage - 1].gradientBytes;
      live += stage.bornBytes;
      run.seconds += option.backward;
      run.peakBytes = std::max(run.peakBytes, live + option.backwardPeak);
      live -= stage.gradientBytes + option.lastSaved;
    }
    if (of.readsOutput < 0)
      continue;
    const Readers::Of &read = readers.visits[of.readsOutput];
    if (read.lastReader != int(index))
      continue;
    int maker = schedule.visits[of.readsOutput].stage;
    live -= read.savedUntil < 0
                ? chain.stages[maker].outputBytes
                : optionOf(maker).saved - optionOf(maker).lastSaved;
  }
  return run;
}

//===----------------------------------------------------------------------===//
// Classic schedules
//===----------------------------------------------------------------------===//

/// Visits every stage, then all but the last `segment` again, `segment` stages
/// at a time from the end.
static ChainSchedule recomputeSegments(const Chain &chain, int segment) {
  ChainSchedule schedule;
  int stages = chain.stages.size();
  schedule.option.assign(stages, 0);
  auto forward = [&](int first, int end) {
    for (int stage = first; stage != end; ++stage)
      schedule.visits.push_back({true, stage});
  };
  forward(0, stages);
  for (int end = stages; end > 0;) {
    int first = (end - 1) / segment * segment;
    if (end != stages)
      forward(first, end);
    while (end > first)
      schedule.visits.push_back({false, --end});
  }
  std::string problem;
  std::optional<ChainRun> run = simulate(chain, schedule, problem);
  assert(run && "classic schedules are sound");
  schedule.seconds = run->seconds;
  schedule.bytes = run->peakBytes;
  return schedule;
}

ChainSchedule hone::keepAll(const Chain &chain) {
  return recomputeSegments(chain, chain.stages.size());
}

ChainSchedule hone::recomputeAll(const Chain &chain) {
  return recomputeSegments(chain, 1);
}

ChainSchedule hone::squareRoot(const Chain &chain) {
  return recomputeSegments(chain, std::ceil(std::sqrt(chain.stages.size())));
}
