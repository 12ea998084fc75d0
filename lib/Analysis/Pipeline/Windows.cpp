//===- Windows.cpp - Buffers that live from action to action --------------===//

#include "hone/Analysis/Pipeline/Windows.h"

#include "Lifetimes.h"
#include "Replay.h"

#include <algorithm>

using namespace hone::pipeline;
using llvm::StringRef;

StringRef hone::pipeline::windowName(WindowClass window) {
  static constexpr std::array<llvm::StringLiteral, windowClasses> names = {
      "saved",          "grads",       "activation in",
      "activation out", "gradient in", "gradient out"};
  return names[size_t(window)];
}

/// The chunk that reads an out-window; it may not exist.
static int readerOf(int chunk, WindowClass window) {
  return window == WindowClass::ActivationOut ? chunk + 1 : chunk - 1;
}

bool hone::pipeline::waitsForSend(const Shape &shape, int chunk,
                                  WindowClass window) {
  if (window != WindowClass::ActivationOut &&
      window != WindowClass::GradientOut)
    return false;
  int reader = readerOf(chunk, window);
  return shape.contains(reader) && !shape.shareRank(chunk, reader);
}

//===----------------------------------------------------------------------===//
// Lifetimes
//===----------------------------------------------------------------------===//

static Lifetime lifetimeOf(const Shape &shape, const Positions &positions,
                           int chunk, int micro, WindowClass window) {
  auto of = [&](ActionKind kind) { return positions.of(kind, chunk, micro); };
  switch (window) {
  case WindowClass::Saved:
    return {of(ActionKind::Forward), positions.ofWeightGradient(chunk, micro)};
  case WindowClass::Grads:
    return {of(ActionKind::BackwardInput), of(ActionKind::BackwardWeight)};
  case WindowClass::ActivationIn:
    return {of(ActionKind::RecvActivation), of(ActionKind::Forward)};
  case WindowClass::GradientIn:
    return {of(ActionKind::RecvGradient),
            positions.ofInputGradient(chunk, micro)};
  case WindowClass::ActivationOut:
    return {of(ActionKind::Forward),
            waitsForSend(shape, chunk, window)
                ? of(ActionKind::SendActivation)
                : positions.of(ActionKind::Forward, chunk + 1, micro)};
  case WindowClass::GradientOut:
    return {positions.ofInputGradient(chunk, micro),
            waitsForSend(shape, chunk, window)
                ? of(ActionKind::SendGradient)
                : positions.ofInputGradient(chunk - 1, micro)};
  }
  llvm_unreachable("all classes are listed");
}

std::vector<Lifetime> hone::pipeline::lifetimesOf(const Shape &shape,
                                                  const Positions &positions,
                                                  int chunk,
                                                  WindowClass window) {
  bool isOut = window == WindowClass::ActivationOut ||
               window == WindowClass::GradientOut;
  if (isOut && !shape.contains(readerOf(chunk, window)))
    return {};
  std::vector<Lifetime> lifetimes;
  for (int micro = 0; micro != shape.microBatches; ++micro)
    lifetimes.push_back(lifetimeOf(shape, positions, chunk, micro, window));
  if (llvm::none_of(lifetimes, [](Lifetime life) { return life.exists(); }))
    return {};
  return lifetimes;
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

/// The longest run of micro-batches from the oldest in memory to one that is
/// written. They are written and freed in ascending order.
static int
longestRun(llvm::ArrayRef<Lifetime> lifetimes,
           llvm::function_ref<bool(Lifetime earlier, Lifetime later)> isFreed) {
  int longest = 0;
  size_t oldest = 0;
  for (auto [micro, life] : llvm::enumerate(lifetimes)) {
    if (!life.exists())
      continue;
    while (oldest != micro &&
           (!lifetimes[oldest].exists() || isFreed(lifetimes[oldest], life)))
      ++oldest;
    longest = std::max(longest, int(micro - oldest) + 1);
  }
  return longest;
}

std::vector<ChunkWindows>
hone::pipeline::countWindows(const Schedule &schedule) {
  const Shape &shape = schedule.shape;
  ScheduleSeconds units;
  units.chunks.assign(shape.chunks(), ChunkSeconds::of(1, 1, 1));
  units.messages.assign(schedule.channels.size(), 0);
  Replay replay(schedule, &units, {});
  std::vector<ChunkWindows> windows(shape.chunks());
  for (int chunk = 0; chunk != shape.chunks(); ++chunk) {
    llvm::ArrayRef<Span> spans = replay.get().ranks[shape.rankOf(chunk)].spans;
    for (int number = 0; number != windowClasses; ++number) {
      auto window = WindowClass(number);
      bool waits = waitsForSend(shape, chunk, window);
      windows[chunk][window] = longestRun(
          lifetimesOf(shape, replay.positions(), chunk, window),
          [&](Lifetime earlier, Lifetime later) {
            return waits ? spans[earlier.last].end < spans[later.first].begin
                         : earlier.last < later.first;
          });
    }
  }
  return windows;
}

std::vector<KeptWindows> hone::pipeline::countKept(const Schedule &schedule) {
  std::vector<KeptWindows> most(schedule.shape.chunks()), now = most;
  for (llvm::ArrayRef<Action> actions : schedule.ranks)
    for (const Action &action : actions) {
      KeptWindows &kept = now[action.chunk];
      if (action.kind == ActionKind::Forward)
        most[action.chunk].saved =
            std::max(most[action.chunk].saved, ++kept.saved);
      if (action.kind == ActionKind::BackwardInput)
        most[action.chunk].grads =
            std::max(most[action.chunk].grads, ++kept.grads);
      if (computesWeightGradient(action.kind))
        --kept.saved;
      if (action.kind == ActionKind::BackwardWeight)
        --kept.grads;
    }
  return most;
}

double hone::pipeline::peakActivations(const Schedule &schedule, int rank) {
  int saved = 0, most = 0;
  for (const Action &action : schedule.ranks[rank]) {
    if (action.kind == ActionKind::Forward)
      most = std::max(most, ++saved);
    if (computesWeightGradient(action.kind))
      --saved;
  }
  return double(most) / schedule.shape.chunksPerRank;
}
