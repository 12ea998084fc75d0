//===- CommBenchTest.cpp - Rates of links ---------------------------------===//

#include "Run.h"
#include "comm/Bench.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace honert;

namespace {

std::vector<LinkSample> samplesOf(double latency, double bandwidth) {
  std::vector<LinkSample> samples;
  for (double steps : {1, 3, 6})
    for (double sent = 1000; sent < 1e8; sent *= 4)
      samples.push_back({steps, sent, steps * latency + sent / bandwidth});
  return samples;
}

// Samples that follow the formula give it back but for rounding: sums of 27
// terms in double, of a well-conditioned 2x2 system.
TEST(CommBench, rates_follow_from_times) {
  for (double latency : {1e-6, 3e-4})
    for (double bandwidth : {1e8, 2e11}) {
      LinkRate rate = fitLink(samplesOf(latency, bandwidth));
      EXPECT_NEAR(rate.latency, latency, 1e-9 * latency);
      EXPECT_NEAR(rate.bandwidth, bandwidth, 1e-6 * bandwidth);
    }
}

TEST(CommBench, no_rate_is_negative) {
  LinkRate rate = fitLink({{1, 1000, 2e-6}, {1, 4000, 1e-6}});
  EXPECT_GT(rate.latency, 0);
  EXPECT_TRUE(std::isinf(rate.bandwidth));
  rate = fitLink({{1, 1000, 1e-6}, {2, 1000, 1e-7}, {1, 4000, 5e-6}});
  EXPECT_GE(rate.latency, 0);
  EXPECT_GT(rate.bandwidth, 0);
}

TEST(CommBench, a_program_of_one_rank_has_nothing_to_measure) {
  test::Outcome outcome = test::train({}, {"--bench-collectives"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "this program has no collectives\n");
}

TEST(CommBench, one_sample_is_enough) {
  LinkRate rate = fitLink({{1, 1000, 2e-6}});
  EXPECT_DOUBLE_EQ(rate.latency, 2e-6);
}

} // namespace
