//===- PointToPoint.h - Moves bytes between ranks -------------------------===//

#ifndef HONERT_COMM_HOST_POINTTOPOINT_H
#define HONERT_COMM_HOST_POINTTOPOINT_H

#include "base/Status.h"

#include <cstdint>

namespace honert {

/// A message on its way.
struct Message {
  int64_t peer;
  void *handle; ///< of the implementation
};

/// Sends and receives without waiting. Messages from one rank to another with
/// one tag arrive in the order in which they were sent. Used by one thread.
class PointToPoint {
public:
  virtual ~PointToPoint() = default;

  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;

  /// Tags are from 0 to largestTag, a message has at most largestMessage bytes.
  /// The bytes belong to the message until it is done.
  static constexpr int64_t largestTag = 32767;
  /// Collectives of programs have the tags below this, channels those from it
  /// to largestTag - 1, what ranks exchange between steps the largest.
  static constexpr int64_t firstChannelTag = 16384;
  static constexpr int64_t largestMessage = int64_t(1) << 30;
  virtual Status send(int64_t to, int64_t tag, const void *data, int64_t bytes,
                      Message &message) = 0;
  virtual Status receive(int64_t from, int64_t tag, void *data, int64_t bytes,
                         Message &message) = 0;
  /// Whether the message has been sent or received. Not called again for a
  /// message that is done.
  virtual Status test(Message &message, bool &isDone) = 0;
};

} // namespace honert

#endif // HONERT_COMM_HOST_POINTTOPOINT_H
