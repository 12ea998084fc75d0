//===- Sockets.h - Connections that are waited for ------------------------===//

#ifndef HONERT_COMM_SOCKETS_H
#define HONERT_COMM_SOCKETS_H

#include "core/Status.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <sys/socket.h>
#include <utility>

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

/// Where a socket listens.
struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t length = 0;

  /// Of `host`, a name or number. Errors: nobody knows it.
  static Status find(const std::string &host, int64_t port,
                     SocketAddress &address);
  int64_t port() const;
  void setPort(int64_t port);
  /// An address of this machine alone, which others cannot reach.
  bool isLoopback() const;
};

/// When to give up; a time that never comes if `seconds` is 0.
class Deadline {
public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(double seconds);
  bool isOver() const { return Clock::now() >= end; }
  /// For poll(2), at most a second.
  int milliseconds() const;

private:
  Clock::time_point end;
};

/// A socket that listens at `port` of all addresses of this machine; 0: any
/// free one, which is written back.
Status listenAt(int64_t &port, int64_t waiting, Socket &socket);
/// The next connection; not open if none has come by `deadline`.
Status acceptBy(const Deadline &deadline, const Socket &listener,
                Socket &socket, SocketAddress *peer = nullptr);
/// One attempt; not open if nobody listens there.
Status connectTo(const SocketAddress &address, const Deadline &deadline,
                 Socket &socket);

/// All bytes by the deadline, or an error that says why not: "has closed the
/// connection", "has not answered in time".
Status sendAll(const Socket &socket, const void *data, size_t bytes,
               const Deadline &deadline);
Status receiveAll(const Socket &socket, void *data, size_t bytes,
                  const Deadline &deadline);

} // namespace honert

#endif // HONERT_COMM_SOCKETS_H
