//===- Sockets.cpp - Connections that are waited for ----------------------===//

#include "comm/tcp/Sockets.h"

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
                           std::vector<SocketAddress> &addresses) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0)
    return Status::error(format("%s: no address is known of it (%s)",
                                host.c_str(), gai_strerror(error)));
  addresses.clear();
  for (addrinfo *each = found; each; each = each->ai_next) {
    if (each->ai_family != AF_INET && each->ai_family != AF_INET6)
      continue;
    SocketAddress address;
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    address.length = each->ai_addrlen;
    address.setPort(port);
    addresses.push_back(address);
  }
  freeaddrinfo(found);
  if (addresses.empty())
    return Status::error(host + ": no address of IPv4 or IPv6 is known of it");
  return Status();
}

static bool hasIPv6() {
  return Socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)).isOpen();
}

SocketAddress SocketAddress::everywhere(int64_t port) {
  static const bool six = hasIPv6();
  SocketAddress address;
  address.storage.ss_family = six ? AF_INET6 : AF_INET;
  address.length = six ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  address.setPort(port);
  return address;
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

bool SocketAddress::isOfThisMachine() const {
  Socket probe(::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  SocketAddress anyPort = *this;
  anyPort.setPort(0);
  return probe.isOpen() &&
         bind(probe.get(), reinterpret_cast<sockaddr *>(&anyPort.storage),
              anyPort.length) == 0;
}

std::string SocketAddress::text() const {
  char host[NI_MAXHOST] = "?";
  (void)getnameinfo(reinterpret_cast<const sockaddr *>(&storage), length, host,
                    sizeof host, nullptr, 0, NI_NUMERICHOST);
  return format(storage.ss_family == AF_INET6 ? "[%s]:%lld" : "%s:%lld", host,
                static_cast<long long>(port()));
}

/// Writes an address of IPv4 within IPv6 as IPv4.
static void unmap(SocketAddress &address) {
  const auto six = reinterpret_cast<const sockaddr_in6 &>(address.storage);
  if (six.sin6_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&six.sin6_addr))
    return;
  address.storage = {};
  address.length = sizeof(sockaddr_in);
  auto &four = reinterpret_cast<sockaddr_in &>(address.storage);
  four.sin_family = AF_INET;
  four.sin_port = six.sin6_port;
  std::memcpy(&four.sin_addr, six.sin6_addr.s6_addr + 12, 4);
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

Deadline::Deadline(double seconds)
    : end(seconds > 0
              ? Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(seconds))
              : Clock::time_point::max()) {}

Deadline::Deadline(double seconds, const Deadline &other)
    : end(std::min(Deadline(seconds).end, other.end)) {}

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

/// Connections that the kernel keeps until they are served: strangers among
/// them must not keep ranks out.
static constexpr int backlog = 4096;

Status honert::listenAt(SocketAddress &address, Socket &socket) {
  const auto &six = reinterpret_cast<const sockaddr_in6 &>(address.storage);
  int one = 1, isAlone = !IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr);
  socket = Socket(::socket(address.storage.ss_family, SOCK_STREAM, 0));
  if (!socket.isOpen())
    return systemError("a socket cannot be made");
  HONERT_TRY(prepare(socket));
  if (address.storage.ss_family == AF_INET6) // all of IPv6 is IPv4 too
    (void)setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &isAlone,
                     sizeof isAlone);
  (void)setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(socket.get(), reinterpret_cast<sockaddr *>(&address.storage),
           address.length) < 0 ||
      listen(socket.get(), backlog) < 0)
    return systemError(format("port %lld of this machine",
                              static_cast<long long>(address.port())));
  address.length = sizeof address.storage;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr *>(&address.storage),
                  &address.length) < 0)
    return systemError("the address of a socket");
  return Status();
}

bool honert::acceptFrom(const Socket &listener, Socket &socket,
                        SocketAddress &peer) {
  peer.length = sizeof peer.storage;
  socket =
      Socket(accept(listener.get(), reinterpret_cast<sockaddr *>(&peer.storage),
                    &peer.length));
  if (!socket.isOpen())
    return false;
  unmap(peer);
  return prepare(socket).ok();
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

bool honert::awaitInput(const Socket &socket, const Deadline &deadline) {
  return waitFor(socket, POLLIN, deadline);
}

int64_t honert::firstClosed(const std::vector<Socket> &sockets) {
  std::vector<pollfd> polled; // those that are not open are skipped by poll
  for (const Socket &socket : sockets)
    polled.push_back({socket.get(), POLLRDHUP, 0});
  if (poll(polled.data(), polled.size(), 0) <= 0)
    return -1;
  auto closed = std::find_if(polled.begin(), polled.end(),
                             [](const pollfd &each) { return each.revents; });
  return closed == polled.end() ? -1 : closed - polled.begin();
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
