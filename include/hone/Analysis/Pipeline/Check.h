//===- Check.h - Whether a schedule is right --------------------*- C++ -*-===//

#ifndef HONE_ANALYSIS_PIPELINE_CHECK_H
#define HONE_ANALYSIS_PIPELINE_CHECK_H

#include "hone/Analysis/Pipeline/Windows.h"

namespace hone::pipeline {

/// What a schedule must satisfy, in the order in which it is checked.
enum class Rule : uint8_t {
  Shape,    ///< each action is of a chunk of its rank and of a micro-batch
  Overlap,  ///< a forward action may run together with the backward one behind
            ///< it, of another chunk or micro-batch
  Once,     ///< each chunk and micro-batch has each action once, transfers too
  Order,    ///< an action comes after those of its rank that it reads from
  Micro,    ///< micro-batches of a chunk ascend: sums have one order
  Channel,  ///< a transfer is on the channel of its two ranks and payload
  Fifo,     ///< both ends of a channel have its messages in the same order
  Window,   ///< no buffer of a window is written before its last reader
  Deadlock, ///< all lists end where a send waits for its receive
};

/// "data order", ...
llvm::StringRef ruleName(Rule rule);

struct Violation {
  Rule rule;
  int rank;
  int position; ///< in the rank's list; its size where an action is missing
  std::string message; ///< one line, names rule, rank, position and action
};

/// The first violation, by rule, then rank and position. With `windows`, by
/// chunk, also that their counts are enough, and that waiting for their sends
/// ends.
std::optional<Violation>
checkSchedule(const Schedule &schedule,
              llvm::ArrayRef<ChunkWindows> windows = {});

} // namespace hone::pipeline

#endif // HONE_ANALYSIS_PIPELINE_CHECK_H
