//===- Generate.h - The schedules that a user can name ----------*- C++ -*-===//
//
// docs/rationale/pipeline-schedules.md says why these, and what each costs.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_PIPELINE_GENERATE_H
#define HONE_ANALYSIS_PIPELINE_GENERATE_H

#include "hone/Analysis/Pipeline/Schedule.h"

#include "llvm/Support/Error.h"

namespace hone::pipeline {

enum class ScheduleKind : uint8_t {
  GPipe,                 ///< all forward passes, then all backward passes
  OneForwardOneBackward, ///< as few micro-batches in flight as keep ranks busy
  Interleaved,           ///< the same with several chunks per rank
  ZeroBubbleH1,          ///< split backward, no more memory than 1F1B
  ZeroBubbleV            ///< split backward, two chunks per rank placed as a V
};

struct ScheduleChoice {
  ScheduleKind kind = ScheduleKind::OneForwardOneBackward;
  int chunksPerRank = 1; ///< 2 for ZeroBubbleV
  /// A forward and a backward action run together, wherever both follow each
  /// other: what one exchanges travels beside the arithmetic of the other.
  bool overlaps = false;
};

/// Whether schedules of `kind` have pairs of a forward and a backward action
/// that may run together without waiting for each other's messages.
bool mayOverlap(ScheduleKind kind);

/// "gpipe", "1f1b", "interleaved=2", "zb-h1" or "zb-v"; the second to the
/// fourth also with "+overlap" behind. The error begins with the text that was
/// given.
llvm::Expected<ScheduleChoice> parseScheduleChoice(llvm::StringRef text);
/// What parseScheduleChoice reads.
std::string formatScheduleChoice(ScheduleChoice choice);

/// The compute actions of each rank; placeTransfers adds the others. Any number
/// of ranks and micro-batches of at least 1 is right: fewer micro-batches than
/// ranks, and numbers that do not divide each other.
Schedule generateSchedule(ScheduleChoice choice, int ranks, int microBatches);

} // namespace hone::pipeline

#endif // HONE_ANALYSIS_PIPELINE_GENERATE_H
