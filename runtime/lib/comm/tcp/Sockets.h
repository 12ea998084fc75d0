//===- Sockets.h - TCP connections with deadlines -------------------------===//

#ifndef HONERT_COMM_TCP_SOCKETS_H
#define HONERT_COMM_TCP_SOCKETS_H

#include "base/Status.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace honert {

/// A socket that does not block; closed at the end.
class Socket {
public:
  explicit Socket(int number = -1) : number(number) {}
  Socket(Socket &&other) noexcept : number(std::exchange(other.number, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~Socket();

  int get() const { return number; }
  bool isOpen() const { return number >= 0; }

private:
  int number;
};

/// Where a socket listens: an address of IPv4 or IPv6 with a port.
struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t length = 0;

  /// All addresses of `host`, a name or a number. Errors: it is not known.
  static Status find(const std::string &host, int64_t port,
                     std::vector<SocketAddress> &addresses);
  /// Every address of this machine.
  static SocketAddress everywhere(int64_t port);
  int64_t port() const;
  void setPort(int64_t port);
  /// An address of this machine alone, which others cannot reach.
  bool isLoopback() const;
  /// Whether a socket of this machine can listen there.
  bool isOfThisMachine() const;
  /// "10.0.0.1:29501", "[::1]:29501".
  std::string text() const;
};

/// A point in time; never, if `seconds` is 0.
class Deadline {
public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(double seconds);
  /// In `seconds` from now, or at `other` if that is sooner.
  Deadline(double seconds, const Deadline &other);
  bool isOver() const { return Clock::now() >= end; }
  /// For poll(2), at most a second.
  int milliseconds() const;

private:
  Clock::time_point end;
};

/// A socket that listens at `address`. Port 0: any free one, which is written
/// back.
Status listenAt(SocketAddress &address, Socket &socket);
/// A connection that waits at `listener`; false if there is none, with the
/// reason in errno.
bool acceptFrom(const Socket &listener, Socket &socket, SocketAddress &peer);
/// One attempt to connect; not open if no process listens there.
Status connectTo(const SocketAddress &address, const Deadline &deadline,
                 Socket &socket);

/// Waits until bytes have arrived or the connection is closed. False if neither
/// happened by the deadline.
bool awaitInput(const Socket &socket, const Deadline &deadline);
/// The index of the first of `sockets` whose other end has closed the
/// connection, even if bytes of it are still unread; -1 if none has. Sockets
/// that are not open do not count.
int64_t firstClosed(const std::vector<Socket> &sockets);

/// Sends or receives all bytes by the deadline. Errors: "has closed the
/// connection", "has not answered in time".
Status sendAll(const Socket &socket, const void *data, size_t bytes,
               const Deadline &deadline);
Status receiveAll(const Socket &socket, void *data, size_t bytes,
                  const Deadline &deadline);

} // namespace honert

#endif // HONERT_COMM_TCP_SOCKETS_H
