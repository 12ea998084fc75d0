//===- SocketMeeting.cpp - How processes find each other over TCP ---------===//

#include "comm/SocketMeeting.h"

#include <algorithm>

using namespace honert;

/// Not what another service sends.
static constexpr uint64_t magic = 0x31656e6f486f6e65;

/// Rank 0 answers at once; what takes longer is something else.
static constexpr double answerSeconds = 5;

/// How rank 0 answers a hello.
enum Answer : int64_t {
  welcome = 0x77656c636f6d65,
  otherRun,
  otherSize,
  twice
};

SocketMeeting::Hello SocketMeeting::hello(int64_t port) const {
  return {magic, run, place.rank, place.size, port};
}

static Status about(int64_t rank, const Status &status) {
  if (status.ok())
    return status;
  return Status::error(format("rank %lld %s", static_cast<long long>(rank),
                              status.message().c_str()));
}

Status SocketMeeting::sayTo(int64_t rank, const Socket &socket,
                            const void *data, size_t bytes) const {
  return about(rank, sendAll(socket, data, bytes, deadline));
}

Status SocketMeeting::hearFrom(int64_t rank, const Socket &socket, void *data,
                               size_t bytes) const {
  return about(rank, receiveAll(socket, data, bytes, deadline));
}

/// The next rank that connects; what says something else is let go.
Status SocketMeeting::acceptRank(const Socket &listener, SocketAddress &from,
                                 Hello &said) {
  while (true) {
    Socket socket;
    HONERT_TRY(acceptBy(deadline, listener, socket, &from));
    if (deadline.isOver()) {
      std::string missing;
      for (int64_t rank = 0; rank != place.size; ++rank)
        if (rank != place.rank && !peers[static_cast<size_t>(rank)].isOpen())
          missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
      return Status::error(format("the ranks %s have not come in time "
                                  "(--comm-timeout)",
                                  missing.c_str()));
    }
    Deadline soon(answerSeconds);
    said = {};
    if (!socket.isOpen() ||
        !receiveAll(socket, &said, sizeof said, soon).ok() ||
        said.magic != magic)
      continue;
    bool isRank = said.rank >= 0 && said.rank < place.size;
    Answer answer = said.run != run                      ? otherRun
                    : said.size != place.size || !isRank ? otherSize
                    : said.rank == place.rank ||
                            peers[static_cast<size_t>(said.rank)].isOpen()
                        ? twice
                        : welcome;
    if (!sendAll(socket, &answer, sizeof answer, soon).ok() ||
        answer != welcome)
      continue;
    peers[static_cast<size_t>(said.rank)] = std::move(socket);
    return Status();
  }
}

Status SocketMeeting::lead(const Socket &listener) {
  std::vector<Place> places(peers.size());
  for (int64_t come = 1; come != place.size; ++come) {
    SocketAddress from;
    Hello said;
    HONERT_TRY(acceptRank(listener, from, said));
    from.setPort(said.port);
    places[static_cast<size_t>(said.rank)] = {from, from.isLoopback()};
  }
  for (int64_t rank = 1; rank != place.size; ++rank)
    HONERT_TRY(sayTo(rank, peers[static_cast<size_t>(rank)], places.data(),
                     places.size() * sizeof(Place)));
  return Status();
}

/// Connects to the ranks from 1 below the own, and waits for those above.
Status SocketMeeting::meetOthers(const SocketAddress &first,
                                 const Socket &listener) {
  std::vector<Place> places(peers.size());
  HONERT_TRY(
      hearFrom(0, peers[0], places.data(), places.size() * sizeof(Place)));
  for (int64_t rank = 1; rank != place.rank; ++rank) {
    auto index = static_cast<size_t>(rank);
    Place &other = places[index];
    if (other.isBesideFirst) { // rank 0 sees it where no other does
      SocketAddress address = first;
      address.setPort(other.address.port());
      other.address = address;
    }
    Socket socket;
    HONERT_TRY(connectTo(other.address, deadline, socket));
    if (!socket.isOpen())
      return Status::error(
          format("rank %lld cannot be reached", static_cast<long long>(rank)));
    Hello own = hello(0);
    int64_t answer = 0;
    HONERT_TRY(sayTo(rank, socket, &own, sizeof own));
    HONERT_TRY(hearFrom(rank, socket, &answer, sizeof answer));
    if (answer != welcome)
      return Status::error(format("rank %lld takes this for another run",
                                  static_cast<long long>(rank)));
    peers[index] = std::move(socket);
  }
  for (int64_t above = place.rank + 1; above != place.size; ++above) {
    SocketAddress from;
    Hello said;
    HONERT_TRY(acceptRank(listener, from, said));
  }
  return Status();
}

Status SocketMeeting::follow(const SocketAddress &address, bool &isThere) {
  int64_t port = 0, answer = 0;
  Socket listener, socket;
  isThere = false;
  HONERT_TRY(connectTo(address, Deadline(answerSeconds), socket));
  if (!socket.isOpen())
    return Status();
  HONERT_TRY(listenAt(port, place.size, listener));
  Deadline soon(answerSeconds);
  Hello own = hello(port);
  Status answered = sendAll(socket, &own, sizeof own, soon);
  if (answered.ok())
    answered = receiveAll(socket, &answer, sizeof answer, soon);
  if (!answered.ok())
    return Status::error("what listens there " + answered.message());
  isThere = true;
  switch (answer) {
  case welcome:
    break;
  case otherRun:
    return Status::error("rank 0 there is of another run");
  case otherSize:
    return Status::error(format("rank 0 there is not of %lld ranks",
                                static_cast<long long>(place.size)));
  case twice:
    return Status::error(format("rank %lld is there already",
                                static_cast<long long>(place.rank)));
  default:
    isThere = false;
    return Status::error("what listens there is no rank 0");
  }
  peers[0] = std::move(socket);
  return meetOthers(address, listener);
}
