//===- StageMoves.cpp - Saved values in a second arena --------------------===//

#include "hone/Analysis/Recompute/StageMoves.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <utility>

using namespace hone;
using llvm::ArrayRef;
using llvm::SmallVector;

/// Plain options of which withMoves makes others, at most: time to thin grows
/// with the square of their number. Which of them a chain would miss says
/// little of those with values away, so as many stay as time allows; kinds of
/// stages of Llama in fp8 have up to 740.
constexpr int maxPlain = 1024;

static double beyond(double copies, double visit) {
  return std::max(0.0, copies - visit);
}

StageOption hone::withAway(const StageGraph &graph, StageOption option,
                           ArrayRef<int> values, const HostLink &link) {
  int64_t bytes = 0;
  double down = 0, up = 0;
  for (int value : values) {
    bytes += graph.values[value].bytes;
    down += secondsDown(link, graph.values[value].bytes);
    up += secondsUp(link, graph.values[value].bytes);
  }
  ChainOption &cost = option.cost;
  cost.saved -= bytes;
  cost.lastSaved -= bytes;
  cost.forwardPeak += bytes;
  cost.backwardPeak += bytes;
  cost.forward += beyond(down, cost.forward);
  cost.lastForward += beyond(down, cost.lastForward);
  cost.backward += beyond(up, cost.backward);
  option.away.assign(values.begin(), values.end());
  llvm::sort(option.away);
  return option;
}

/// Of `values`, the first whose copies end within the seconds of both visits,
/// without those for which there is no time.
static SmallVector<int> hideable(const StageGraph &graph, ArrayRef<int> values,
                                 const HostLink &link,
                                 const ChainOption &cost) {
  SmallVector<int> hidden;
  double down = 0, up = 0;
  for (int value : values) {
    double ownDown = secondsDown(link, graph.values[value].bytes);
    double ownUp = secondsUp(link, graph.values[value].bytes);
    if (down + ownDown > cost.forward || up + ownUp > cost.backward)
      continue;
    hidden.push_back(value);
    down += ownDown;
    up += ownUp;
  }
  return hidden;
}

SmallVector<StageOption>
hone::withMoves(const StageGraph &graph, ArrayRef<StageOption> options,
                const HostLink &link, llvm::function_ref<bool(int)> mayMove) {
  SmallVector<StageOption> all(options.begin(), options.end());
  for (const StageOption &option : options) {
    SmallVector<int> values;
    llvm::copy_if(option.saved, std::back_inserter(values), mayMove);
    llvm::sort(values, [&](int a, int b) {
      int64_t first = graph.values[a].bytes, second = graph.values[b].bytes;
      return first != second ? first > second : a < b;
    });
    SmallVector<int> hidden = hideable(graph, values, link, option.cost);
    if (!hidden.empty())
      all.push_back(withAway(graph, option, hidden, link));
    if (values.size() > hidden.size())
      all.push_back(withAway(graph, option, values, link));
  }
  return all;
}

static int64_t bytesAway(const StageGraph &graph, const StageOption &option) {
  int64_t bytes = 0;
  for (int value : option.away)
    bytes += graph.values[value].bytes;
  return bytes;
}

static double secondsOf(const StageOption &option) {
  return option.cost.forward + option.cost.backward;
}

SmallVector<StageOption> hone::planStageWithMoves(
    const StageGraph &graph, const StageLimits &limits, const HostLink &link,
    llvm::function_ref<bool(int)> mayMove, StageStops *stops) {
  if (limits.kept < 1)
    return {};
  StageLimits wider = limits;
  wider.kept = std::max(maxPlain, limits.kept);
  SmallVector<StageOption> front = planStage(graph, wider, stops);
  SmallVector<StageOption> all = withMoves(graph, front, link, mayMove);
  ArrayRef<StageOption> moved = ArrayRef(all).drop_front(front.size());
  SmallVector<StageOption> options = thinOptions(front, limits.kept);
  if (moved.empty())
    return options;
  SmallVector<StageOption> best = thinOptions(moved, limits.kept);
  auto isLessAway = [&](const StageOption &a, const StageOption &b) {
    return std::pair(bytesAway(graph, a), -secondsOf(a)) <
           std::pair(bytesAway(graph, b), -secondsOf(b));
  };
  const StageOption &most =
      *std::max_element(moved.begin(), moved.end(), isLessAway);
  if (llvm::all_of(best, [&](const StageOption &option) {
        return isLessAway(option, most);
      }))
    best.push_back(most);
  llvm::append_range(options, best);
  return options;
}
