//===- ThreadRanks.h - Ranks that are threads of a test -------------------===//

#ifndef TEST_UNIT_RUNTIME_THREADRANKS_H
#define TEST_UNIT_RUNTIME_THREADRANKS_H

#include "comm/host/MessageProcessGroup.h"

#include <deque>
#include <map>
#include <mutex>
#include <thread>

namespace test {

/// Messages between threads, kept until they are received.
class MessageHub {
public:
  void put(int64_t from, int64_t to, int64_t tag, std::string bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    queues[{from, to, tag}].push_back(std::move(bytes));
  }
  bool take(int64_t from, int64_t to, int64_t tag, std::string &bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    auto &queue = queues[{from, to, tag}];
    if (queue.empty())
      return false;
    bytes = std::move(queue.front());
    queue.pop_front();
    return true;
  }

private:
  std::mutex mutex;
  std::map<std::array<int64_t, 3>, std::deque<std::string>> queues;
};

/// One thread's end. What it receives with one tag from one rank, it must ask
/// for in the order in which it began.
class ThreadPointToPoint final : public honert::PointToPoint {
public:
  ThreadPointToPoint(MessageHub &hub, int64_t rank, int64_t ranks)
      : hub(hub), own(rank), ranks(ranks) {}

  int64_t rank() const override { return own; }
  int64_t size() const override { return ranks; }
  honert::Status send(int64_t to, int64_t tag, const void *data, int64_t bytes,
                      honert::Message &message) override {
    hub.put(own, to, tag, {static_cast<const char *>(data), size_t(bytes)});
    message = {to, nullptr};
    return {};
  }
  honert::Status receive(int64_t from, int64_t tag, void *data, int64_t bytes,
                         honert::Message &message) override {
    message = {from, new Awaited{tag, static_cast<char *>(data), bytes}};
    return {};
  }
  honert::Status test(honert::Message &message, bool &isDone) override {
    auto *awaited = static_cast<Awaited *>(message.handle);
    std::string bytes;
    isDone = !awaited || hub.take(message.peer, own, awaited->tag, bytes);
    if (!awaited || !isDone)
      return {};
    bool fits = int64_t(bytes.size()) == awaited->bytes;
    if (fits)
      bytes.copy(awaited->data, bytes.size());
    delete awaited;
    return fits ? honert::Status()
                : honert::Status::error("a message of another size");
  }

private:
  struct Awaited {
    int64_t tag;
    char *data;
    int64_t bytes;
  };

  MessageHub &hub;
  int64_t own, ranks;
};

/// Runs body(world) in `ranks` threads, each a rank of one world.
template <typename Body> void onRanks(int64_t ranks, Body body) {
  MessageHub hub;
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank != ranks; ++rank)
    threads.emplace_back([&, rank] {
      honert::MessageProcessGroup world(
          std::make_unique<ThreadPointToPoint>(hub, rank, ranks));
      body(world);
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace test

#endif // TEST_UNIT_RUNTIME_THREADRANKS_H
