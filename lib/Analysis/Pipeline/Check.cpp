//===- Check.cpp - Whether a schedule is right ----------------------------===//

#include "hone/Analysis/Pipeline/Check.h"

#include "Lifetimes.h"
#include "Replay.h"

#include "hone/Analysis/Pipeline/Text.h"

#include "llvm/ADT/Twine.h"

#include <array>
#include <cassert>

using namespace hone::pipeline;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

StringRef hone::pipeline::ruleName(Rule rule) {
  static constexpr std::array<llvm::StringLiteral, 9> names = {
      "shape",   "overlap",    "once",   "data order", "micro-batch order",
      "channel", "FIFO order", "window", "deadlock"};
  return names[size_t(rule)];
}

using Found = std::optional<Violation>;

namespace {
class Checker {
public:
  Checker(const Schedule &schedule, ArrayRef<ChunkWindows> windows)
      : schedule(schedule), shape(schedule.shape), windows(windows) {}

  Found check();

private:
  Violation violation(Rule rule, int rank, int position,
                      const Twine &message) const;
  Violation missing(const Action &action, const Twine &alternative = "") const;
  const Action &at(int rank, int position) const {
    return schedule.ranks[rank][position];
  }
  /// Asks `check(rank, position, action)` of every action.
  template <typename Check> Found forEach(Check check) const;

  Found checkShape() const;
  Found checkOverlaps() const;
  Found checkDuplicates() const;
  Found checkMissing() const;
  Found checkMissing(int chunk, int micro) const;
  Found checkOrder() const;
  Found checkAfter(int rank, int position, const Action &needed) const;
  Found checkMicro() const;
  Found checkChannels() const;
  Found checkFifo() const;
  Found checkWindows() const;
  Found checkWindow(int chunk, WindowClass window) const;
  Found checkDeadlock() const;
  std::string blockedAt(const Replay &replay, int rank, int &next) const;

  const Schedule &schedule;
  const Shape &shape;
  ArrayRef<ChunkWindows> windows;
  std::optional<Positions> positions; // once the shape is right
};
} // namespace

Found Checker::check() {
  if (Found found = checkShape())
    return found;
  if (Found found = checkOverlaps())
    return found;
  positions.emplace(schedule);
  for (auto rule :
       {&Checker::checkDuplicates, &Checker::checkMissing, &Checker::checkOrder,
        &Checker::checkMicro, &Checker::checkChannels, &Checker::checkFifo,
        &Checker::checkWindows, &Checker::checkDeadlock})
    if (Found found = (this->*rule)())
      return found;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

Violation Checker::violation(Rule rule, int rank, int position,
                             const Twine &message) const {
  ArrayRef<Action> list = schedule.ranks[rank];
  std::string action =
      position < int(list.size()) ? formatAction(list[position]) : "end";
  return {rule, rank, position,
          ("rank " + Twine(rank) + ", position " + Twine(position) + ", " +
           action + ": " + ruleName(rule) + ": " + message)
              .str()};
}

Violation Checker::missing(const Action &action,
                           const Twine &alternative) const {
  int rank = shape.rankOf(action.chunk);
  return violation(Rule::Once, rank, int(schedule.ranks[rank].size()),
                   "expected " + formatAction(action) + alternative +
                       " on this rank, found it nowhere");
}

template <typename Check> Found Checker::forEach(Check check) const {
  for (auto [rank, list] : llvm::enumerate(schedule.ranks))
    for (auto [position, action] : llvm::enumerate(list))
      if (Found found = check(int(rank), int(position), action))
        return found;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Each action on its rank, and once
//===----------------------------------------------------------------------===//

Found Checker::checkShape() const {
  assert(int(schedule.ranks.size()) == shape.ranks &&
         "a schedule has a list per rank");
  return forEach([&](int rank, int position, const Action &action) -> Found {
    auto wrong = [&](const Twine &message) {
      return violation(Rule::Shape, rank, position, message);
    };
    if (!shape.contains(action.chunk))
      return wrong("expected a chunk below " + Twine(shape.chunks()));
    if (action.micro < 0 || action.micro >= shape.microBatches)
      return wrong("expected a micro-batch below " + Twine(shape.microBatches));
    if (int holder = shape.rankOf(action.chunk); holder != rank)
      return wrong("expected chunk " + Twine(action.chunk) + " on rank " +
                   Twine(holder));
    if (!isTransfer(action.kind))
      return std::nullopt;
    int other = otherEnd(action).chunk;
    if (!shape.contains(other))
      return wrong("expected no transfer: there is no chunk " + Twine(other));
    if (shape.shareRank(action.chunk, other))
      return wrong("expected no transfer: chunk " + Twine(other) +
                   " is on this rank");
    return std::nullopt;
  });
}

/// Such actions read nothing of each other: what a forward action makes, the
/// backward one of the same chunk and micro-batch alone reads on this rank.
Found Checker::checkOverlaps() const {
  return forEach([&](int rank, int position, const Action &action) -> Found {
    if (!action.overlapsNext)
      return std::nullopt;
    auto wrong = [&](const Twine &found) {
      return violation(Rule::Overlap, rank, position,
                       "expected a backward action of another chunk or "
                       "micro-batch right behind a forward one, found " +
                           found);
    };
    if (action.kind != ActionKind::Forward)
      return wrong("it to overlap");
    if (position + 1 == int(schedule.ranks[rank].size()))
      return wrong("the end");
    const Action &next = at(rank, position + 1);
    bool isOther = next.chunk != action.chunk || next.micro != action.micro;
    if (computesInputGradient(next.kind) && isOther)
      return std::nullopt;
    return wrong(formatAction(next));
  });
}

Found Checker::checkDuplicates() const {
  return forEach([&](int rank, int position, const Action &action) -> Found {
    int first = positions->of(action);
    if (first != position)
      return violation(Rule::Once, rank, position,
                       "expected it once, found it at position " +
                           Twine(first) + " too");
    if (action.kind != ActionKind::BackwardInput &&
        action.kind != ActionKind::BackwardWeight)
      return std::nullopt;
    int whole = positions->of(ActionKind::Backward, action.chunk, action.micro);
    if (whole < 0)
      return std::nullopt;
    return violation(Rule::Once, rank, position,
                     "expected B, or I and W; found " +
                         formatAction(at(rank, whole)) + " at position " +
                         Twine(whole) + " too");
  });
}

Found Checker::checkMissing() const {
  for (int chunk = 0; chunk != shape.chunks(); ++chunk)
    for (int micro = 0; micro != shape.microBatches; ++micro)
      if (Found found = checkMissing(chunk, micro))
        return found;
  return std::nullopt;
}

Found Checker::checkMissing(int chunk, int micro) const {
  using K = ActionKind;
  auto has = [&](K kind) { return positions->of(kind, chunk, micro) >= 0; };
  if (!has(K::Forward))
    return missing({K::Forward, chunk, micro});
  if (!has(K::Backward) && has(K::BackwardInput) != has(K::BackwardWeight))
    return missing(
        {has(K::BackwardInput) ? K::BackwardWeight : K::BackwardInput, chunk,
         micro});
  if (!has(K::Backward) && !has(K::BackwardInput))
    return missing({K::Backward, chunk, micro}, " (or its two parts I and W)");
  for (K kind : {K::Forward, K::Backward})
    for (auto transfer : {receiveBefore(shape, {kind, chunk, micro}),
                          sendAfter(shape, {kind, chunk, micro})})
      if (transfer && positions->of(*transfer) < 0)
        return missing(*transfer);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Order on a rank
//===----------------------------------------------------------------------===//

/// `needed` is of the same rank.
Found Checker::checkAfter(int rank, int position, const Action &needed) const {
  int found = needed.kind == ActionKind::Backward
                  ? positions->ofInputGradient(needed.chunk, needed.micro)
                  : positions->of(needed);
  if (found < position)
    return std::nullopt;
  return violation(Rule::Order, rank, position,
                   "expected " + formatAction(at(rank, found)) +
                       " before it, found it at position " + Twine(found));
}

Found Checker::checkOrder() const {
  using K = ActionKind;
  return forEach([&](int rank, int position, const Action &action) -> Found {
    llvm::SmallVector<Action> needed;
    auto need = [&](K kind, int chunk) {
      needed.push_back({kind, chunk, action.micro});
    };
    if (std::optional<Action> receive = receiveBefore(shape, action))
      needed.push_back(*receive);
    switch (action.kind) {
    case K::Forward:
      if (shape.shareRank(action.chunk, action.chunk - 1))
        need(K::Forward, action.chunk - 1);
      break;
    case K::Backward:
    case K::BackwardInput:
      need(K::Forward, action.chunk);
      if (shape.shareRank(action.chunk, action.chunk + 1))
        need(K::Backward, action.chunk + 1); // or its BackwardInput
      break;
    case K::BackwardWeight:
      need(K::BackwardInput, action.chunk);
      break;
    case K::SendActivation:
      need(K::Forward, action.chunk);
      break;
    case K::SendGradient:
      need(K::Backward, action.chunk); // or its BackwardInput
      break;
    case K::RecvActivation:
    case K::RecvGradient:
      break;
    }
    for (const Action &each : needed)
      if (Found found = checkAfter(rank, position, each))
        return found;
    return std::nullopt;
  });
}

/// Sums of gradients are made in B and W, those of norms and biases in B and I:
/// each pair has one order.
Found Checker::checkMicro() const {
  enum Sequence { Inputs = actionKinds, Weights, Sequences };
  // The last micro-batch by chunk and sequence.
  std::vector<std::array<int, Sequences>> last(shape.chunks());
  for (auto &sequences : last)
    sequences.fill(-1);
  return forEach([&](int rank, int position, const Action &action) -> Found {
    llvm::SmallVector<int> sequences = {int(action.kind)};
    if (computesInputGradient(action.kind))
      sequences.push_back(Inputs);
    if (computesWeightGradient(action.kind))
      sequences.push_back(Weights);
    for (int sequence : sequences) {
      int &before = last[action.chunk][sequence];
      if (before > action.micro)
        return violation(Rule::Micro, rank, position,
                         "expected a micro-batch above " + Twine(before) +
                             ", which this chunk had before");
      before = action.micro;
    }
    return std::nullopt;
  });
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

static std::string describe(const Channel &channel) {
  return ("rank " + Twine(channel.source) + " to " +
          Twine(channel.destination) +
          (channel.payload == Payload::Activation ? ", activations"
                                                  : ", gradients"))
      .str();
}

Found Checker::checkChannels() const {
  return forEach([&](int rank, int position, const Action &action) -> Found {
    if (!isTransfer(action.kind))
      return std::nullopt;
    Channel expected = channelOf(shape, action);
    bool exists =
        action.channel >= 0 && action.channel < int(schedule.channels.size());
    if (exists && schedule.channels[action.channel] == expected)
      return std::nullopt;
    return violation(
        Rule::Channel, rank, position,
        "expected the channel from " + describe(expected) + "; found " +
            (exists
                 ? "that from " + describe(schedule.channels[action.channel])
                 : "none with the number " + std::to_string(action.channel)));
  });
}

Found Checker::checkFifo() const {
  std::vector<std::vector<Action>> sent(schedule.channels.size());
  for (ArrayRef<Action> list : schedule.ranks)
    for (const Action &action : list)
      if (isSend(action.kind))
        sent[action.channel].push_back(action);
  std::vector<size_t> received(schedule.channels.size());
  return forEach([&](int rank, int position, const Action &action) -> Found {
    if (!isTransfer(action.kind) || isSend(action.kind))
      return std::nullopt;
    size_t number = received[action.channel]++;
    Action expected = otherEnd(sent[action.channel][number]);
    if (action == expected)
      return std::nullopt;
    return violation(Rule::Fifo, rank, position,
                     "expected " + formatAction(expected) + ": message " +
                         Twine(number) + " of the channel from " +
                         describe(schedule.channels[action.channel]) + " is " +
                         formatAction(sent[action.channel][number]));
  });
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

Found Checker::checkWindows() const {
  if (windows.empty())
    return std::nullopt;
  assert(int(windows.size()) == shape.chunks() && "windows are by chunk");
  for (int chunk = 0; chunk != shape.chunks(); ++chunk)
    for (int window = 0; window != windowClasses; ++window)
      if (Found found = checkWindow(chunk, WindowClass(window)))
        return found;
  return std::nullopt;
}

Found Checker::checkWindow(int chunk, WindowClass window) const {
  int count = windows[chunk][window], rank = shape.rankOf(chunk);
  std::vector<Lifetime> lifetimes =
      lifetimesOf(shape, *positions, chunk, window);
  for (auto [micro, life] : llvm::enumerate(lifetimes)) {
    if (!life.exists())
      continue;
    std::string buffer = ("window '" + windowName(window) + "' of chunk " +
                          Twine(chunk) + " with " + Twine(count) + " buffers")
                             .str();
    if (count < 1)
      return violation(Rule::Window, rank, life.first,
                       "expected at least 1 buffer, found a " + buffer);
    if (int(micro) < count)
      continue;
    const Lifetime &before = lifetimes[micro - count];
    if (before.exists() && before.last > life.first)
      return violation(Rule::Window, rank, life.first,
                       "expected a free buffer in the " + buffer +
                           ", found micro-batch " + Twine(micro - count) +
                           " in it, which " +
                           formatAction(at(rank, before.last)) +
                           " at position " + Twine(before.last) + " reads");
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Deadlock
//===----------------------------------------------------------------------===//

/// What a blocked rank waits for, and the rank that must go on first.
std::string Checker::blockedAt(const Replay &replay, int rank,
                               int &next) const {
  int position = replay.positionOf(rank), awaited = replay.awaitedBy(rank);
  // The message that waits may be behind others of its queue.
  int head = replay.headOfQueue(rank, awaited);
  Action end = otherEnd(at(rank, head));
  next = shape.rankOf(end.chunk);
  std::string text =
      ("rank " + Twine(rank) + " waits at position " + Twine(position) + ", " +
       formatAction(at(rank, position)) + ", for " +
       formatAction(at(rank, awaited)))
          .str();
  if (head != awaited)
    text += " behind " + formatAction(at(rank, head));
  return text + ", which needs " + formatAction(end) + " of rank " +
         std::to_string(next) + " at position " +
         std::to_string(positions->of(end));
}

Found Checker::checkDeadlock() const {
  Replay replay(schedule, nullptr, windows);
  if (replay.ended())
    return std::nullopt;
  auto isBlocked = [&](int rank) {
    return replay.positionOf(rank) != int(schedule.ranks[rank].size());
  };
  int first = 0;
  while (!isBlocked(first))
    ++first;
  // Follow who waits for whom into the circle, and around it once.
  std::vector<bool> isNamed(shape.ranks);
  std::string chain;
  for (int rank = first; !isNamed[rank];) {
    isNamed[rank] = true;
    int next = rank;
    chain += (chain.empty() ? "" : "; ") + blockedAt(replay, rank, next);
    rank = next;
  }
  return violation(Rule::Deadlock, first, replay.positionOf(first), chain);
}

Found hone::pipeline::checkSchedule(const Schedule &schedule,
                                    ArrayRef<ChunkWindows> windows) {
  return Checker(schedule, windows).check();
}
