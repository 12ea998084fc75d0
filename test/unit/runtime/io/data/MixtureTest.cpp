//===- MixtureTest.cpp - Shares of sources, exact everywhere --------------===//

#include "io/data/Mixture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

using namespace honert;

namespace {

constexpr int64_t slots = Mixture::slots;

/// Weights of 1 to `most` sources, from even ones to ones of very different
/// sizes.
std::vector<double> draw(std::mt19937 &random, size_t most) {
  std::vector<double> weights(1 + random() % most);
  for (double &weight : weights)
    weight = std::exp(double(random() % 600) / 100.0);
  return weights;
}

TEST(Mixture, weights_are_rounded_to_slots_by_largest_remainders) {
  EXPECT_EQ(Mixture::round({0.7, 0.3}), (std::vector<int64_t>{2867, 1229}));
  EXPECT_EQ(Mixture::round({7, 3}), (std::vector<int64_t>{2867, 1229}));
  EXPECT_EQ(Mixture::round({1, 1, 1}),
            (std::vector<int64_t>{1366, 1365, 1365}));
  EXPECT_EQ(Mixture::round({1, 4095}), (std::vector<int64_t>{1, 4095}));
  EXPECT_TRUE(Mixture::hasOwnSlot(1, 4096));
  EXPECT_FALSE(Mixture::hasOwnSlot(1, 4097));
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::vector<double> weights = draw(random, 40);
    std::vector<int64_t> counts = Mixture::round(weights);
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), int64_t{0}), slots);
    double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (size_t s = 0; s != weights.size(); ++s)
      EXPECT_LT(std::fabs(double(counts[s]) - weights[s] / sum * double(slots)),
                1);
  }
}

/// How far any prefix of the windows is from the shares, in windows times
/// slots.
int64_t largestDistance(const Mixture &mixture, size_t sources) {
  std::vector<int64_t> seen(sources);
  int64_t largest = 0;
  for (int64_t window = 0; window < 2 * slots; ++window) {
    ++seen[mixture.at(window).source];
    for (size_t s = 0; s != sources; ++s)
      largest = std::max(largest, std::abs(seen[s] * slots -
                                           (window + 1) * mixture.slotsOf(s)));
  }
  return largest;
}

TEST(Mixture, every_prefix_is_within_one_window_of_its_shares) {
  std::mt19937 random(2);
  for (int i = 0; i < 60; ++i) {
    std::vector<int64_t> counts = Mixture::round(draw(random, 12));
    EXPECT_LT(largestDistance(Mixture(counts), counts.size()), slots)
        << testing::PrintToString(counts);
  }
  // Where the source that lags most is taken, one is over a window off.
  std::vector<int64_t> hard =
      Mixture::round({1, 1, 60, 5, 5, 60, 5, 60, 1, 1, 5, 1});
  EXPECT_LT(largestDistance(Mixture(hard), hard.size()), slots);
}

TEST(Mixture, a_window_is_found_without_those_before_it) {
  std::mt19937 random(3);
  for (int i = 0; i < 20; ++i) {
    std::vector<int64_t> counts = Mixture::round(draw(random, 9));
    Mixture mixture(counts);
    std::vector<int64_t> seen(counts.size());
    for (int64_t window = 0; window < 3 * slots; ++window) {
      auto [source, own] = mixture.at(window);
      ASSERT_EQ(own, seen[source]++) << window;
    }
    // Far into a run, whole periods are skipped.
    int64_t periods = int64_t{1} << 40;
    for (int64_t window : {0, 1, 1000, 4095}) {
      Mixture::Place near = mixture.at(window);
      Mixture::Place far = mixture.at(periods * slots + window);
      EXPECT_EQ(far.source, near.source);
      EXPECT_EQ(far.window, periods * counts[near.source] + near.window);
    }
  }
}

} // namespace
