//===- SocketProcessGroup.cpp - Ranks connected to rank 0 -----------------===//

#include "comm/tcp/SocketProcessGroup.h"

#include <cstring>

using namespace honert;

/// Between two looks for ranks that have left.
static constexpr double period = 0.05; // s

/// The watchdog of the process ends waits.
static const Deadline never(0);

SocketProcessGroup::SocketProcessGroup(int64_t rank, int64_t size,
                                       std::vector<Socket> peers,
                                       double timeout)
    : ownRank(rank), ranks(size), peers(std::move(peers)),
      watchdog(log(), rank, timeout,
               {[this] {
                  // The others are told; this rank hears of it when it asks.
                  if (isFirst())
                    (void)findLost();
                  return Status();
                },
                {}}) {
  setTimeout(timeout);
}

//===----------------------------------------------------------------------===//
// Ranks that have left
//===----------------------------------------------------------------------===//

/// Sends a frame to all ranks that it is not about and that have room for it.
void SocketProcessGroup::notify(const Frame &frame, const Deadline &deadline) {
  for (int64_t rank = 1; rank != size(); ++rank) {
    const Socket &peer = peers[static_cast<size_t>(rank)];
    if (rank == frame.value)
      continue;
    ssize_t sent =
        ::send(peer.get(), &frame, sizeof frame, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) // the rest, of a frame of which a part has gone
      (void)sendAll(peer, reinterpret_cast<const char *>(&frame) + sent,
                    sizeof frame - static_cast<size_t>(sent), deadline);
  }
}

/// The error after rank `gone` has left.
Status SocketProcessGroup::lost(int64_t gone) {
  if (isFirst())
    notify({Frame::left, gone}, Deadline(1));
  return Status::error(
      format("rank %lld has left the run", static_cast<long long>(gone)));
}

bool SocketProcessGroup::isNotice(const Frame &frame) const {
  return (frame.kind == Frame::awaits || frame.kind == Frame::left) &&
         frame.value >= 0 && frame.value < size();
}

/// An error if a rank has left. Between messages, without waiting.
Status SocketProcessGroup::look() {
  Frame frame;
  while (!isFirst() &&
         recv(peers[0].get(), &frame, sizeof frame, MSG_PEEK | MSG_DONTWAIT) ==
             sizeof frame &&
         isNotice(frame)) {
    if (frame.kind == Frame::left)
      return lost(frame.value);
    (void)recv(peers[0].get(), &frame, sizeof frame, 0);
  }
  int64_t gone = firstClosed(peers);
  return gone < 0 ? Status() : lost(gone);
}

Status SocketProcessGroup::findLost() {
  std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  if (!lock) // whoever exchanges something sees it
    return Status();
  if (failure.ok() && !isEnding)
    failure = look();
  return failure;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// In the log's entry `number`, as receive().
Status SocketProcessGroup::send(int64_t number, int64_t to, const void *data,
                                int64_t bytes) {
  const Socket &peer = peers[static_cast<size_t>(to)];
  log().wait(number, to);
  Frame frame = {Frame::data, bytes};
  Status sent = sendAll(peer, &frame, sizeof frame, never);
  if (sent.ok())
    sent = sendAll(peer, data, static_cast<size_t>(bytes), never);
  if (sent.ok())
    return sent;
  Status told = isFirst() ? Status() : look();
  return told.ok() ? lost(to) : told;
}

/// For rank 0: waits for a rank, and meanwhile looks after the others.
Status SocketProcessGroup::awaitFrame(int64_t from) {
  const Socket &peer = peers[static_cast<size_t>(from)];
  for (bool isTold = false; !awaitInput(peer, Deadline(period));
       isTold = true) {
    if (int64_t gone = firstClosed(peers); gone >= 0)
      return lost(gone);
    if (!isTold)
      notify({Frame::awaits, from}, never);
  }
  return Status();
}

Status SocketProcessGroup::receive(int64_t number, int64_t from, void *data,
                                   int64_t bytes) {
  const Socket &peer = peers[static_cast<size_t>(from)];
  log().wait(number, from);
  Frame frame;
  do {
    if (isFirst())
      HONERT_TRY(awaitFrame(from));
    if (!receiveAll(peer, &frame, sizeof frame, never).ok())
      return lost(from);
    if (frame.kind != Frame::data && (isFirst() || !isNotice(frame)))
      return Status::error(format("rank %lld sent what is no message",
                                  static_cast<long long>(from)));
    if (frame.kind == Frame::left)
      return lost(frame.value);
    if (frame.kind == Frame::awaits)
      log().wait(number, frame.value);
  } while (frame.kind != Frame::data);
  if (frame.value != bytes)
    return Status::error(format("rank %lld sent %lld bytes, expected %lld",
                                static_cast<long long>(from),
                                static_cast<long long>(frame.value),
                                static_cast<long long>(bytes)));
  return receiveAll(peer, data, static_cast<size_t>(bytes), never).ok()
             ? Status()
             : lost(from);
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

Status
SocketProcessGroup::run(const std::string &what,
                        const std::function<Status(int64_t number)> &body) {
  std::lock_guard<std::mutex> lock(mutex);
  HONERT_TRY(failure);
  int64_t number = log().begin(what);
  failure = body(number);
  if (failure.ok())
    log().end(number);
  return failure;
}

Status SocketProcessGroup::broadcast(void *data, int64_t bytes, int64_t root) {
  std::string what =
      format("broadcast of %lld bytes between steps from rank %lld",
             static_cast<long long>(bytes), static_cast<long long>(root));
  return run(what, [&](int64_t number) {
    if (!isFirst())
      return rank() == root ? send(number, 0, data, bytes)
                            : receive(number, 0, data, bytes);
    if (root != 0)
      HONERT_TRY(receive(number, root, data, bytes));
    for (int64_t peer = 1; peer != size(); ++peer)
      if (peer != root)
        HONERT_TRY(send(number, peer, data, bytes));
    return Status();
  });
}

Status SocketProcessGroup::allGather(const void *own, int64_t bytes,
                                     void *all) {
  auto *blocks = static_cast<char *>(all);
  std::string what = format("exchange of %lld bytes between steps by all ranks",
                            static_cast<long long>(bytes));
  return run(what, [&](int64_t number) {
    if (!isFirst()) {
      HONERT_TRY(send(number, 0, own, bytes));
      return receive(number, 0, blocks, size() * bytes);
    }
    std::memcpy(blocks, own, static_cast<size_t>(bytes));
    for (int64_t peer = 1; peer != size(); ++peer)
      HONERT_TRY(receive(number, peer, blocks + peer * bytes, bytes));
    for (int64_t peer = 1; peer != size(); ++peer)
      HONERT_TRY(send(number, peer, blocks, size() * bytes));
    return Status();
  });
}

void SocketProcessGroup::leave(const Status &ended) {
  if (!ended.ok()) // connections that close end the others
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    isEnding = true;
  }
  (void)barrier();
}
