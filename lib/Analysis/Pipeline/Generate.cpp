//===- Generate.cpp - The schedules that a user can name ------------------===//

#include "hone/Analysis/Pipeline/Generate.h"

#include "hone/Support/NearestName.h"
#include "hone/Support/ParseFile.h"

#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <array>
#include <cassert>

using namespace hone;
using namespace hone::pipeline;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// What `interleaved=` may say: more chunks than layers of any model are a
/// typo.
static constexpr int maxChunksPerRank = 1024;

bool hone::pipeline::mayOverlap(ScheduleKind kind) {
  return kind == ScheduleKind::OneForwardOneBackward ||
         kind == ScheduleKind::Interleaved ||
         kind == ScheduleKind::ZeroBubbleH1;
}

static constexpr llvm::StringLiteral overlapSuffix = "+overlap";

llvm::Expected<ScheduleChoice>
hone::pipeline::parseScheduleChoice(StringRef text) {
  StringRef base = text;
  if (base.consume_back(overlapSuffix)) {
    llvm::Expected<ScheduleChoice> choice = parseScheduleChoice(base);
    if (!choice)
      return choice.takeError();
    if (choice->overlaps || !mayOverlap(choice->kind))
      return makeError("'" + text +
                       "': no two of its actions can run together, expected "
                       "1f1b+overlap, interleaved=2+overlap (or more chunks "
                       "per rank) or zb-h1+overlap");
    choice->overlaps = true;
    return choice;
  }
  auto [name, chunks] = text.split('=');
  if (name == "interleaved" && text != name) {
    ScheduleChoice choice = {ScheduleKind::Interleaved};
    if (chunks.getAsInteger(10, choice.chunksPerRank) ||
        choice.chunksPerRank < 1 || choice.chunksPerRank > maxChunksPerRank)
      return makeError("'" + text + "': '" + chunks +
                       "' chunks per rank, expected a number from 1 to " +
                       llvm::Twine(maxChunksPerRank));
    return choice;
  }
  std::optional<ScheduleChoice> choice =
      llvm::StringSwitch<std::optional<ScheduleChoice>>(text)
          .Case("gpipe", ScheduleChoice{ScheduleKind::GPipe})
          .Case("1f1b", ScheduleChoice{ScheduleKind::OneForwardOneBackward})
          .Case("zb-h1", ScheduleChoice{ScheduleKind::ZeroBubbleH1})
          .Case("zb-v", ScheduleChoice{ScheduleKind::ZeroBubbleV, 2})
          .Default(std::nullopt);
  if (choice)
    return *choice;
  return makeError(
      "'" + text + "': expected gpipe, 1f1b, interleaved=2 (or more chunks " +
      "per rank), zb-h1 or zb-v" +
      suggestName(text, {"gpipe", "1f1b", "interleaved=2", "zb-h1", "zb-v"}));
}

std::string hone::pipeline::formatScheduleChoice(ScheduleChoice choice) {
  if (choice.overlaps) {
    choice.overlaps = false;
    return formatScheduleChoice(choice) + overlapSuffix.str();
  }
  switch (choice.kind) {
  case ScheduleKind::GPipe:
    return "gpipe";
  case ScheduleKind::OneForwardOneBackward:
    return "1f1b";
  case ScheduleKind::Interleaved:
    return "interleaved=" + std::to_string(choice.chunksPerRank);
  case ScheduleKind::ZeroBubbleH1:
    return "zb-h1";
  case ScheduleKind::ZeroBubbleV:
    return "zb-v";
  }
  llvm_unreachable("all kinds are listed");
}

//===----------------------------------------------------------------------===//
// One rank
//===----------------------------------------------------------------------===//

namespace {
/// Writes the list of a rank. Micro-batches of a chunk and kind come in
/// ascending order by construction.
class RankWriter {
public:
  RankWriter(const Shape &shape, int rank)
      : shape(shape), rank(rank), next(shape.chunksPerRank) {}

  /// The next micro-batch of the rank's chunk number `index`. Micro-batches
  /// that the step does not have are counted and left out: a rank may follow
  /// the order of a longer step.
  void add(ActionKind kind, int index = 0) {
    int micro = next[index][size_t(kind)]++;
    if (micro < shape.microBatches)
      actions.push_back({kind, shape.chunkOf(rank, index), micro});
  }
  /// Lets the latest action run together with the one that follows.
  void overlapNext() { actions.back().overlapsNext = true; }
  int count(ActionKind kind, int index = 0) const {
    return next[index][size_t(kind)];
  }
  std::vector<Action> take() { return std::move(actions); }

private:
  const Shape &shape;
  int rank;
  std::vector<std::array<int, actionKinds>> next; // by chunk and kind
  std::vector<Action> actions;
};
} // namespace

static void writeGPipe(const Shape &shape, RankWriter &list) {
  for (int micro = 0; micro != shape.microBatches; ++micro)
    list.add(ActionKind::Forward);
  // Not reversed: gradients are added in one order in every schedule.
  for (int micro = 0; micro != shape.microBatches; ++micro)
    list.add(ActionKind::Backward);
}

/// Interleaved 1F1B; with one chunk per rank 1F1B itself. Micro-batches go
/// through the chunks in groups of `ranks`. The first group also has the
/// remainder: as a short last group it would let ranks wait for each other in a
/// circle. With `overlaps` a rank is one action more ahead, and with one chunk
/// twice as many: a value then takes a pair of actions from rank to rank, on
/// its way forward and back.
static void writeInterleaved(const Shape &shape, int rank, bool overlaps,
                             RankWriter &list) {
  int p = shape.ranks, v = shape.chunksPerRank, m = shape.microBatches;
  int first = m < p ? m : p + m % p;
  std::vector<int> order; // chunks of successive forward actions
  for (int micro = 0; micro != m;) {
    int size = micro == 0 ? first : p;
    for (int index = 0; index != v; ++index)
      order.insert(order.end(), size, index);
    micro += size;
  }
  int total = m * v;
  int ahead = 2 * (p - rank - 1) + (v - 1) * first + overlaps;
  // 1F1B sends its first micro-batch straight to the last rank and back.
  if (v == 1 && !overlaps)
    ahead = p - rank - 1;
  ahead = std::min(total, ahead);
  for (int step = 0; step != total + ahead; ++step) {
    if (step < total)
      list.add(ActionKind::Forward, order[step]);
    if (overlaps && step >= ahead && step < total)
      list.overlapNext();
    // Backward takes the same groups, chunks in reverse.
    if (step >= ahead)
      list.add(ActionKind::Backward, v - 1 - order[step - ahead]);
  }
}

/// The same with one chunk per rank and gradients of weights of their own,
/// which are left for the end where no forward action is: other ranks wait for
/// the gradients of inputs.
static void writeOverlappedZeroBubble(const Shape &shape, int rank,
                                      RankWriter &list) {
  int m = shape.microBatches;
  int ahead = std::min(m, 2 * (shape.ranks - rank - 1) + 1);
  for (int micro = 0; micro != ahead; ++micro)
    list.add(ActionKind::Forward);
  for (int micro = ahead; micro != m; ++micro) {
    list.add(ActionKind::Forward);
    list.overlapNext();
    list.add(ActionKind::BackwardInput);
    list.add(ActionKind::BackwardWeight);
  }
  while (list.count(ActionKind::BackwardInput) < m)
    list.add(ActionKind::BackwardInput);
  while (list.count(ActionKind::BackwardWeight) < m)
    list.add(ActionKind::BackwardWeight);
}

/// 1F1B whose weight gradients lag behind by as many micro-batches as the rank
/// has before it: together with the forward passes ahead, p are in flight.
static void writeZeroBubbleH1(const Shape &shape, int rank, RankWriter &list) {
  int m = shape.microBatches;
  int ahead = std::min(m, shape.ranks - rank - 1);
  for (int micro = 0; micro != ahead; ++micro)
    list.add(ActionKind::Forward);
  for (int micro = 0; micro != m; ++micro) {
    list.add(ActionKind::Forward);
    list.add(ActionKind::BackwardInput);
    if (micro >= rank)
      list.add(ActionKind::BackwardWeight);
  }
  while (list.count(ActionKind::BackwardWeight) < m)
    list.add(ActionKind::BackwardWeight);
}

/// The V schedule of Qi et al. (2024), made for equal times of forward, input
/// and weight gradient. A step of fewer than 2p-1 micro-batches follows the
/// order of one with 2p-1.
static void writeZeroBubbleV(const Shape &shape, int rank, RankWriter &list) {
  using K = ActionKind;
  int p = shape.ranks, m = std::max(shape.microBatches, 2 * p - 1);
  constexpr int down = 0, up = 1; // the two arms of the V
  auto repeat = [&](int times, std::initializer_list<std::pair<K, int>> body) {
    for (int round = 0; round < times; ++round)
      for (auto [kind, index] : body)
        list.add(kind, index);
  };
  // Fill: the first micro-batch returns from the last rank after 2(p - rank).
  repeat(2 * (p - rank) - 1, {{K::Forward, down}});
  repeat(rank, {{K::Forward, up}, {K::Forward, down}});
  repeat(p - rank,
         {{K::Forward, up}, {K::BackwardInput, up}, {K::BackwardWeight, up}});
  // Steady: one forward and backward of each arm.
  while (list.count(K::Forward, up) < m) {
    if (list.count(K::Forward, down) < m)
      list.add(K::Forward, down);
    repeat(1, {{K::BackwardInput, down},
               {K::BackwardWeight, down},
               {K::Forward, up},
               {K::BackwardInput, up},
               {K::BackwardWeight, up}});
  }
  // Drain: input gradients first, other ranks wait for them.
  repeat(rank, {{K::BackwardInput, down}, {K::BackwardInput, up}});
  repeat(p - rank, {{K::BackwardInput, down}, {K::BackwardWeight, down}});
  repeat(m - list.count(K::BackwardWeight, up), {{K::BackwardWeight, up}});
  repeat(m - list.count(K::BackwardWeight, down), {{K::BackwardWeight, down}});
}

//===----------------------------------------------------------------------===//
// All ranks
//===----------------------------------------------------------------------===//

Schedule hone::pipeline::generateSchedule(ScheduleChoice choice, int ranks,
                                          int microBatches) {
  assert(ranks >= 1 && microBatches >= 1);
  bool isV = choice.kind == ScheduleKind::ZeroBubbleV;
  Schedule schedule;
  schedule.name = formatScheduleChoice(choice);
  schedule.shape = {ranks, choice.chunksPerRank, microBatches,
                    isV ? Placement::V : Placement::Loop};
  assert(choice.kind == ScheduleKind::Interleaved ||
         choice.chunksPerRank == (isV ? 2 : 1));
  assert(!choice.overlaps || mayOverlap(choice.kind));
  for (int rank = 0; rank != ranks; ++rank) {
    RankWriter list(schedule.shape, rank);
    switch (choice.kind) {
    case ScheduleKind::GPipe:
      writeGPipe(schedule.shape, list);
      break;
    case ScheduleKind::OneForwardOneBackward:
    case ScheduleKind::Interleaved:
      writeInterleaved(schedule.shape, rank, choice.overlaps, list);
      break;
    case ScheduleKind::ZeroBubbleH1:
      (choice.overlaps ? writeOverlappedZeroBubble
                       : writeZeroBubbleH1)(schedule.shape, rank, list);
      break;
    case ScheduleKind::ZeroBubbleV:
      writeZeroBubbleV(schedule.shape, rank, list);
      break;
    }
    schedule.ranks.push_back(list.take());
  }
  return schedule;
}
