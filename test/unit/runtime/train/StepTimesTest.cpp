//===- StepTimesTest.cpp - The launches of steps that were timed ----------===//

#include "train/StepTimes.h"

#include <gtest/gtest.h>

using namespace honert;

namespace {

class Times : public testing::Test {
protected:
  /// A step of two launches that took so many milliseconds.
  std::vector<FunctionTimes> step(int first, int second, bool isGraph = false) {
    std::chrono::steady_clock::time_point zero;
    auto end = [&](int milliseconds) {
      return zero + std::chrono::milliseconds(milliseconds);
    };
    FunctionTimes times = {&function, isGraph, zero, zero, {}};
    times.launches = {{&launch, zero, end(first)},
                      {&launch, zero, end(second)}};
    return {times};
  }

  Function function;
  Launch launch;
  StepTimes times;
};

TEST_F(Times, medians_are_of_each_launch) {
  for (int milliseconds : {90, 1, 3, 2})
    times.add(step(milliseconds, 10 * milliseconds));
  EXPECT_EQ(times.steps(), 4u);
  EXPECT_DOUBLE_EQ(times.medianSeconds(0, 0), 2e-3);
  EXPECT_DOUBLE_EQ(times.medianSeconds(0, 1), 20e-3);
  auto last = times.latest()[0].launches[0];
  EXPECT_EQ(last.end - last.begin, std::chrono::milliseconds(2));
}

TEST_F(Times, of_another_kind_begin_anew) {
  times.add(step(90, 90));
  times.add(step(1, 1, /*isGraph=*/true));
  EXPECT_EQ(times.steps(), 1u);
  EXPECT_DOUBLE_EQ(times.medianSeconds(0, 0), 1e-3);
}

TEST_F(Times, of_long_runs_are_of_the_latest_steps) {
  for (int i = 0; i != 100; ++i)
    times.add(step(90, 90));
  for (int i = 0; i != 26; ++i)
    times.add(step(1, 1));
  EXPECT_EQ(times.steps(), 50u);
  EXPECT_DOUBLE_EQ(times.medianSeconds(0, 0), 1e-3);
}

} // namespace
