//===- WatchdogTest.cpp - Ranks on GPUs that wait in vain -----------------===//
//
// The process ends with the collective's line. Ranks are threads, so it ends
// for all of them with the first.
//
//===----------------------------------------------------------------------===//

#include "support/NcclFixture.h"
#include "support/RankStep.h"
#include "train/MakeExecutor.h"

#include <atomic>

using namespace honert;
using test::RankStep;

namespace {

class NcclWatchdogDeathTest : public test::Nccl {
protected:
  NcclWatchdogDeathTest() {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
  }

  /// Steps of two sums on two ranks, with a kernel between; `lastly` is done in
  /// place of the fourth.
  void run(const std::function<void(int64_t rank)> &lastly) {
    settings.kernels["between"] = {0, [&](void *const *, int64_t, int64_t) {
                                     if (&fake::state() == stopped.load())
                                       sleep(20);
                                   }};
    std::string code = test::ptx(80, {"between"});
    (void)onRanks(2, [&](ProcessGroup &world) {
      RankStep step({2});
      step.collective(CollectiveKind::allReduce, DType::f32, 8, {0});
      step.kernel("between", code);
      step.collective(CollectiveKind::allReduce, DType::f32, 8, {0});
      const Program &program = step.finish(true);
      ThreadPool pool(1);
      auto executor = makeExecutor(program, pool, false, &world);
      HONERT_TRY(executor->start());
      for (int run = 0; run != 4; ++run) {
        if (run == 3)
          lastly(world.rank());
        HONERT_TRY(executor->run(program.functions[0]));
        HONERT_TRY(executor->wait());
      }
      return Status();
    });
  }
  static void sleep(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
  /// The rank whose next kernel does not end.
  std::atomic<fake::State *> stopped{nullptr};
};

// The log lists what the watchdog saw; how much of the steps before is chance.
TEST_F(NcclWatchdogDeathTest, a_rank_that_stops) {
  timeout = 0.3;
  EXPECT_EXIT(run([](int64_t rank) { sleep(rank == 1 ? 20 : 0); }),
              testing::ExitedWithCode(1),
              "rank 0: error: all_reduce a of 32 B at m.py:3 \\(1 of 2 in "
              "'step'\\) \\(number [0-9]+\\) has waited 0.[0-9] s, expected at "
              "most 0.3 s \\(--comm-timeout\\)\n"
              "rank 0: its latest collectives:\n"
              "(.|\n)*all_reduce a of 32 B.*not done");
}

// Either rank may be the first to see that the second sum is not done.
TEST_F(NcclWatchdogDeathTest, a_gpu_that_stops_between_collectives) {
  timeout = 1;
  settings.copiesRunAhead = true; // as a GPU does
  EXPECT_EXIT(run([this](int64_t rank) {
                if (rank == 1)
                  stopped = &fake::state();
              }),
              testing::ExitedWithCode(1),
              "rank [01]: error: all_reduce a of 32 B at m.py:3 \\(2 of 2 in "
              "'step'\\) \\(number [0-9]+\\) has waited [0-9.]+ s");
}

TEST_F(NcclWatchdogDeathTest, an_error_of_the_library) {
  EXPECT_EXIT(run([](int64_t rank) {
                if (rank == 1) {
                  sleep(0.2);
                  fake::failCommunicators(ncclRemoteError);
                  sleep(20);
                }
              }),
              testing::ExitedWithCode(1),
              "rank [01]: error: the ranks along all axes: NCCL: remote "
              "process exited or there was a network error\n"
              "rank [01]: its latest collectives:\n");
}

} // namespace
