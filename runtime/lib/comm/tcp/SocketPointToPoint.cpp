//===- SocketPointToPoint.cpp - Messages over TCP -------------------------===//

#include "comm/tcp/SocketPointToPoint.h"

#include <algorithm>
#include <cerrno>

using namespace honert;

SocketPointToPoint::SocketPointToPoint(const LauncherEnvironment &place,
                                       std::vector<Socket> sockets)
    : place(place), peers(sockets.size()) {
  for (size_t rank = 0; rank != peers.size(); ++rank)
    peers[rank].socket = std::move(sockets[rank]);
}

static Status lost(int64_t rank) {
  return Status::error(
      format("rank %lld has left the run", static_cast<long long>(rank)));
}

/// Forgets what was asked for; nothing is asked for again.
Status SocketPointToPoint::fail(const Status &status) {
  if (status.ok())
    return status;
  failure = status;
  for (Peer &peer : peers) {
    peer.toSend.clear();
    peer.toReceive.clear();
    peer.target = nullptr;
  }
  pendings.clear();
  return status;
}

SocketPointToPoint::Pending *
SocketPointToPoint::add(int64_t tag, const void *data, int64_t bytes) {
  pendings.push_back(
      {{tag, bytes}, static_cast<char *>(const_cast<void *>(data))});
  pendings.back().self = std::prev(pendings.end());
  return &pendings.back();
}

Status SocketPointToPoint::send(int64_t to, int64_t tag, const void *data,
                                int64_t bytes, Message &message) {
  HONERT_TRY(failure);
  Pending *pending = add(tag, data, bytes);
  Peer &peer = peers[static_cast<size_t>(to)];
  peer.toSend.push_back(pending);
  message = {to, pending};
  sendSome(peer);
  return Status();
}

Status SocketPointToPoint::receive(int64_t from, int64_t tag, void *data,
                                   int64_t bytes, Message &message) {
  HONERT_TRY(failure);
  Pending *pending = add(tag, data, bytes);
  message = {from, pending};
  return fail(take(peers[static_cast<size_t>(from)], pending, from));
}

static Status otherSize(int64_t from, int64_t sent, int64_t expected) {
  return Status::error(format(
      "rank %lld sent %lld bytes, expected %lld", static_cast<long long>(from),
      static_cast<long long>(sent), static_cast<long long>(expected)));
}

/// Gives a new wish what has come of it already.
Status SocketPointToPoint::take(Peer &peer, Pending *pending, int64_t from) {
  int64_t tag = pending->header.tag, bytes = pending->header.bytes;
  auto came = std::find_if(peer.early.begin(), peer.early.end(),
                           [&](const Early &each) { return each.tag == tag; });
  // One that is coming in is the last in `early`.
  bool isWhole = came != peer.early.end() &&
                 !(peer.headerBytes == sizeof(Header) && !peer.target &&
                   std::next(came) == peer.early.end());
  if (came == peer.early.end()) {
    peer.toReceive.push_back(pending);
  } else if (came->size != bytes) {
    return otherSize(from, came->size, bytes);
  } else if (isWhole) {
    std::copy_n(came->bytes.begin(), bytes, pending->data);
    pending->isDone = true;
    peer.early.erase(came);
  } else { // what follows goes straight to the receiver
    std::copy_n(came->bytes.begin(), peer.bytes, pending->data);
    peer.target = pending;
    peer.early.erase(came);
  }
  return Status();
}

void SocketPointToPoint::sendSome(Peer &peer) {
  while (!peer.toSend.empty() && !peer.isLost) {
    Pending &first = *peer.toSend.front();
    constexpr int64_t headerBytes = sizeof(Header);
    bool isHeader = first.moved < headerBytes;
    const char *at =
        isHeader ? reinterpret_cast<const char *>(&first.header) + first.moved
                 : first.data + (first.moved - headerBytes);
    int64_t left = (isHeader ? headerBytes : headerBytes + first.header.bytes) -
                   first.moved;
    if (left > 0) {
      ssize_t sent = ::send(peer.socket.get(), at, static_cast<size_t>(left),
                            MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0) {
        peer.isLost = errno != EAGAIN && errno != EINTR;
        return;
      }
      first.moved += sent;
    }
    if (first.moved < headerBytes + first.header.bytes)
      continue;
    first.isDone = true;
    peer.toSend.pop_front();
  }
}

/// The header has come: finds out where its bytes go.
Status SocketPointToPoint::beginBody(Peer &peer, int64_t number) {
  const Header &header = peer.header;
  peer.bytes = 0;
  if (header.tag < 0 || header.tag > largestTag || header.bytes < 0 ||
      header.bytes > largestMessage)
    return Status::error(format("rank %lld sent what is no message",
                                static_cast<long long>(number)));
  auto wish = std::find_if(
      peer.toReceive.begin(), peer.toReceive.end(),
      [&](Pending *each) { return each->header.tag == header.tag; });
  if (wish == peer.toReceive.end()) {
    peer.target = nullptr;
    peer.early.push_back({header.tag, header.bytes, {}});
    return Status();
  }
  peer.target = *wish;
  peer.toReceive.erase(wish);
  if (peer.target->header.bytes == header.bytes)
    return Status();
  return otherSize(number, header.bytes, peer.target->header.bytes);
}

/// Where the next bytes of a message go, and how many at most. What was not
/// asked for gets memory as it comes: a size alone takes none.
char *SocketPointToPoint::roomFor(Peer &peer, int64_t &most) {
  constexpr int64_t piece = int64_t(1) << 20;
  most = peer.header.bytes - peer.bytes;
  if (peer.target)
    return peer.target->data + peer.bytes;
  std::vector<char> &bytes = peer.early.back().bytes;
  most = std::min(most, piece);
  if (static_cast<int64_t>(bytes.size()) < peer.bytes + most)
    bytes.resize(static_cast<size_t>(peer.bytes + most));
  return bytes.data() + peer.bytes;
}

void SocketPointToPoint::endBody(Peer &peer) {
  if (peer.target)
    peer.target->isDone = true;
  peer.target = nullptr;
  peer.headerBytes = 0;
}

Status SocketPointToPoint::receiveSome(Peer &peer, int64_t number) {
  while (!peer.isLost) {
    bool isHeader = peer.headerBytes < int64_t(sizeof(Header));
    char *at = reinterpret_cast<char *>(&peer.header) + peer.headerBytes;
    int64_t left = int64_t(sizeof(Header)) - peer.headerBytes;
    if (!isHeader)
      at = roomFor(peer, left);
    if (left > 0) {
      ssize_t came =
          recv(peer.socket.get(), at, static_cast<size_t>(left), MSG_DONTWAIT);
      if (came <= 0) {
        peer.isLost = came == 0 || (errno != EAGAIN && errno != EINTR);
        return Status();
      }
      (isHeader ? peer.headerBytes : peer.bytes) += came;
    }
    bool isWhole = isHeader ? peer.headerBytes == int64_t(sizeof(Header))
                            : peer.bytes == peer.header.bytes;
    if (!isWhole)
      continue;
    if (isHeader)
      HONERT_TRY(beginBody(peer, number));
    if (!isHeader || peer.header.bytes == 0)
      endBody(peer);
  }
  return Status();
}

Status SocketPointToPoint::moveAll() {
  for (size_t number = 0; number != peers.size(); ++number)
    if (Peer &peer = peers[number]; peer.socket.isOpen()) {
      sendSome(peer);
      if (!peer.toReceive.empty() || peer.target)
        HONERT_TRY(receiveSome(peer, static_cast<int64_t>(number)));
    }
  return Status();
}

Status SocketPointToPoint::test(Message &message, bool &isDone) {
  HONERT_TRY(failure);
  HONERT_TRY(fail(moveAll()));
  auto *pending = static_cast<Pending *>(message.handle);
  isDone = pending->isDone;
  if (!isDone && peers[static_cast<size_t>(message.peer)].isLost)
    return fail(lost(message.peer));
  if (isDone)
    pendings.erase(pending->self);
  return Status();
}

Status SocketPointToPoint::findLost() const {
  for (size_t number = 0; number != peers.size(); ++number)
    if (peers[number].socket.isOpen() && hasClosed(peers[number].socket))
      return lost(static_cast<int64_t>(number));
  return Status();
}
