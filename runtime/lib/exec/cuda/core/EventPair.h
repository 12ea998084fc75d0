//===- EventPair.h - When something on a stream began and ended -----------===//

#ifndef HONERT_EXEC_CUDA_CORE_EVENTPAIR_H
#define HONERT_EXEC_CUDA_CORE_EVENTPAIR_H

#include "exec/cuda/core/Device.h"

namespace honert {

/// Two events around what is put on a stream between begin() and end().
/// `inGraph`: the stream is being captured then, and each run of the graph has
/// its own times.
class EventPair {
public:
  Status create(const Device &device, bool inGraph) {
    isInGraph = inGraph;
    HONERT_TRY(first.create(device, /*timed=*/true));
    return last.create(device, /*timed=*/true);
  }
  Status begin(CUstream stream) const { return record(first, stream); }
  Status end(CUstream stream) const { return record(last, stream); }

  /// Seconds from the beginning of `origin`. All these moments have passed.
  Status read(const EventPair &origin, double &begin, double &end) const {
    HONERT_TRY(origin.first.secondsTo(first, begin));
    return origin.first.secondsTo(last, end);
  }
  /// Seconds of what is between, and from the end of `before` to this end.
  Status readOwn(double &seconds) const {
    return first.secondsTo(last, seconds);
  }
  Status readSince(const EventPair &before, double &seconds) const {
    return before.last.secondsTo(last, seconds);
  }

private:
  Status record(const DeviceEvent &event, CUstream stream) const {
    return isInGraph ? event.recordInGraph(stream) : event.record(stream);
  }

  DeviceEvent first, last;
  bool isInGraph = false;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_CORE_EVENTPAIR_H
