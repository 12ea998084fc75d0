//===- ChunkBudget.cpp - One budget for the chunks of a stage -------------===//

#include "ChunkBudget.h"

using namespace mlir;
using namespace hone;

ChunkBudget::ChunkBudget(Chains chains, int64_t others,
                         CheckpointSearch &bounds)
    : chains(chains), others(others), bounds(bounds) {
  for (const std::unique_ptr<StepChain> &chain : chains) {
    chain->setOthers(others);
    choices.push_back({std::nullopt, chain->getKept()});
  }
}

int64_t ChunkBudget::total() const {
  int64_t windows = 0, temporaries = others;
  for (const Choice &choice : choices) {
    windows += choice.bytes.windows;
    temporaries = std::max(temporaries, choice.bytes.temporaries);
  }
  return windows + temporaries;
}

void ChunkBudget::take(size_t chunk,
                       const std::optional<MeasuredSchedule> &found) {
  if (found)
    choices[chunk] = {found->schedule, found->bytes};
  else
    choices[chunk] = {std::nullopt, chains[chunk]->getKept()};
}

LogicalResult ChunkBudget::set(size_t chunk, const ChainSchedule &schedule) {
  int64_t bytes = chains[chunk]->measureFully(schedule);
  if (bytes < 0)
    return failure();
  choices[chunk] = {schedule, chains[chunk]->getLatest()};
  return success();
}

FailureOr<bool> ChunkBudget::fit(int64_t limit) {
  if (total() <= limit)
    return true;
  for (size_t chunk = 0; chunk != chains.size(); ++chunk) {
    ScheduleSearch search(*chains[chunk], /*limit=*/0, bounds);
    auto smallest = search.findSmallest();
    if (failed(smallest))
      return failure();
    take(chunk, *smallest);
  }
  if (total() > limit)
    return false;
  // Twice: the first chunk gets what the last one leaves.
  for (int round = 0; round != 2; ++round)
    for (size_t chunk = 0; chunk != chains.size(); ++chunk)
      if (failed(widen(chunk, limit)))
        return failure();
  return true;
}

/// Gives `chunk` its share of what no chunk takes of `limit` bytes.
LogicalResult ChunkBudget::widen(size_t chunk, int64_t limit) {
  Choice &own = choices[chunk];
  if (!own.schedule)
    return success(); // keeps everything
  int64_t share = (limit - total()) / int64_t(chains.size() - chunk);
  int64_t beside = others;
  for (const Choice &other : choices)
    if (&other != &own)
      beside = std::max(beside, other.bytes.temporaries);
  StepChain &chain = *chains[chunk];
  chain.setOthers(beside);
  int64_t most =
      own.bytes.windows + std::max(own.bytes.temporaries, beside) + share;
  if (chain.keptBytes() <= most) {
    take(chunk, std::nullopt);
    return success();
  }
  ScheduleSearch search(chain, most, bounds);
  auto found = search.run();
  if (failed(found))
    return failure();
  if (*found && (*found)->schedule.seconds < own.schedule->seconds)
    take(chunk, *found);
  return success();
}
