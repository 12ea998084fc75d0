//===- Rendezvous.cpp - How processes find each other over TCP ------------===//

#include "comm/tcp/Rendezvous.h"

#include <cstring>
#include <netinet/in.h>
#include <thread>

using namespace honert;

static Status about(int64_t rank, const Status &status) {
  if (status.ok())
    return status;
  return Status::error(format("rank %lld %s", static_cast<long long>(rank),
                              status.message().c_str()));
}

Status Rendezvous::sayTo(int64_t rank, const Socket &socket, const void *data,
                         size_t bytes) const {
  return about(rank, sendAll(socket, data, bytes, deadline));
}

Status Rendezvous::hearFrom(int64_t rank, const Socket &socket, void *data,
                            size_t bytes) const {
  return about(rank, receiveAll(socket, data, bytes, deadline));
}

//===----------------------------------------------------------------------===//
// Places on the wire
//===----------------------------------------------------------------------===//

static_assert(sizeof(WirePlace) == 24, "a place without padding");

WirePlace honert::toWire(const SocketAddress &address) {
  WirePlace wire = {};
  wire.port = static_cast<uint16_t>(address.port());
  wire.isBesideFirst = address.isLoopback();
  if (address.storage.ss_family == AF_INET) {
    wire.family = 4;
    std::memcpy(
        wire.address,
        &reinterpret_cast<const sockaddr_in &>(address.storage).sin_addr, 4);
    return wire;
  }
  const auto &six = reinterpret_cast<const sockaddr_in6 &>(address.storage);
  wire.family = 6;
  wire.scope = six.sin6_scope_id;
  std::memcpy(wire.address, &six.sin6_addr, sizeof wire.address);
  return wire;
}

bool honert::fromWire(const WirePlace &wire, SocketAddress &address) {
  address = SocketAddress();
  if ((wire.family != 4 && wire.family != 6) || wire.port == 0)
    return false;
  if (wire.family == 4) {
    auto &four = reinterpret_cast<sockaddr_in &>(address.storage);
    four.sin_family = AF_INET;
    std::memcpy(&four.sin_addr, wire.address, 4);
    address.length = sizeof four;
  } else {
    auto &six = reinterpret_cast<sockaddr_in6 &>(address.storage);
    six.sin6_family = AF_INET6;
    six.sin6_scope_id = wire.scope;
    std::memcpy(&six.sin6_addr, wire.address, sizeof wire.address);
    address.length = sizeof six;
  }
  address.setPort(wire.port);
  return true;
}

//===----------------------------------------------------------------------===//
// Those who call
//===----------------------------------------------------------------------===//

/// A rank whose connection is gone may come again.
Verdict Rendezvous::judge(const Hello &hello) const {
  if (hello.rank < lowest)
    return Verdict::noSuchRank;
  const Socket &peer = peers[static_cast<size_t>(hello.rank)];
  return peer.isOpen() && !hasClosed(peer) ? Verdict::twice : Verdict::welcome;
}

std::string Rendezvous::missing() const {
  std::string ranks;
  for (int64_t rank = lowest; rank != place.size; ++rank)
    if (!peers[static_cast<size_t>(rank)].isOpen())
      ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
  return ranks;
}

/// Until every rank from `lowest` is there. `places`: where they listen.
Status Rendezvous::gather(Admission &admission,
                          const std::vector<Socket> &listeners,
                          std::vector<SocketAddress> *places) {
  while (true) {
    for (int64_t rank = lowest; rank != place.size; ++rank)
      if (Socket &peer = peers[static_cast<size_t>(rank)];
          peer.isOpen() && places && hasClosed(peer))
        peer = Socket();
    std::string ranks = missing();
    if (ranks.empty())
      return Status();
    Guest guest;
    HONERT_TRY(admission.next(listeners, deadline, guest));
    if (!guest.socket.isOpen())
      return Status::error(format(
          "the ranks %s have not come in time (--comm-timeout)%s%s",
          ranks.c_str(), admission.lastRefusal().empty() ? "" : "; refused: ",
          admission.lastRefusal().c_str()));
    auto index = static_cast<size_t>(guest.hello.rank);
    peers[index] = std::move(guest.socket);
    if (places) {
      (*places)[index] = guest.from;
      (*places)[index].setPort(guest.hello.port);
    }
  }
}

Status Rendezvous::lead(const std::vector<Socket> &listeners,
                        bool isEverywhere) {
  std::vector<SocketAddress> places(peers.size());
  Admission admission(key, place.rank, place.size, isEverywhere,
                      [this](const Hello &hello) { return judge(hello); });
  HONERT_TRY(gather(admission, listeners, &places));
  std::vector<WirePlace> wire(peers.size());
  for (size_t rank = 1; rank != wire.size(); ++rank)
    wire[rank] = toWire(places[rank]);
  for (int64_t rank = 1; rank != place.size; ++rank)
    HONERT_TRY(sayTo(rank, peers[static_cast<size_t>(rank)], wire.data(),
                     wire.size() * sizeof(WirePlace)));
  return Status();
}

//===----------------------------------------------------------------------===//
// Those who are called
//===----------------------------------------------------------------------===//

/// Calls a rank that listens, until it has time.
Status Rendezvous::meet(int64_t rank, const SocketAddress &address) {
  while (true) {
    Call call(key, place.rank, place.size, rank);
    Reply reply = call.open(address, deadline);
    if (reply == Reply::welcome)
      reply = call.introduce(/*port=*/0, deadline);
    if (reply == Reply::welcome) {
      peers[static_cast<size_t>(rank)] = std::move(call.connection());
      return Status();
    }
    bool isLate = deadline.isOver();
    bool isFinal = reply != Reply::silent && reply != Reply::busy;
    if (isFinal || isLate)
      return about(rank, Status::error(call.reason()));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

/// Connects to the ranks from 1 below the own, and waits for those above.
Status Rendezvous::meetOthers(const SocketAddress &first,
                              const std::vector<Socket> &listeners,
                              bool isEverywhere) {
  std::vector<WirePlace> places(peers.size());
  HONERT_TRY(
      hearFrom(0, peers[0], places.data(), places.size() * sizeof(WirePlace)));
  for (int64_t rank = 1; rank != place.rank; ++rank) {
    const WirePlace &other = places[static_cast<size_t>(rank)];
    SocketAddress address;
    if (!fromWire(other, address))
      return Status::error(format("rank 0 does not tell where rank %lld is",
                                  static_cast<long long>(rank)));
    if (other.isBesideFirst) { // rank 0 sees it where no other does
      address = first;
      address.setPort(other.port);
    }
    HONERT_TRY(meet(rank, address));
  }
  lowest = place.rank + 1;
  Admission admission(key, place.rank, place.size, isEverywhere,
                      [this](const Hello &hello) { return judge(hello); });
  return gather(admission, listeners, nullptr);
}

/// Says hello to rank 0, with a socket that listens where the connection to it
/// leaves this machine. On rank 0's own machine that may be where no other rank
/// comes: then everywhere, as rank 0 does.
Status Rendezvous::callFirst(const SocketAddress &address, Call &call,
                             Reply &reply, Socket &listener) {
  reply = call.open(address, Deadline(answerSeconds, deadline));
  if (reply != Reply::welcome)
    return Status();
  SocketAddress own;
  HONERT_TRY(SocketAddress::ofSocket(call.connection(), own));
  own.unmap();
  if (own.isLoopback() && call.calledIsEverywhere())
    own = SocketAddress::everywhere(0);
  own.setPort(0);
  HONERT_TRY(listenAt(own, listener));
  reply = call.introduce(own.port(), deadline);
  return Status();
}

Status Rendezvous::follow(const std::vector<SocketAddress> &addresses,
                          bool &isThere) {
  isThere = false;
  for (const SocketAddress &address : addresses) {
    Deadline soon(answerSeconds);
    Call call(key, place.rank, place.size, /*called=*/0);
    Reply reply;
    std::vector<Socket> listeners(1);
    HONERT_TRY(callFirst(address, call, reply, listeners[0]));
    if (reply == Reply::absent)
      continue;
    if (reply == Reply::silent && !patience)
      patience = soon;
    bool mayTryAgain =
        reply == Reply::busy || (reply == Reply::silent && !patience->isOver());
    if (mayTryAgain && !deadline.isOver())
      return Status();
    isThere = reply == Reply::welcome || reply == Reply::refused;
    if (reply != Reply::welcome)
      return Status::error("what listens there " + call.reason());
    peers[0] = std::move(call.connection());
    return meetOthers(address, listeners, call.calledIsEverywhere());
  }
  return Status();
}
