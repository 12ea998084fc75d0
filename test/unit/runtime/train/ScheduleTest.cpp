//===- ScheduleTest.cpp - Learning rates ----------------------------------===//

#include "train/options/Options.h"

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

TEST(Schedule, linear_ends_at_the_minimum) {
  Options options;
  options.learningRate = 1;
  options.minLearningRate = 0.2;
  options.schedule = ScheduleKind::linear;
  options.warmup = 2;
  options.steps = 10;
  EXPECT_DOUBLE_EQ(learningRateAt(options, 2), 1);
  EXPECT_DOUBLE_EQ(learningRateAt(options, 4), 0.8);
  EXPECT_DOUBLE_EQ(learningRateAt(options, 10), 0.2);
}

TEST(Schedule, wsd_is_stable_until_it_decays) {
  Options options;
  options.learningRate = 1;
  options.minLearningRate = 0.1;
  options.schedule = ScheduleKind::wsd;
  options.warmup = 4;
  options.steps = 100;
  options.decaySteps = 25;
  EXPECT_DOUBLE_EQ(learningRateAt(options, 2), 0.5);
  for (int64_t step = 4; step <= 75; ++step)
    EXPECT_EQ(learningRateAt(options, step), 1);
  EXPECT_DOUBLE_EQ(learningRateAt(options, 76), 0.1 + 0.9 * (1 - 0.2));
  EXPECT_DOUBLE_EQ(learningRateAt(options, 84), 0.1 + 0.9 * (1 - 0.6));
  EXPECT_DOUBLE_EQ(learningRateAt(options, 100), 0.1);
}

TEST(Schedule, wsd_decays_over_a_fifth) {
  Options options;
  options.schedule = ScheduleKind::wsd;
  options.steps = 100;
  EXPECT_EQ(decaySteps(options), 20);
  options.warmup = 90;
  EXPECT_EQ(decaySteps(options), 10);
  options.warmup = 100;
  options.learningRate = 1;
  EXPECT_EQ(learningRateAt(options, 100), 1);
}

} // namespace
