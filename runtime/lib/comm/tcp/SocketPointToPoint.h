//===- SocketPointToPoint.h - Messages over TCP ---------------------------===//

#ifndef HONERT_COMM_TCP_SOCKETPOINTTOPOINT_H
#define HONERT_COMM_TCP_SOCKETPOINTTOPOINT_H

#include "comm/group/LauncherEnvironment.h"
#include "comm/host/PointToPoint.h"
#include "comm/tcp/Sockets.h"

#include <deque>
#include <list>
#include <memory>
#include <vector>

namespace honert {

/// A connection to every other rank. After an error nothing more is sent or
/// received, since the callers' buffers may no longer exist.
class SocketPointToPoint final : public PointToPoint {
public:
  SocketPointToPoint(const LauncherEnvironment &place,
                     std::vector<Socket> peers);

  int64_t rank() const override { return place.rank; }
  int64_t size() const override { return place.size; }
  Status send(int64_t to, int64_t tag, const void *data, int64_t bytes,
              Message &message) override;
  Status receive(int64_t from, int64_t tag, void *data, int64_t bytes,
                 Message &message) override;
  Status test(Message &message, bool &isDone) override;

  /// An error if some rank has closed its connection. For any thread.
  Status findLost() const;

private:
  struct Header {
    int64_t tag, bytes;
  };
  /// A send or receive that was posted, until test() has reported it done.
  struct Pending {
    Header header;
    char *data;        ///< the caller's
    int64_t moved = 0; ///< bytes, of a message that is sent with its header
    bool isDone = false;
    std::list<Pending>::iterator self = {}; ///< in `pendings`
  };
  /// A message that arrived before its receive was posted.
  struct Early {
    int64_t tag, size;
    std::vector<char> bytes; ///< those that have arrived, or a few more
  };
  struct Peer {
    Socket socket;
    std::deque<Pending *> toSend, toReceive;
    std::deque<Early> early;
    // The message that is arriving: its header, then its bytes.
    Header header = {};
    int64_t headerBytes = 0, bytes = 0;
    Pending *target = nullptr; ///< their receive; null: they go to `early`
    bool isLost = false;
  };

  Pending *add(int64_t tag, const void *data, int64_t bytes);
  Status take(Peer &peer, Pending *pending, int64_t from);
  Status moveAll();
  Status fail(const Status &status);
  void sendSome(Peer &peer);
  Status receiveSome(Peer &peer, int64_t number);
  Status beginBody(Peer &peer, int64_t number);
  char *roomFor(Peer &peer, int64_t &most);
  void endBody(Peer &peer);

  const LauncherEnvironment place;
  std::vector<Peer> peers;
  std::list<Pending> pendings;
  Status failure;
};

} // namespace honert

#endif // HONERT_COMM_TCP_SOCKETPOINTTOPOINT_H
