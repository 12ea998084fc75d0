//===- Admission.h - Handshakes of connections that arrive ----------------===//

#ifndef HONERT_COMM_TCP_ADMISSION_H
#define HONERT_COMM_TCP_ADMISSION_H

#include "comm/tcp/Handshake.h"

#include <functional>
#include <list>

namespace honert {

/// A process whose handshake succeeded.
struct Guest {
  Socket socket;
  int64_t rank = 0;
};

/// Rank 0's end of handshakes. One thread serves all connections at once.
/// A connection has `serviceSeconds` to complete its handshake and costs a few
/// hundred bytes until then. When no more files can be opened, the oldest
/// incomplete one is closed.
class Admission {
public:
  /// Of a run of `size` ranks. `isThere`: whether a rank has come already.
  Admission(const RunKey &key, int64_t size,
            std::function<bool(int64_t rank)> isThere);

  /// Waits at `listeners` until a handshake succeeds. The guest's socket is not
  /// open if that did not happen by `deadline`.
  Status next(const std::vector<Socket> &listeners, const Deadline &deadline,
              Guest &guest);
  /// The steps of next(). Adds a connection to those that are served.
  Status add(Socket socket, const SocketAddress &from);
  /// Waits until bytes or connections arrive, a connection times out, or the
  /// deadline.
  void wait(const std::vector<Socket> &listeners, const Deadline &deadline);
  /// Reads what has arrived. True if a handshake has succeeded.
  bool serve(Guest &guest);

  /// The latest process of Hone that was rejected, and why; or empty.
  const std::string &lastRefusal() const { return refusal; }

private:
  struct Stranger {
    Socket socket;
    SocketAddress from;
    Deadline::Clock::time_point came;
    Challenge challenge;
    Hello hello = {};
    size_t bytes = 0;    ///< of hello
    bool isReady = true; ///< more of it may have come
  };
  using Strangers = std::list<Stranger>;

  bool hasRoom() const;
  Status makeRoom(int error);
  Status acceptAll(const std::vector<Socket> &listeners);
  /// Reads a part of a hello; false if the connection is closed or what it sent
  /// is no hello.
  bool hear(Stranger &stranger) const;
  bool answer(Stranger &stranger);

  const RunKey key;
  const int64_t size;
  const std::function<bool(int64_t)> isThere;
  Strangers strangers; ///< the oldest first
  size_t most;         ///< of them
  std::string refusal;
};

} // namespace honert

#endif // HONERT_COMM_TCP_ADMISSION_H
