//===- Replay.h - The lists of all ranks, run together ----------*- C++ -*-===//
//
// Transfers are posted where a list has them and then wait in queues, first in,
// first out, while their rank goes on. A message begins when its send and its
// receive are both at the head of their queues (a rendezvous: nothing is
// buffered), and takes its seconds. A compute action waits for its receive,
// and for a free buffer of windows that it writes; two that run together wait
// for what both need.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_ANALYSIS_PIPELINE_REPLAY_H
#define HONE_LIB_ANALYSIS_PIPELINE_REPLAY_H

#include "Positions.h"

#include "hone/Analysis/Pipeline/Timeline.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace hone::pipeline {

class Replay {
public:
  /// A queue of `rank` that a transfer of its list waits in. The queues of a
  /// right runtime are its channels; tests try others.
  using QueueOf = llvm::function_ref<int(int rank, const Action &transfer)>;

  /// Every action is there once. Without `seconds` all take none.
  Replay(const Schedule &schedule, const ScheduleSeconds *seconds,
         llvm::ArrayRef<ChunkWindows> windows, QueueOf queueOf);
  /// With channels as queues.
  Replay(const Schedule &schedule, const ScheduleSeconds *seconds,
         llvm::ArrayRef<ChunkWindows> windows);

  /// Whether all lists ended.
  bool ended() const;
  /// Where a rank stands: the position of a compute action that waits.
  int positionOf(int rank) const { return states[rank].position; }
  /// The transfer that it waits for, one of its own, by position.
  int awaitedBy(int rank) const { return states[rank].awaited; }
  /// The first transfer in the queue of the one at `position`, which the rank
  /// has posted.
  int headOfQueue(int rank, int position) const;

  Timeline take() { return std::move(timeline); }
  const Timeline &get() const { return timeline; }
  const Positions &positions() const { return found; }

private:
  /// A transfer by where it is.
  struct Place {
    int rank, position;
  };
  struct Queue {
    std::vector<Place> waiting; // those before `head` are done
    size_t head = 0;
    double free = 0; // when the last message ended
  };
  struct RankState {
    int position = 0;
    int awaited = -1; // the transfer that the action at `position` waits for
    double now = 0;
    std::vector<int> queue;     // by position; -1 for compute actions
    std::vector<double> posted; // by position, of transfers
    std::vector<bool> isDone;   // by position, of transfers
  };

  void makeQueues(QueueOf queueOf);
  void run();
  void advance(int rank);
  bool compute(int rank, llvm::ArrayRef<Action> actions);
  void post(int rank, int position);
  std::optional<int> deliver(int number);
  std::optional<Action> sendBefore(const Action &action) const;

  const Schedule &schedule;
  const ScheduleSeconds *seconds;
  llvm::ArrayRef<ChunkWindows> windows;
  Positions found;
  std::vector<RankState> states;
  std::vector<Queue> queues;
  std::vector<int> ready; // ranks that may go on
  Timeline timeline;
};

} // namespace hone::pipeline

#endif // HONE_LIB_ANALYSIS_PIPELINE_REPLAY_H
