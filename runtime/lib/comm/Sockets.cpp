//===- Sockets.cpp - Connections that are waited for ----------------------===//

#include "comm/Sockets.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

using namespace honert;

Socket::~Socket() {
  if (number >= 0)
    close(number);
}

static Status systemError(const std::string &what) {
  return Status::error(what + ": " + std::strerror(errno));
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Status SocketAddress::find(const std::string &host, int64_t port,
                           SocketAddress &address) {
  addrinfo wanted = {}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  int error = getaddrinfo(host.c_str(), nullptr, &wanted, &found);
  if (error != 0)
    return Status::error(format("%s: no address is known of it (%s)",
                                host.c_str(), gai_strerror(error)));
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.length = found->ai_addrlen;
  freeaddrinfo(found);
  address.setPort(port);
  return Status();
}

void SocketAddress::setPort(int64_t port) {
  uint16_t inOrder = htons(static_cast<uint16_t>(port));
  if (storage.ss_family == AF_INET6)
    reinterpret_cast<sockaddr_in6 &>(storage).sin6_port = inOrder;
  else
    reinterpret_cast<sockaddr_in &>(storage).sin_port = inOrder;
}

int64_t SocketAddress::port() const {
  return ntohs(storage.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6 &>(storage).sin6_port
                   : reinterpret_cast<const sockaddr_in &>(storage).sin_port);
}

bool SocketAddress::isLoopback() const {
  if (storage.ss_family == AF_INET)
    return (ntohl(reinterpret_cast<const sockaddr_in &>(storage)
                      .sin_addr.s_addr) >>
            24) == 127;
  const in6_addr &six =
      reinterpret_cast<const sockaddr_in6 &>(storage).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&six) ||
         (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

Deadline::Deadline(double seconds)
    : end(seconds > 0
              ? Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(seconds))
              : Clock::time_point::max()) {}

int Deadline::milliseconds() const {
  if (end == Clock::time_point::max())
    return 1000;
  auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count() + 1, 0, 1000));
}

/// Whether the socket can do what `events` says, by the deadline.
static bool waitFor(const Socket &socket, short events,
                    const Deadline &deadline) {
  while (true) {
    pollfd one = {socket.get(), events, 0};
    if (poll(&one, 1, deadline.milliseconds()) > 0)
      return true;
    if (deadline.isOver())
      return false;
  }
}

static Status prepare(const Socket &socket) {
  int one = 1, flags = fcntl(socket.get(), F_GETFL);
  if (flags < 0 || fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) < 0 ||
      fcntl(socket.get(), F_SETFD, FD_CLOEXEC) < 0)
    return systemError("a socket cannot be set up");
  // Short messages leave at once; a machine that is gone is noticed.
  (void)setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  (void)setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
  return Status();
}

//===----------------------------------------------------------------------===//
// Connections
//===----------------------------------------------------------------------===//

Status honert::listenAt(int64_t &port, int64_t waiting, Socket &socket) {
  SocketAddress any;
  int one = 1, zero = 0;
  any.storage.ss_family = AF_INET6;
  any.length = sizeof(sockaddr_in6);
  socket = Socket(::socket(AF_INET6, SOCK_STREAM, 0));
  if (!socket.isOpen()) { // a machine without IPv6
    any.storage.ss_family = AF_INET;
    any.length = sizeof(sockaddr_in);
    socket = Socket(::socket(AF_INET, SOCK_STREAM, 0));
  } else {
    (void)setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &zero,
                     sizeof zero);
  }
  if (!socket.isOpen())
    return systemError("a socket cannot be made");
  HONERT_TRY(prepare(socket));
  (void)setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  any.setPort(port);
  if (bind(socket.get(), reinterpret_cast<sockaddr *>(&any.storage),
           any.length) < 0 ||
      listen(socket.get(), static_cast<int>(waiting)) < 0)
    return systemError(
        format("port %lld of this machine", static_cast<long long>(port)));
  if (getsockname(socket.get(), reinterpret_cast<sockaddr *>(&any.storage),
                  &any.length) < 0)
    return systemError("the port of a socket");
  port = any.port();
  return Status();
}

Status honert::acceptBy(const Deadline &deadline, const Socket &listener,
                        Socket &socket, SocketAddress *peer) {
  socket = Socket();
  SocketAddress address;
  address.length = sizeof address.storage;
  if (!waitFor(listener, POLLIN, deadline))
    return Status();
  socket = Socket(accept(listener.get(),
                         reinterpret_cast<sockaddr *>(&address.storage),
                         &address.length));
  if (peer)
    *peer = address;
  return socket.isOpen() ? prepare(socket) : Status();
}

Status honert::connectTo(const SocketAddress &address, const Deadline &deadline,
                         Socket &socket) {
  socket = Socket(::socket(address.storage.ss_family, SOCK_STREAM, 0));
  if (!socket.isOpen())
    return systemError("a socket cannot be made");
  HONERT_TRY(prepare(socket));
  if (connect(socket.get(),
              reinterpret_cast<const sockaddr *>(&address.storage),
              address.length) < 0 &&
      errno != EINPROGRESS) {
    socket = Socket();
    return Status();
  }
  int error = 0;
  socklen_t length = sizeof error;
  if (!waitFor(socket, POLLOUT, deadline) ||
      getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) < 0 ||
      error != 0)
    socket = Socket();
  return Status();
}

Status honert::sendAll(const Socket &socket, const void *data, size_t bytes,
                       const Deadline &deadline) {
  auto *at = static_cast<const char *>(data);
  while (bytes > 0) {
    if (!waitFor(socket, POLLOUT, deadline))
      return Status::error("has not answered in time");
    ssize_t sent = send(socket.get(), at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
      return Status::error("has closed the connection");
    at += std::max<ssize_t>(sent, 0);
    bytes -= static_cast<size_t>(std::max<ssize_t>(sent, 0));
  }
  return Status();
}

Status honert::receiveAll(const Socket &socket, void *data, size_t bytes,
                          const Deadline &deadline) {
  auto *at = static_cast<char *>(data);
  while (bytes > 0) {
    if (!waitFor(socket, POLLIN, deadline))
      return Status::error("has not answered in time");
    ssize_t came = recv(socket.get(), at, bytes, 0);
    if (came == 0 || (came < 0 && errno != EAGAIN && errno != EINTR))
      return Status::error("has closed the connection");
    at += std::max<ssize_t>(came, 0);
    bytes -= static_cast<size_t>(std::max<ssize_t>(came, 0));
  }
  return Status();
}
