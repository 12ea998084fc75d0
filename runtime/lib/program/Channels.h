//===- Channels.h - What stages send each other ---------------------------===//

#ifndef HONERT_PROGRAM_CHANNELS_H
#define HONERT_PROGRAM_CHANNELS_H

#include "base/Status.h"

#include <cstdint>
#include <string>

namespace honert {

/// Messages between ranks that begin, and are awaited later. Those of one
/// channel arrive in the order in which they were sent.
class Channels {
public:
  virtual ~Channels() = default;

  /// One end of a channel of this rank.
  struct End {
    int64_t channel; ///< the same number at both ends, from 0
    int64_t peer;    ///< the rank at the other end
    bool sends;

    bool operator<(const End &other) const {
      return channel != other.channel ? channel < other.channel
             : peer != other.peer     ? peer < other.peer
                                      : sends < other.sends;
    }
  };

  /// Begins to send or receive these bytes of the arena, which belong to the
  /// message until it has been awaited. `what` names it for messages about
  /// failures.
  virtual Status begin(const End &end, int64_t offset, int64_t bytes,
                       const std::string &what) = 0;
  /// The oldest message of `end` is done before what is run from now on.
  virtual Status await(const End &end) = 0;
  /// Lets messages move that can, without waiting. To be called between
  /// launches: without a call nothing moves.
  virtual Status progress() = 0;
};

} // namespace honert

#endif // HONERT_PROGRAM_CHANNELS_H
