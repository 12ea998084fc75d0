//===- PendingMessages.h - Messages that complete together ----------------===//

#ifndef HONERT_COMM_HOST_PENDINGMESSAGES_H
#define HONERT_COMM_HOST_PENDINGMESSAGES_H

#include "comm/host/PointToPoint.h"
#include "program/CollectiveLog.h"

#include <vector>

namespace honert {

/// Messages to and from other ranks, of any size, with one tag, that finish()
/// waits for. After an error ranks may be at different messages: every later
/// call returns the same error.
class PendingMessages {
public:
  PendingMessages(PointToPoint &peers, CollectiveLog &log)
      : peers(peers), log(log) {}

  Status send(int64_t to, int64_t tag, const char *data, int64_t bytes);
  Status receive(int64_t from, int64_t tag, char *data, int64_t bytes);
  /// Lets messages move that can, without waiting.
  Status progress();
  /// Waits until all messages are done, in the log's entry `number`.
  Status finish(int64_t number);

private:
  /// Keeps an error and drops the messages, since the callers free their
  /// buffers on an error.
  Status keep(const Status &status);
  template <typename Post> Status postAll(int64_t bytes, Post post);
  Status await(int64_t number);
  Status test();

  PointToPoint &peers;
  CollectiveLog &log;
  Status failure;
  std::vector<Message> messages;
};

} // namespace honert

#endif // HONERT_COMM_HOST_PENDINGMESSAGES_H
