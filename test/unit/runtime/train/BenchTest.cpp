//===- BenchTest.cpp - Rates of links -------------------------------------===//

#include "train/Bench.h"
#include "support/Run.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace honert;

namespace {

std::vector<LinkSample> samplesOf(double latency, double bandwidth) {
  std::vector<LinkSample> samples;
  for (double steps : {1, 3, 6})
    for (double sent = 1000; sent < 1e8; sent *= 4)
      samples.push_back(
          {steps, sent, sent, steps * latency + sent / bandwidth});
  return samples;
}

// Samples that follow the formula give it back but for rounding: sums of some
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
  LinkRate rate = fitLink({{1, 1000, 1000, 2e-6}, {1, 4000, 4000, 1e-6}});
  EXPECT_GT(rate.latency, 0);
  EXPECT_TRUE(std::isinf(rate.bandwidth));
  rate = fitLink(
      {{1, 1000, 1000, 1e-6}, {2, 1000, 1000, 1e-7}, {1, 1e6, 1e6, 5e-2}});
  EXPECT_EQ(rate.latency, 0);
  EXPECT_GT(rate.bandwidth, 0);
}

// Small messages may go faster than large ones, and some collectives than
// others: the rate is that of the large ones, of which the slow take the time.
TEST(CommBench, the_rate_is_that_of_large_sizes) {
  std::vector<LinkSample> samples;
  for (double bytes = 1024; bytes <= 64 << 20; bytes *= 4) {
    bool isLarge = bytes >= 16 << 20;
    samples.push_back({2, bytes, bytes, 2e-5 + bytes / (isLarge ? 1e9 : 8e9)});
    samples.push_back({1, bytes, bytes, 1e-5 + bytes / 8e9});
  }
  LinkRate rate = fitLink(samples);
  EXPECT_NEAR(rate.bandwidth, 2 / (1 / 1e9 + 1 / 8e9), 1e6);
  EXPECT_NEAR(rate.latency, 1e-5, 3e-6);
}

TEST(CommBench, a_program_of_one_rank_has_nothing_to_measure) {
  test::Outcome outcome = test::train({}, {"--bench-collectives"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "this program has no collectives\n");
}

TEST(CommBench, one_sample_is_enough) {
  LinkRate rate = fitLink({{1, 1000, 1000, 2e-6}});
  EXPECT_DOUBLE_EQ(rate.latency, 2e-6);
}

} // namespace
