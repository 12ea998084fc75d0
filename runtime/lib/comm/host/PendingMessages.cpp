//===- PendingMessages.cpp - Messages that complete together --------------===//

#include "comm/host/PendingMessages.h"

#include <algorithm>
#include <sched.h>
#include <time.h>

using namespace honert;

Status PendingMessages::keep(const Status &status) {
  if (!status.ok()) {
    failure = status;
    messages.clear();
  }
  return status;
}

/// Calls `post(at, length, message)` for the messages of `bytes` bytes.
template <typename Post>
Status PendingMessages::postAll(int64_t bytes, Post post) {
  HONERT_TRY(failure);
  for (int64_t at = 0; at < bytes; at += PointToPoint::largestMessage) {
    Message message;
    int64_t length = std::min(bytes - at, PointToPoint::largestMessage);
    HONERT_TRY(keep(post(at, length, message)));
    messages.push_back(message);
  }
  return Status();
}

Status PendingMessages::send(int64_t to, int64_t tag, const char *data,
                             int64_t bytes) {
  return postAll(bytes, [&](int64_t at, int64_t length, Message &message) {
    return peers.send(to, tag, data + at, length, message);
  });
}

Status PendingMessages::receive(int64_t from, int64_t tag, char *data,
                                int64_t bytes) {
  return postAll(bytes, [&](int64_t at, int64_t length, Message &message) {
    return peers.receive(from, tag, data + at, length, message);
  });
}

/// Lets others have the core: the ranks waited for may share it. A wait that
/// has become long costs little then.
static void rest(int64_t looks) {
  constexpr int64_t few = 64, many = 1000; // about 10 us and 0.5 ms
  if (looks < few)
    return;
  if (looks < many) {
    sched_yield();
    return;
  }
  timespec time = {0, 50000};
  nanosleep(&time, nullptr);
}

Status PendingMessages::await(int64_t number) {
  int64_t looks = 0;
  for (Message &message : messages) {
    // Looking at one message moves all.
    for (bool isDone = false;; rest(looks++)) {
      HONERT_TRY(peers.test(message, isDone));
      if (isDone)
        break;
      if (looks % 64 == 0)
        log.wait(number, message.peer);
    }
  }
  messages.clear();
  return Status();
}

/// Forgets the messages that are done, the oldest first.
Status PendingMessages::test() {
  auto first = messages.begin();
  for (bool isDone = true; first != messages.end(); ++first) {
    HONERT_TRY(peers.test(*first, isDone));
    if (!isDone)
      break;
  }
  messages.erase(messages.begin(), first);
  return Status();
}

Status PendingMessages::progress() {
  HONERT_TRY(failure);
  return keep(test());
}

Status PendingMessages::finish(int64_t number) {
  HONERT_TRY(failure);
  return keep(await(number));
}
