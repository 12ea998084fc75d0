//===- StageChannels.h - What the GPUs of stages send each other ----------===//

#ifndef HONERT_EXEC_CUDA_COLLECTIVES_STAGECHANNELS_H
#define HONERT_EXEC_CUDA_COLLECTIVES_STAGECHANNELS_H

#include "exec/cuda/collectives/Communicators.h"
#include "exec/cuda/collectives/Progress.h"
#include "program/ChannelLines.h"
#include "program/Channels.h"

#include <deque>

namespace honert {

/// Messages between stages, by NCCL. Each line (ChannelLines.h) has a
/// communicator of two ranks, the source's as number 0, and a stream at either
/// end. A message begins after what was put on the main stream before it, and
/// the main stream waits for it where it is awaited: the host waits nowhere.
///
/// All communicators are made at the start, in rounds that all ranks share: one
/// that is made when its first message comes would wait for a rank that makes
/// another one first.
class StageChannels final : public Channels {
public:
  /// All outlive the channels. `rank` is this process.
  StageChannels(const Device &device, const Program &program, int64_t rank,
                Communicators &communicators, CollectiveProgress &progress);
  ~StageChannels() override;

  /// Whether any stages send each other anything.
  bool isUsed() const { return !plan.empty(); }
  /// How many lines end at this rank.
  int64_t count() const { return static_cast<int64_t>(lines.size()); }
  /// Makes streams and events, which needs no other rank.
  Status start(int priority);
  /// Makes the communicators, after those of the axes. Called by all ranks.
  Status join(const DeviceMemory &arena);

  Status begin(const End &end, int64_t offset, int64_t bytes,
               const std::string &what) override;
  Status await(const End &end) override;
  /// The device needs no call to go on.
  Status progress() override { return Status(); }

private:
  /// An end of a line at this rank.
  struct Line {
    Communicator *communicator = nullptr;
    CUstream stream = nullptr;
    DeviceEvent ready; ///< of the main stream, for the latest message
  };
  struct Message {
    std::string what;
    DeviceEvent done;
  };

  Status joinRound(const std::vector<size_t> &round);
  Status issue(const Line &line, bool sends, void *data, int64_t bytes,
               const std::string &what);
  Status put(Line &line, const End &end, int64_t offset, int64_t bytes,
             const std::string &what);
  DeviceEvent takeSpare();

  const Device &device;
  const Program &program;
  const int64_t rank;
  Communicators &communicators;
  CollectiveProgress &marks;
  const DeviceMemory *memory = nullptr;
  std::vector<ChannelLine> plan;    ///< of all stages
  std::map<size_t, Line> lines;     ///< of this rank, by number in `plan`
  std::map<int64_t, size_t> lineOf; ///< by channel
  std::map<End, std::deque<Message>> underWay;
  std::vector<DeviceEvent> spare;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_COLLECTIVES_STAGECHANNELS_H
