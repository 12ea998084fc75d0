//===- OverlapTest.cpp - Products beside collectives ----------------------===//

#include "support/NcclFixture.h"
#include "support/RankStep.h"
#include "train/MakeExecutor.h"

#include <mutex>

using namespace honert;
using test::RankStep;

namespace {

constexpr CollectiveKind sum = CollectiveKind::allReduce;

class NcclOverlap : public test::Nccl {
protected:
  NcclOverlap() {
    settings.algorithmTimes = {1, 1};
    settings.timeOf = [this](const fake::ProductRun &run) {
      std::lock_guard<std::mutex> lock(mutex);
      if (isMain.count(&fake::state()))
        runs.push_back({run.algorithm, run.processors});
      // On fewer multiprocessors, another algorithm is the fastest.
      return (run.algorithm == 1) == (run.processors == 132) ? 1.0 : 2.0;
    };
  }

  /// Starts a step of five products alike, of which three run beside one or two
  /// collectives, on 2 x 2 ranks, and runs it three times.
  std::vector<Status> run() {
    runs.clear();
    return onRanks(4, [&](ProcessGroup &world) {
      RankStep step({2, 2});
      step.matmul(8);
      step.collective(sum, DType::f32, 8, {1}); // ends before the next launch
      step.collective(sum, DType::f32, 8, {0}, 1);
      step.collective(sum, DType::f32, 8, {0}, 2); // behind the one before
      step.matmul(8);
      step.collective(sum, DType::f32, 8, {1}, 3);
      step.matmul(8);
      step.wait(1);
      step.wait(2);
      step.matmul(8);
      step.wait(3);
      step.matmul(8);
      const Program &program = step.finish(true);
      ThreadPool pool(1);
      auto executor = makeExecutor(program, pool, false, &world);
      HONERT_TRY(executor->start());
      if (world.rank() == 0) {
        std::lock_guard<std::mutex> lock(mutex);
        isMain = {&fake::state()};
      }
      for (int i = 0; i != 3; ++i) {
        HONERT_TRY(executor->run(program.functions[0]));
        HONERT_TRY(executor->wait());
      }
      std::lock_guard<std::mutex> lock(mutex);
      isMain.erase(&fake::state());
      return Status();
    });
  }
  void expectSuccess(const std::vector<Status> &results) {
    for (const Status &status : results)
      EXPECT_EQ(status.message(), "");
  }

  using Runs = std::vector<std::pair<int, int>>;
  static Runs threeTimes(const Runs &once) {
    Runs all;
    for (int i = 0; i != 3; ++i)
      all.insert(all.end(), once.begin(), once.end());
    return all;
  }

  std::mutex mutex;
  std::set<const fake::State *> isMain; ///< whose runs are noted
  Runs runs; ///< algorithms and multiprocessors of the first rank's steps
};

/// What a collective may occupy is left to it, once per list of axes; the
/// algorithm is the fastest on what is left.
TEST_F(NcclOverlap, products_leave_multiprocessors_to_collectives) {
  setenv("HONE_COLLECTIVE_SMS", "16", 1);
  Runs expected =
      threeTimes({{1, 132}, {2, 116}, {2, 100}, {2, 116}, {1, 132}});
  expectSuccess(run());
  EXPECT_EQ(runs, expected);
  EXPECT_EQ(rank(0).mostCtas, (std::vector<int>{16, 16, 16}));
  EXPECT_GT(calls("cublasLtMatmulAlgoGetHeuristic"), 0);
  // What was measured for each count is known to the next run.
  expectSuccess(run());
  EXPECT_EQ(runs, expected);
  EXPECT_EQ(calls("cublasLtMatmulAlgoGetHeuristic"), 0);
}

TEST_F(NcclOverlap, products_have_all_multiprocessors_by_default) {
  for (const char *value : {"", "0"}) {
    setenv("HONE_COLLECTIVE_SMS", value, 1);
    expectSuccess(run());
    EXPECT_EQ(runs, threeTimes(Runs(5, {1, 132})));
    EXPECT_EQ(rank(0).mostCtas, std::vector<int>(3, ncclConfig_t::unset));
  }
}

TEST_F(NcclOverlap, the_number_is_one_that_nccl_takes) {
  for (const char *value : {"x", "65", "-1", "8 "}) {
    setenv("HONE_COLLECTIVE_SMS", value, 1);
    EXPECT_EQ(run()[0].message(), std::string("HONE_COLLECTIVE_SMS: '") +
                                      value +
                                      "', expected a number from 0 to 64");
  }
}

TEST_F(NcclOverlap, products_need_a_multiprocessor) {
  setenv("HONE_COLLECTIVE_SMS", "4", 1);
  settings.processors = 8;
  EXPECT_EQ(run()[0].message(),
            "HONE_COLLECTIVE_SMS: collectives beside launch fc at m.py:4 may "
            "take 8 multiprocessors, expected fewer than the 8 of GPU emulated "
            "GPU");
}

} // namespace
