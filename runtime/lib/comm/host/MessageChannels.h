//===- MessageChannels.h - Channels between stages by messages ------------===//

#ifndef HONERT_COMM_HOST_MESSAGECHANNELS_H
#define HONERT_COMM_HOST_MESSAGECHANNELS_H

#include "comm/host/PendingMessages.h"
#include "program/Channels.h"

#include <deque>
#include <map>

namespace honert {

/// Each channel has a tag of its own.
class MessageChannels final : public Channels {
public:
  /// All outlive the channels.
  MessageChannels(PointToPoint &peers, CollectiveLog &log, char *arena)
      : peers(peers), log(log), arena(arena) {}

  Status begin(const End &end, int64_t offset, int64_t bytes,
               const std::string &what) override;
  Status await(const End &end) override;
  Status progress() override;

private:
  struct Transfer {
    int64_t number; ///< of the log's entry
    PendingMessages pending;
  };

  PointToPoint &peers;
  CollectiveLog &log;
  char *const arena;
  std::map<End, std::deque<Transfer>> underWay; // the oldest first
};

} // namespace honert

#endif // HONERT_COMM_HOST_MESSAGECHANNELS_H
