//===- Admission.h - Lets ranks in, and strangers wait --------------------===//

#ifndef HONERT_COMM_TCP_ADMISSION_H
#define HONERT_COMM_TCP_ADMISSION_H

#include "comm/tcp/Handshake.h"

#include <functional>
#include <list>

namespace honert {

/// A process that has proved what it is.
struct Guest {
  Socket socket;
  SocketAddress from;
  Hello hello;
};

/// The end of handshakes that listens. All that connect are served at once, by
/// one thread: each has `serviceSeconds` to prove itself, and costs a few
/// hundred bytes until then. Where more come than files may be open, the
/// oldest makes room.
class Admission {
public:
  /// What a process is told that knows the secret and is of this run.
  using Judge = std::function<Verdict(const Hello &)>;

  /// Of rank `rank` of `size`.
  Admission(const RunKey &key, int64_t rank, int64_t size, bool isEverywhere,
            Judge judge);

  /// Waits at `listeners` until a process is welcome. Not open after
  /// `deadline`.
  Status next(const std::vector<Socket> &listeners, const Deadline &deadline,
              Guest &guest);
  /// Its parts. Serves a connection.
  Status add(Socket socket, const SocketAddress &from);
  /// Until something comes, the time of a stranger is over, or the deadline.
  void wait(const std::vector<Socket> &listeners, const Deadline &deadline);
  /// Reads what has come. True if one is welcome.
  bool serve(Guest &guest);

  /// The latest process of Hone that was not welcome, and why; or empty.
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
  /// Reads of a stranger's hello; false if it has left, or says other things.
  bool hear(Stranger &stranger) const;
  bool answer(Stranger &stranger);

  const RunKey key;
  const int64_t rank, size;
  const bool isEverywhere;
  const Judge judge;
  Strangers strangers; ///< the oldest first
  size_t most;         ///< of them
  std::string refusal;
};

} // namespace honert

#endif // HONERT_COMM_TCP_ADMISSION_H
