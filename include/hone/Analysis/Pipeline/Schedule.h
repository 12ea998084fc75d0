//===- Schedule.h - What each rank of a pipeline runs, in order -*- C++ -*-===//
//
// Pipeline parallelism as plain data. A model is cut into *chunks*, numbered
// from its input; a *rank* here is a coordinate along the mesh axis `pp` and
// holds `chunksPerRank` of them. (Other systems say "stage" for one or the
// other, so this room does not.) A schedule is a static list of actions per
// rank: forward and backward of a chunk for one micro-batch, and the sends and
// receives between them.
//
//   ScheduleChoice choice = cantFail(parseScheduleChoice("zb-h1"));
//   Schedule schedule =
//       placeTransfers(generateSchedule(choice, /*ranks=*/4, /*micro=*/8));
//   std::optional<Violation> violation = checkSchedule(schedule);
//   Timeline timeline = runSchedule(schedule, equalTimes(schedule, {1, 1, 1}));
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_PIPELINE_SCHEDULE_H
#define HONE_ANALYSIS_PIPELINE_SCHEDULE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace hone::pipeline {

//===----------------------------------------------------------------------===//
// Where chunks are
//===----------------------------------------------------------------------===//

/// Which rank holds a chunk. Loop: 0 1 2 3 0 1 2 3; V: 0 1 2 3 3 2 1 0.
enum class Placement : uint8_t { Loop, V };

struct Shape {
  int ranks = 1;
  int chunksPerRank = 1;
  int microBatches = 1;
  Placement placement = Placement::Loop;

  int chunks() const { return ranks * chunksPerRank; }
  int rankOf(int chunk) const;
  /// The chunks of a rank in ascending order: `index` < chunksPerRank.
  int chunkOf(int rank, int index) const;
  /// Whether two chunks exist and lie on one rank: what passes between them is
  /// not sent.
  bool shareRank(int chunk, int other) const;
  bool contains(int chunk) const { return chunk >= 0 && chunk < chunks(); }
};

//===----------------------------------------------------------------------===//
// Actions
//===----------------------------------------------------------------------===//

/// Backward is either one action or two: BackwardInput computes the gradient of
/// the chunk's input, BackwardWeight those of its weights.
enum class ActionKind : uint8_t {
  Forward,
  Backward,
  BackwardInput,
  BackwardWeight,
  SendActivation,
  RecvActivation,
  SendGradient,
  RecvGradient
};
constexpr int actionKinds = 8;

constexpr bool isTransfer(ActionKind kind) {
  return kind >= ActionKind::SendActivation;
}
constexpr bool isSend(ActionKind kind) {
  return kind == ActionKind::SendActivation || kind == ActionKind::SendGradient;
}
/// Whether the action computes the gradient of the chunk's input.
constexpr bool computesInputGradient(ActionKind kind) {
  return kind == ActionKind::Backward || kind == ActionKind::BackwardInput;
}
/// Whether the action adds to the gradients of the chunk's weights.
constexpr bool computesWeightGradient(ActionKind kind) {
  return kind == ActionKind::Backward || kind == ActionKind::BackwardWeight;
}

/// One entry of a rank's list. `chunk` is one of the rank's own: a send is
/// named by the chunk that made the value, a receive by the one that reads it.
struct Action {
  ActionKind kind;
  int chunk;
  int micro;
  int channel = -1; ///< of a transfer: which of Schedule::channels
  /// Of a forward action: it runs together with the backward action behind it,
  /// of another micro-batch or chunk. The two wait for what both receive, and
  /// what they make is sent when both are done. It is no part of what an action
  /// is equal to.
  bool overlapsNext = false;

  bool operator==(const Action &other) const {
    return kind == other.kind && chunk == other.chunk && micro == other.micro &&
           channel == other.channel;
  }
  bool operator!=(const Action &other) const { return !(*this == other); }
};

/// What messages of one direction between two ranks carry. Messages of a
/// channel arrive in the order in which they are sent; channels do not wait for
/// each other (docs/rationale/pipeline-schedules.md).
enum class Payload : uint8_t { Activation, Gradient };

struct Channel {
  int source, destination; ///< ranks
  Payload payload;

  bool operator==(const Channel &other) const { return key() == other.key(); }
  bool operator<(const Channel &other) const { return key() < other.key(); }

private:
  std::tuple<int, int, Payload> key() const {
    return {source, destination, payload};
  }
};

/// The channel that a transfer belongs to.
Channel channelOf(const Shape &shape, const Action &transfer);

// What an action exchanges with other ranks; nothing where the value comes from
// or goes to this rank, the batch or the loss. The channel is not numbered.
/// The receive that a compute action waits for.
std::optional<Action> receiveBefore(const Shape &shape, const Action &action);
/// The send of what a compute action makes.
std::optional<Action> sendAfter(const Shape &shape, const Action &action);
/// The other end of a transfer, on the same channel.
Action otherEnd(const Action &transfer);

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

struct Schedule {
  std::string name; ///< "zb-h1", or the file it was read from
  Shape shape;
  std::vector<std::vector<Action>> ranks;
  /// Those of the shape in ascending order, the same on all ranks. Empty before
  /// numberChannels or placeTransfers.
  std::vector<Channel> channels;

  bool hasAny(ActionKind kind) const;
  bool hasTransfers() const;
  /// Whether a chunk's backward pass is two actions.
  bool splitsBackward() const { return hasAny(ActionKind::BackwardInput); }
  /// Whether some forward action runs together with a backward one.
  bool hasOverlaps() const;
};

/// Sets the channels of a schedule and the number of each transfer that its
/// shape has.
void numberChannels(Schedule &schedule);

/// The lists with sends and receives: each send directly after the action that
/// makes its value, each receive `ahead` compute actions before the one that
/// reads it (0: directly before it), so that a message travels beside work.
/// `schedule` has none yet.
Schedule placeTransfers(Schedule schedule, int ahead = 1);

} // namespace hone::pipeline

#endif // HONE_ANALYSIS_PIPELINE_SCHEDULE_H
