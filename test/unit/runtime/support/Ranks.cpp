//===- Ranks.cpp - The ranks of a run as threads of a test ----------------===//

#include "support/Ranks.h"
#include "program/Transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

using namespace honert;

namespace {
/// Where ranks show each other a piece of memory.
class Board {
public:
  explicit Board(int64_t ranks) : shown(size_t(ranks)) {}

  /// `read` sees what all ranks show, while all wait.
  template <typename Read>
  Status exchange(int64_t rank, const void *own, Read read) {
    shown[size_t(rank)] = static_cast<const char *>(own);
    HONERT_TRY(meet());
    read(shown);
    return meet();
  }
  int64_t ranks() const { return int64_t(shown.size()); }

private:
  Status meet() {
    std::unique_lock<std::mutex> lock(mutex);
    int64_t now = round;
    if (++waiting == ranks()) {
      waiting = 0;
      ++round;
      changed.notify_all();
      return Status();
    }
    bool came = changed.wait_for(lock, std::chrono::seconds(20),
                                 [&] { return round != now; });
    return came ? Status() : Status::error("a rank did not come");
  }

  std::vector<const char *> shown;
  std::mutex mutex;
  std::condition_variable changed;
  int64_t waiting = 0, round = 0;
};

class ThreadProcessGroup final : public ProcessGroup {
public:
  ThreadProcessGroup(Board &board, int64_t own) : board(board), own(own) {}

  int64_t rank() const override { return own; }
  int64_t size() const override { return board.ranks(); }
  Status broadcast(void *data, int64_t bytes, int64_t root) override {
    return board.exchange(own, data, [&](const auto &shown) {
      if (own != root && bytes > 0) // of none, the place may be null
        std::memcpy(data, shown[size_t(root)], size_t(bytes));
    });
  }
  Status allGather(const void *data, int64_t bytes, void *all) override {
    return board.exchange(own, data, [&](const auto &shown) {
      for (size_t i = 0; i != shown.size() && bytes > 0; ++i)
        std::memcpy(static_cast<char *>(all) + int64_t(i) * bytes, shown[i],
                    size_t(bytes));
    });
  }
  std::unique_ptr<Transport> makeTransport(const Mesh &mesh) override;

private:
  Board &board;
  int64_t own;
};

/// All-reduces of f32, each sum in the order of the ranks.
class ThreadTransport final : public Transport {
public:
  ThreadTransport(Board &board, int64_t rank, const Mesh &mesh)
      : board(board), rank(rank), mesh(mesh) {}

  Status prepare(const Launch &) override { return Status(); }
  Status run(const Launch &launch, char *memory) override {
    const auto &sum = std::get<CollectiveLaunch>(launch.action);
    EXPECT_EQ(sum.kind, CollectiveKind::allReduce);
    std::vector<float> total(size_t(sum.count));
    HONERT_TRY(board.exchange(rank, memory + sum.in, [&](const auto &shown) {
      for (int64_t member : mesh.groupOf(rank, sum.axes))
        for (size_t i = 0; i != total.size(); ++i)
          total[i] += reinterpret_cast<const float *>(shown[size_t(member)])[i];
    }));
    std::memcpy(memory + sum.out, total.data(), total.size() * 4);
    return Status();
  }
  Status wait(int64_t) override { return Status(); }

private:
  Board &board;
  int64_t rank;
  const Mesh &mesh;
};
} // namespace

std::unique_ptr<Transport> ThreadProcessGroup::makeTransport(const Mesh &mesh) {
  return std::make_unique<ThreadTransport>(board, own, mesh);
}

std::vector<Status>
test::runRanks(int64_t ranks,
               const std::function<Status(ProcessGroup &)> &body) {
  Board board(ranks);
  std::vector<Status> results(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank != ranks; ++rank)
    threads.emplace_back([&, rank] {
      ThreadProcessGroup world(board, rank);
      results[static_cast<size_t>(rank)] = body(world);
    });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

void test::expectAll(int64_t ranks,
                     const std::function<Status(ProcessGroup &)> &body) {
  for (const Status &status : runRanks(ranks, body))
    EXPECT_TRUE(status.ok()) << status.message();
}
