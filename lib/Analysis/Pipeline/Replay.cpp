//===- Replay.cpp - The lists of all ranks, run together ------------------===//

#include "Replay.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>
#include <cassert>
#include <numeric>

using namespace hone::pipeline;

Replay::Replay(const Schedule &schedule, const ScheduleSeconds *seconds,
               llvm::ArrayRef<ChunkWindows> windows)
    : Replay(schedule, seconds, windows,
             [](int, const Action &transfer) { return transfer.channel; }) {}

Replay::Replay(const Schedule &schedule, const ScheduleSeconds *seconds,
               llvm::ArrayRef<ChunkWindows> windows, QueueOf queueOf)
    : schedule(schedule), seconds(seconds), windows(windows), found(schedule) {
  makeQueues(queueOf);
  run();
}

void Replay::makeQueues(QueueOf queueOf) {
  states.resize(schedule.ranks.size());
  timeline.ranks.resize(schedule.ranks.size());
  for (auto [rank, list] : llvm::enumerate(schedule.ranks)) {
    RankState &state = states[rank];
    state.queue.assign(list.size(), -1);
    state.posted.resize(list.size());
    state.isDone.resize(list.size());
    timeline.ranks[rank].spans.resize(list.size());
    llvm::DenseMap<int, int> numbers; // by what queueOf calls them
    for (auto [position, action] : llvm::enumerate(list)) {
      if (!isTransfer(action.kind))
        continue;
      auto [entry, isNew] =
          numbers.try_emplace(queueOf(int(rank), action), int(queues.size()));
      if (isNew)
        queues.emplace_back();
      state.queue[position] = entry->second;
    }
  }
}

bool Replay::ended() const {
  for (auto [state, list] : llvm::zip(states, schedule.ranks))
    if (state.position != int(list.size()))
      return false;
  return llvm::all_of(queues, [](const Queue &queue) {
    return queue.head == queue.waiting.size();
  });
}

int Replay::headOfQueue(int rank, int position) const {
  const Queue &queue = queues[states[rank].queue[position]];
  return queue.waiting[queue.head].position;
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

// Times are those of a graph of dependences: the order in which ranks advance
// here does not matter.
void Replay::run() {
  ready.resize(states.size());
  std::iota(ready.begin(), ready.end(), 0);
  while (!ready.empty()) {
    int rank = ready.back();
    ready.pop_back();
    advance(rank);
  }
  for (const RankState &state : states)
    timeline.makespan = std::max(timeline.makespan, state.now);
}

void Replay::advance(int rank) {
  RankState &state = states[rank];
  llvm::ArrayRef<Action> list = schedule.ranks[rank];
  while (state.position != int(list.size())) {
    const Action &action = list[state.position];
    if (isTransfer(action.kind)) {
      post(rank, state.position++);
      continue;
    }
    size_t count = action.overlapsNext ? 2 : 1;
    if (!compute(rank, list.slice(size_t(state.position), count)))
      return;
    state.position += int(count);
  }
}

/// The send that must be done before `action` writes its output.
std::optional<Action> Replay::sendBefore(const Action &action) const {
  if (windows.empty())
    return std::nullopt;
  std::optional<Action> send = sendAfter(schedule.shape, action);
  if (!send)
    return std::nullopt;
  send->micro -= windows[action.chunk][action.kind == ActionKind::Forward
                                           ? WindowClass::ActivationOut
                                           : WindowClass::GradientOut];
  return send->micro >= 0 ? send : std::nullopt;
}

/// Runs compute actions at once if what they wait for is done.
bool Replay::compute(int rank, llvm::ArrayRef<Action> actions) {
  RankState &state = states[rank];
  RankTimeline &times = timeline.ranks[rank];
  double begin = state.now, made = state.now;
  llvm::SmallVector<std::optional<Action>, 4> awaited;
  for (const Action &action : actions)
    awaited.append({receiveBefore(schedule.shape, action), sendBefore(action)});
  for (const std::optional<Action> &transfer : awaited) {
    if (!transfer)
      continue;
    int position = found.of(*transfer);
    if (!state.isDone[position]) {
      state.awaited = position;
      return false;
    }
    if (times.spans[position].end <= begin)
      continue;
    begin = times.spans[position].end;
    Action send = isSend(transfer->kind) ? *transfer : otherEnd(*transfer);
    made = states[schedule.shape.rankOf(send.chunk)].posted[found.of(send)];
  }
  double taken = seconds ? seconds->of(actions) : 0;
  for (size_t index = 0; index != actions.size(); ++index)
    times.spans[size_t(state.position) + index] = {begin, begin + taken};
  times.busy += taken;
  times.exposed += begin - std::max(state.now, made);
  state.now = begin + taken;
  state.awaited = -1;
  return true;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

void Replay::post(int rank, int position) {
  states[rank].posted[position] = states[rank].now;
  int queue = states[rank].queue[position];
  queues[queue].waiting.push_back({rank, position});
  // Each message frees two queues.
  llvm::SmallVector<int> open = {queue};
  while (!open.empty()) {
    int next = open.back();
    std::optional<int> other = deliver(next);
    if (other)
      open.push_back(*other);
    else
      open.pop_back();
  }
}

/// Delivers the message at the head of a queue if it is at the head of both;
/// gives the queue of the other end.
std::optional<int> Replay::deliver(int number) {
  Queue &queue = queues[number];
  if (queue.head == queue.waiting.size())
    return std::nullopt;
  Place here = queue.waiting[queue.head];
  const Action &transfer = schedule.ranks[here.rank][here.position];
  Action end = otherEnd(transfer);
  Place there = {schedule.shape.rankOf(end.chunk), found.of(end)};
  int otherNumber = states[there.rank].queue[there.position];
  Queue &other = queues[otherNumber];
  if (other.head == other.waiting.size() ||
      other.waiting[other.head].rank != there.rank ||
      other.waiting[other.head].position != there.position)
    return std::nullopt;
  double begin = std::max({states[here.rank].posted[here.position],
                           states[there.rank].posted[there.position],
                           queue.free, other.free});
  double taken = seconds ? seconds->messages[transfer.channel] : 0;
  queue.free = other.free = begin + taken;
  ++queue.head;
  ++other.head;
  for (Place place : {here, there}) {
    RankState &state = states[place.rank];
    timeline.ranks[place.rank].spans[place.position] = {begin, begin + taken};
    state.isDone[place.position] = true;
    if (state.awaited == place.position)
      ready.push_back(place.rank);
  }
  return otherNumber;
}
