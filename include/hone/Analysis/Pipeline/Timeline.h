//===- Timeline.h - How long a schedule takes -------------------*- C++ -*-===//

#ifndef HONE_ANALYSIS_PIPELINE_TIMELINE_H
#define HONE_ANALYSIS_PIPELINE_TIMELINE_H

#include "hone/Analysis/Pipeline/Windows.h"

#include <map>

namespace hone::pipeline {

/// Seconds of the actions of a chunk.
struct ChunkSeconds {
  double forward = 0;
  double backwardInput = 0;
  double backwardWeight = 0;
  double backward = 0; ///< both in one action

  static ChunkSeconds of(double forward, double backwardInput,
                         double backwardWeight);
  double operator[](ActionKind kind) const;
};

struct ScheduleSeconds {
  std::vector<ChunkSeconds> chunks;
  std::vector<double> messages; ///< of one message, by channel
  /// Of a forward and a backward action that run together, by their chunks;
  /// where none is known, those of both.
  std::map<std::pair<int, int>, double> overlaps;

  /// Of the actions that run together: one, or two.
  double of(llvm::ArrayRef<Action> actions) const;
};

/// A rank's seconds of one micro-batch divided among its chunks, the same on
/// all ranks and links.
ScheduleSeconds equalSeconds(const Schedule &schedule,
                             const ChunkSeconds &ofRank, double message = 0);

/// Of an action, or of a message between two ranks: a transfer has the span of
/// its message at both ends. Actions that run together have one span.
struct Span {
  double begin = 0, end = 0;
};

struct RankTimeline {
  std::vector<Span> spans; ///< by position in the rank's list
  double busy = 0;
  /// Idle while a value that the next action waits for was already made, but
  /// not yet here; or, where a window is full, not yet sent.
  double exposed = 0;
};

struct Timeline {
  std::vector<RankTimeline> ranks;
  double makespan = 0;

  /// Seconds of `rank` without work.
  double idle(int rank) const { return makespan - ranks[rank].busy; }
  /// The idle share of all ranks.
  double bubble() const;
};

/// Replays the lists: a rank runs its compute actions in order, each as soon as
/// its receive is done; messages run beside them, one at a time per channel,
/// from when both ends are posted. With `windows`, writers wait for sends. The
/// schedule passes checkSchedule with the same windows.
Timeline runSchedule(const Schedule &schedule, const ScheduleSeconds &seconds,
                     llvm::ArrayRef<ChunkWindows> windows = {});

} // namespace hone::pipeline

#endif // HONE_ANALYSIS_PIPELINE_TIMELINE_H
