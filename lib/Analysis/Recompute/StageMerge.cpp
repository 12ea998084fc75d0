//===- StageMerge.cpp - Which cuts of a chain to keep ---------------------===//

#include "hone/Analysis/Recompute/StageMerge.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <map>

using namespace hone;
using llvm::ArrayRef;
using llvm::SmallVector;

using Words = SmallVector<int64_t>;

static void append(Words &words, ArrayRef<int> numbers) {
  words.push_back(numbers.size());
  words.append(numbers.begin(), numbers.end());
}

static void append(Words &words, const StageUnit &unit) {
  words.append({llvm::bit_cast<int64_t>(unit.seconds),
                llvm::bit_cast<int64_t>(unit.recomputeSeconds)});
  append(words, unit.reads);
  append(words, unit.makes);
  words.push_back(unit.inPlace.size());
  for (auto [read, made] : unit.inPlace)
    words.append({read, made});
  words.append({unit.scratch, unit.canRedo, unit.launch});
}

/// Everything that planning a stage depends on.
static Words wordsOf(const StageGraph &graph) {
  Words words;
  words.push_back(graph.values.size());
  for (const StageValue &value : graph.values)
    words.append({value.bytes, int64_t(value.kind)});
  words.push_back(graph.forward.size());
  for (const StageUnit &unit : graph.forward)
    append(words, unit);
  for (const StageUnit &unit : graph.backward)
    append(words, unit);
  return words;
}

SmallVector<int> hone::findKinds(ArrayRef<StageGraph> graphs) {
  std::map<Words, int> known;
  SmallVector<int> kinds;
  for (const StageGraph &graph : graphs)
    kinds.push_back(
        known.try_emplace(wordsOf(graph), int(known.size())).first->second);
  return kinds;
}

namespace {
/// Stages `first` to `first + length - 1` repeat after `period`.
struct Run {
  int first = 0, length = 0, period = 1;
};
} // namespace

/// Of patterns of `shortest` to `longest` stages.
static Run longestRun(ArrayRef<int> kinds, int shortest, int longest) {
  Run best;
  int count = kinds.size();
  for (int period = shortest; period <= std::min(longest, count / 2);
       ++period) {
    int first = 0;
    for (int end = period; end <= count; ++end) {
      if (end < count && kinds[end] == kinds[end - period])
        continue;
      int length = end - first;
      if (length >= 2 * period && length > best.length)
        best = {first, length, period};
      first = end - period + 1;
    }
  }
  return best;
}

SmallVector<int> hone::chooseCuts(ArrayRef<StageGraph> graphs,
                                  MergeStops *stops) {
  int count = graphs.size();
  SmallVector<int> kinds = findKinds(graphs);
  Run run = longestRun(kinds, 1, maxPeriod);
  int others = count - run.length, step = run.period;
  while (others + llvm::divideCeil(run.length, step) > maxStages &&
         step < run.length)
    step += run.period;
  if (stops) {
    // Looked at to be said, not taken.
    Run longer = longestRun(kinds, maxPeriod + 1, 8 * maxPeriod);
    stops->longerPeriod = longer.length > run.length ? longer.period : 0;
    stops->periodsPerStage = step / run.period;
  }
  SmallVector<int> cuts;
  for (int stage = 0; stage != count; ++stage) {
    // Counted from the end of the run, where a layer ends.
    int place = run.first + run.length - 1 - stage;
    bool isInside = place >= 0 && place < run.length;
    if (!isInside || place % step == 0)
      cuts.push_back(stage);
  }
  // Too many that do not repeat: some in one, also counted from the end.
  size_t joined = std::max<size_t>(llvm::divideCeil(cuts.size(), maxStages), 1);
  SmallVector<int> kept;
  for (auto [index, cut] : llvm::enumerate(cuts))
    if ((cuts.size() - 1 - index) % joined == 0)
      kept.push_back(cut);
  if (stops)
    stops->joined = int(joined);
  return kept;
}
