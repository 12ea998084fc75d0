//===- Schedule.cpp - What each rank of a pipeline runs, in order ---------===//

#include "hone/Analysis/Pipeline/Schedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <cassert>

using namespace hone::pipeline;

//===----------------------------------------------------------------------===//
// Where chunks are
//===----------------------------------------------------------------------===//

int Shape::rankOf(int chunk) const {
  assert(contains(chunk));
  bool returns = placement == Placement::V && chunk / ranks % 2 != 0;
  return returns ? ranks - 1 - chunk % ranks : chunk % ranks;
}

int Shape::chunkOf(int rank, int index) const {
  assert(rank >= 0 && rank < ranks && index >= 0 && index < chunksPerRank);
  bool returns = placement == Placement::V && index % 2 != 0;
  return index * ranks + (returns ? ranks - 1 - rank : rank);
}

bool Shape::shareRank(int chunk, int other) const {
  return contains(chunk) && contains(other) && rankOf(chunk) == rankOf(other);
}

//===----------------------------------------------------------------------===//
// Transfers of an action
//===----------------------------------------------------------------------===//

std::optional<Action> hone::pipeline::receiveBefore(const Shape &shape,
                                                    const Action &action) {
  auto receive = [&](ActionKind kind, int from) -> std::optional<Action> {
    if (!shape.contains(from) || shape.shareRank(from, action.chunk))
      return std::nullopt;
    return Action{kind, action.chunk, action.micro};
  };
  if (action.kind == ActionKind::Forward)
    return receive(ActionKind::RecvActivation, action.chunk - 1);
  if (computesInputGradient(action.kind))
    return receive(ActionKind::RecvGradient, action.chunk + 1);
  return std::nullopt;
}

std::optional<Action> hone::pipeline::sendAfter(const Shape &shape,
                                                const Action &action) {
  auto send = [&](ActionKind kind, int to) -> std::optional<Action> {
    if (!shape.contains(to) || shape.shareRank(to, action.chunk))
      return std::nullopt;
    return Action{kind, action.chunk, action.micro};
  };
  if (action.kind == ActionKind::Forward)
    return send(ActionKind::SendActivation, action.chunk + 1);
  if (computesInputGradient(action.kind))
    return send(ActionKind::SendGradient, action.chunk - 1);
  return std::nullopt;
}

Action hone::pipeline::otherEnd(const Action &transfer) {
  Action other = transfer;
  switch (transfer.kind) {
  case ActionKind::SendActivation:
    other.kind = ActionKind::RecvActivation;
    ++other.chunk;
    return other;
  case ActionKind::RecvActivation:
    other.kind = ActionKind::SendActivation;
    --other.chunk;
    return other;
  case ActionKind::SendGradient:
    other.kind = ActionKind::RecvGradient;
    --other.chunk;
    return other;
  case ActionKind::RecvGradient:
    other.kind = ActionKind::SendGradient;
    ++other.chunk;
    return other;
  default:
    llvm_unreachable("only transfers have another end");
  }
}

Channel hone::pipeline::channelOf(const Shape &shape, const Action &transfer) {
  Action other = otherEnd(transfer);
  bool sends = isSend(transfer.kind);
  bool isGradient = transfer.kind == ActionKind::SendGradient ||
                    transfer.kind == ActionKind::RecvGradient;
  return {shape.rankOf((sends ? transfer : other).chunk),
          shape.rankOf((sends ? other : transfer).chunk),
          isGradient ? Payload::Gradient : Payload::Activation};
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

bool Schedule::hasAny(ActionKind kind) const {
  return llvm::any_of(ranks, [&](llvm::ArrayRef<Action> list) {
    return llvm::any_of(
        list, [&](const Action &action) { return action.kind == kind; });
  });
}

bool Schedule::hasTransfers() const {
  return hasAny(ActionKind::SendActivation) ||
         hasAny(ActionKind::RecvActivation) ||
         hasAny(ActionKind::SendGradient) || hasAny(ActionKind::RecvGradient);
}

bool Schedule::hasOverlaps() const {
  return llvm::any_of(ranks, [](llvm::ArrayRef<Action> list) {
    return llvm::any_of(
        list, [](const Action &action) { return action.overlapsNext; });
  });
}

/// The channels of a shape in ascending order.
static std::vector<Channel> channelsOf(const Shape &shape) {
  std::vector<Channel> channels;
  for (int chunk = 0; chunk + 1 < shape.chunks(); ++chunk) {
    if (shape.shareRank(chunk, chunk + 1))
      continue;
    channels.push_back(
        channelOf(shape, {ActionKind::SendActivation, chunk, 0}));
    channels.push_back(
        channelOf(shape, {ActionKind::SendGradient, chunk + 1, 0}));
  }
  llvm::sort(channels);
  channels.erase(llvm::unique(channels), channels.end());
  return channels;
}

void hone::pipeline::numberChannels(Schedule &schedule) {
  const Shape &shape = schedule.shape;
  schedule.channels = channelsOf(shape);
  for (std::vector<Action> &list : schedule.ranks)
    for (Action &action : list) {
      if (!isTransfer(action.kind) || !shape.contains(otherEnd(action).chunk))
        continue;
      auto found =
          llvm::lower_bound(schedule.channels, channelOf(shape, action));
      action.channel = int(found - schedule.channels.begin());
    }
}

/// A rank's list with the transfers of its actions. Two that run together are
/// one here.
static std::vector<Action>
withTransfers(const Shape &shape, llvm::ArrayRef<Action> list, int ahead) {
  std::vector<llvm::ArrayRef<Action>> runs;
  for (size_t begin = 0, size = 1; begin != list.size(); begin += size) {
    size = list[begin].overlapsNext && begin + 1 != list.size() ? 2 : 1;
    runs.push_back(list.slice(begin, size));
  }
  std::vector<Action> result;
  result.reserve(3 * list.size());
  auto place = [&](const std::optional<Action> &transfer) {
    if (transfer)
      result.push_back(*transfer);
  };
  size_t received = 0; // receives of runs before it are placed
  for (auto [position, run] : llvm::enumerate(runs)) {
    for (; received < runs.size() && received <= position + ahead; ++received)
      for (const Action &action : runs[received])
        place(receiveBefore(shape, action));
    result.insert(result.end(), run.begin(), run.end());
    for (const Action &action : run)
      place(sendAfter(shape, action));
  }
  return result;
}

Schedule hone::pipeline::placeTransfers(Schedule schedule, int ahead) {
  assert(ahead >= 0 && !schedule.hasTransfers());
  for (std::vector<Action> &list : schedule.ranks)
    list = withTransfers(schedule.shape, list, ahead);
  numberChannels(schedule);
  return schedule;
}
