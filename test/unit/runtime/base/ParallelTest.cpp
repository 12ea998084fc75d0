//===- ParallelTest.cpp - Ranges over threads -----------------------------===//

#include "base/Parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>
#include <vector>

using namespace honert;

namespace {

TEST(ThreadPool, ranges_cover_the_items_once) {
  for (int threads : {1, 2, 3, 5})
    for (int64_t items : {0, 1, 7, 64, 1000})
      for (int64_t grain : {1, 4, 64, 5000}) {
        ThreadPool pool(threads);
        std::vector<std::atomic<int>> visits(static_cast<size_t>(items));
        pool.run(items, grain, [&](int64_t lo, int64_t hi) {
          EXPECT_EQ(lo % grain, 0);
          EXPECT_LT(lo, hi);
          for (int64_t i = lo; i < hi; ++i)
            ++visits[static_cast<size_t>(i)];
        });
        for (auto &count : visits)
          ASSERT_EQ(count, 1);
      }
}

/// Processor time of all threads.
static double processSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

// As libgomp is by default, the second thread would look for work 300000 times,
// 7 ms or more; as it is told to wait, 0.3 ms. (With more threads than cores it
// waits 1000 times in any case.)
TEST(ThreadPool, threads_without_work_sleep) {
  if (availableCores() < 2)
    GTEST_SKIP() << "one core";
  ThreadPool pool(2);
  double spent = 0;
  for (int i = 0; i < 20; ++i) {
    pool.run(2, 1, [](int64_t, int64_t) {});
    double before = processSeconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    spent += processSeconds() - before;
  }
  EXPECT_LT(spent, 0.035);
}

TEST(ThreadPool, every_thread_flushes_subnormals) {
  ThreadPool pool(3);
  std::atomic<int> kept{0};
  pool.run(3, 1, [&](int64_t lo, int64_t hi) {
    volatile float tiny = 1e-38f;
    for (int64_t i = lo; i < hi; ++i)
      kept += tiny * 0.5f != 0;
  });
  EXPECT_EQ(kept, 0);
  DefaultFloatMode mode;
  volatile float tiny = 1e-38f;
  EXPECT_NE(tiny * 0.5f, 0);
}

} // namespace
