//===- Timeline.cpp - How long a schedule takes ---------------------------===//

#include "hone/Analysis/Pipeline/Timeline.h"

#include "Replay.h"

#include "llvm/Support/ErrorHandling.h"

#include <cassert>

using namespace hone::pipeline;

ChunkSeconds ChunkSeconds::of(double forward, double backwardInput,
                              double backwardWeight) {
  return {forward, backwardInput, backwardWeight,
          backwardInput + backwardWeight};
}

double ChunkSeconds::operator[](ActionKind kind) const {
  switch (kind) {
  case ActionKind::Forward:
    return forward;
  case ActionKind::Backward:
    return backward;
  case ActionKind::BackwardInput:
    return backwardInput;
  case ActionKind::BackwardWeight:
    return backwardWeight;
  default:
    llvm_unreachable("transfers take the seconds of their channel");
  }
}

double ScheduleSeconds::of(llvm::ArrayRef<Action> actions) const {
  if (actions.size() == 2) {
    auto known = overlaps.find({actions[0].chunk, actions[1].chunk});
    if (known != overlaps.end())
      return known->second;
  }
  double sum = 0;
  for (const Action &action : actions)
    sum += chunks[action.chunk][action.kind];
  return sum;
}

ScheduleSeconds hone::pipeline::equalSeconds(const Schedule &schedule,
                                             const ChunkSeconds &ofRank,
                                             double message) {
  double share = 1.0 / schedule.shape.chunksPerRank;
  ScheduleSeconds seconds;
  seconds.chunks.assign(schedule.shape.chunks(),
                        {ofRank.forward * share, ofRank.backwardInput * share,
                         ofRank.backwardWeight * share,
                         ofRank.backward * share});
  seconds.messages.assign(schedule.channels.size(), message);
  return seconds;
}

double Timeline::bubble() const {
  if (makespan == 0)
    return 0;
  double busy = 0;
  for (const RankTimeline &rank : ranks)
    busy += rank.busy;
  return 1 - busy / (makespan * double(ranks.size()));
}

Timeline hone::pipeline::runSchedule(const Schedule &schedule,
                                     const ScheduleSeconds &seconds,
                                     llvm::ArrayRef<ChunkWindows> windows) {
  assert(int(seconds.chunks.size()) == schedule.shape.chunks() &&
         seconds.messages.size() == schedule.channels.size());
  Replay replay(schedule, &seconds, windows);
  assert(replay.ended() && "the schedule does not pass checkSchedule");
  return replay.take();
}
