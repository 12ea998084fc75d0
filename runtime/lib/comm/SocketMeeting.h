//===- SocketMeeting.h - How processes find each other over TCP -----------===//

#ifndef HONERT_COMM_SOCKETMEETING_H
#define HONERT_COMM_SOCKETMEETING_H

#include "comm/Launch.h"
#include "comm/Sockets.h"

#include <vector>

namespace honert {

/// Connects every pair of the processes of a launch. Rank 0 listens; the others
/// tell it where they listen themselves, and learn it of each other.
class SocketMeeting {
public:
  /// `run` is equal on the processes of a run, and not on those of another.
  SocketMeeting(const LaunchPlace &place, uint64_t run, double timeout)
      : place(place), run(run), deadline(timeout),
        peers(static_cast<size_t>(place.size)) {}

  /// Rank 0, with what listens.
  Status lead(const Socket &listener);
  /// The others, with where rank 0 listens. `isThere`: it answers; if not, it
  /// may come yet. Errors: something else is there, or the run does not meet.
  Status follow(const SocketAddress &address, bool &isThere);
  /// Until when ranks may come.
  const Deadline &end() const { return deadline; }
  /// The connections by rank, once all have met; of the own rank none.
  std::vector<Socket> takePeers() { return std::move(peers); }

private:
  /// What a process says first.
  struct Hello {
    uint64_t magic, run;
    int64_t rank, size;
    int64_t port; ///< where it listens
  };
  /// Where a rank listens.
  struct Place {
    SocketAddress address;
    int64_t isBesideFirst; ///< on the machine of rank 0
  };

  Hello hello(int64_t port) const;
  Status acceptRank(const Socket &listener, SocketAddress &from, Hello &said);
  Status meetOthers(const SocketAddress &first, const Socket &listener);
  Status sayTo(int64_t rank, const Socket &socket, const void *data,
               size_t bytes) const;
  Status hearFrom(int64_t rank, const Socket &socket, void *data,
                  size_t bytes) const;

  const LaunchPlace place;
  const uint64_t run;
  const Deadline deadline;
  std::vector<Socket> peers;
};

} // namespace honert

#endif // HONERT_COMM_SOCKETMEETING_H
