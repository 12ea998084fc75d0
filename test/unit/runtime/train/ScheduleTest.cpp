//===- ScheduleTest.cpp - Learning rates ----------------------------------===//

#include "train/Options.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace honert;

namespace {

TEST(Schedule, warms_up_then_stays) {
  Options options;
  options.learningRate = 0.4;
  options.warmup = 4;
  EXPECT_DOUBLE_EQ(learningRateAt(options, 1), 0.1);
  EXPECT_DOUBLE_EQ(learningRateAt(options, 4), 0.4);
  EXPECT_DOUBLE_EQ(learningRateAt(options, 5), 0.4);
  options.warmup = 0;
  EXPECT_DOUBLE_EQ(learningRateAt(options, 1), 0.4);
}

TEST(Schedule, cosine_ends_at_the_minimum) {
  Options options;
  options.learningRate = 1;
  options.minLearningRate = 0.2;
  options.schedule = ScheduleKind::cosine;
  options.warmup = 2;
  options.steps = 12;
  EXPECT_DOUBLE_EQ(learningRateAt(options, 2), 1);
  EXPECT_NEAR(learningRateAt(options, 7), 0.6, 1e-15); // half way
  EXPECT_NEAR(learningRateAt(options, 12), 0.2, 1e-15);
  for (int64_t step = 3; step <= 12; ++step)
    EXPECT_LT(learningRateAt(options, step), learningRateAt(options, step - 1));
}

} // namespace
