//===- TimedRun.h - When the launches of a run ran on a GPU ---------------===//

#ifndef HONERT_EXEC_CUDA_TIMEDRUN_H
#define HONERT_EXEC_CUDA_TIMEDRUN_H

#include "exec/Executor.h"
#include "exec/cuda/core/EventPair.h"

#include <deque>
#include <utility>

namespace honert {

/// Events around each launch of a function and around them all, recorded as
/// they are put on their streams, or as nodes of the graph that is captured.
class TimedRun {
public:
  Status create(const Device &device, const Function &function, bool inGraph);
  /// The first launch follows. If this fails in a capture, the driver records
  /// no events in graphs.
  Status begin();
  const EventPair &launch(size_t index) const { return launches[index]; }
  /// All launches are on their streams, and the main one waits for them.
  Status end() const { return whole.end(device->stream()); }
  bool isRefused() const { return refused; }

  /// Waits for the run, which was put on the main stream at `start`.
  Status read(std::chrono::steady_clock::time_point start,
              FunctionTimes &times) const;

private:
  const Device *device = nullptr;
  const Function *function = nullptr;
  EventPair whole;
  std::vector<EventPair> launches; ///< of the function, in its order
  DeviceEvent done;                ///< the graph's own are not to be waited for
  bool isGraph = false, refused = false;
};

/// Times whole graphs without a change to them. They are read when their step
/// is collected, so that the host stays a step ahead and the device has the
/// next graph before it needs it.
class ReplayTimes {
public:
  /// `replay` puts a graph on the main stream.
  template <typename Replay> Status time(const Device &device, Replay replay) {
    EventPair events;
    HONERT_TRY(events.create(device, /*inGraph=*/false));
    HONERT_TRY(events.begin(device.stream()));
    HONERT_TRY(replay());
    HONERT_TRY(events.end(device.stream()));
    step.push_back(std::move(events));
    return Status();
  }
  void endStep() { ended.push_back(std::exchange(step, {})); }
  /// The oldest step that has ended is done: appends the seconds of its graphs,
  /// if any were timed.
  Status collectStep(std::vector<double> &seconds);

private:
  std::vector<EventPair> step;
  std::deque<std::vector<EventPair>> ended;
};

/// How long steps took by the GPU's clock. The host may wait for room for the
/// inputs of the next step before it collects one: its own clock would tell a
/// part of the next step's time too. A step that was put on the stream while
/// the one before was on its way lasts from that one's end: the GPU may have
/// waited for the host between them.
class StepClock {
public:
  Status start(const Device &device);
  /// Before a function is put on the main stream for a step.
  Status run();
  Status endStep();
  /// Of the oldest step that has ended, which is done.
  Status collectStep(double &seconds);

private:
  struct Step : EventPair {
    bool overlaps = false; ///< began before the last one was collected
  };
  /// Of the step that was collected last, of the one that is, and of the one on
  /// its way.
  Step steps[3];
  size_t ended = 0, collected = 0;
  bool hasBegun = false;
  const Device *device = nullptr;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_TIMEDRUN_H
