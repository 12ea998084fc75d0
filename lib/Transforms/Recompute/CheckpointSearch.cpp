//===- CheckpointSearch.cpp - Bounds of the search for checkpoints --------===//

#include "Checkpoints.h"

#include "hone/IR/SearchBound.h"

using namespace mlir;
using namespace hone;

void CheckpointSearch::add(const StageStops &stops) {
  ++kinds;
  metSearched += stops.metSearched;
  metSteps += stops.metSteps;
  metCutSteps += stops.metCutSteps;
}

void CheckpointSearch::explain(Location loc) const {
  auto say = [&]() { return emitRemark(loc) << searchStopped; };
  auto sayOfKinds = [&](int count, int64_t bound, StringRef what,
                        StringRef option, StringRef then) {
    if (count != 0)
      say() << count << " of " << kinds << " kinds of stages have more than "
            << bound << ' ' << what << " (" << option
            << " of hone-plan-checkpoints): " << then;
  };
  sayOfKinds(metSearched, stage.searched, "kernels that may run again",
             "stage-units", "the search decides the largest");
  sayOfKinds(metSteps, stage.steps, "choices to try", "stage-steps",
             "the others are not tried");
  sayOfKinds(metCutSteps, stage.cutSteps, "steps of minimum cuts", "cut-steps",
             "some cuts are missing, or not the cheapest");
  if (merge.longerPeriod != 0)
    say() << "layers of " << merge.longerPeriod
          << " cuts repeat, and patterns of at most " << maxPeriod
          << " become stages";
  if (merge.periodsPerStage > 1)
    say() << "stages are " << merge.periodsPerStage
          << " layers each: a chain has at most " << maxStages << " stages";
  if (merge.joined > 1)
    say() << merge.joined
          << " neighbouring stages are joined into one: a chain has at most "
          << maxStages << " stages";
  if (metTrials)
    say() << maxTrials
          << " schedules were measured (max-trials of hone-plan-checkpoints): "
             "a faster one may fit the budget";
  if (isRounded)
    say() << "schedules are searched in rounded units of memory: a table of "
             "exact ones has too many entries";
}
