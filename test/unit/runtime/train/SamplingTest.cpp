//===- SamplingTest.cpp - Which tokens are drawn, and how often -----------===//

#include "train/Sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace honert;

namespace {

constexpr float never = -std::numeric_limits<float>::infinity();

/// How often each token comes in `count` draws.
std::vector<double> shares(const std::vector<float> &logits,
                           const SamplingOptions &options, int count = 20000) {
  Sampler sampler(options, /*seed=*/3, static_cast<int64_t>(logits.size()));
  std::vector<double> found(logits.size());
  for (int64_t position = 0; position != count; ++position)
    found.at(static_cast<size_t>(sampler.draw(logits.data(), position))) +=
        1.0 / count;
  return found;
}

void expectNear(const std::vector<double> &found,
                const std::vector<double> &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t id = 0; id != found.size(); ++id)
    if (expected[id] == 0)
      EXPECT_EQ(found[id], 0) << "token " << id;
    else
      EXPECT_NEAR(found[id], expected[id], 0.015) << "token " << id;
}

/// Logits of shares 0.1, 0.4, 0, 0.2 and 0.3.
const std::vector<float> logits = {std::log(1.f), std::log(4.f), never,
                                   std::log(2.f), std::log(3.f)};

TEST(Sampling, follows_the_softmax) {
  expectNear(shares(logits, {}), {0.1, 0.4, 0, 0.2, 0.3});
}

TEST(Sampling, divides_by_the_temperature) {
  SamplingOptions options;
  options.temperature = 0.5; // shares are squared
  expectNear(shares(logits, options),
             {1 / 30.0, 16 / 30.0, 0, 4 / 30.0, 9 / 30.0});
  options.temperature = 0;
  expectNear(shares(logits, options), {0, 1, 0, 0, 0});
}

TEST(Sampling, keeps_the_likeliest) {
  SamplingOptions options;
  options.topK = 2;
  expectNear(shares(logits, options), {0, 4 / 7.0, 0, 0, 3 / 7.0});
  options.topK = 100;
  expectNear(shares(logits, options), {0.1, 0.4, 0, 0.2, 0.3});
  options.topK = 0;
  options.topP = 0.75; // 0.4 + 0.3 are less, with 0.2 it is enough
  expectNear(shares(logits, options), {0, 4 / 9.0, 0, 2 / 9.0, 3 / 9.0});
  options.topP = 1e-9;
  expectNear(shares(logits, options), {0, 1, 0, 0, 0});
  options.topP = 0.5;
  options.topK = 2; // of their 7 tenths
  expectNear(shares(logits, options), {0, 1, 0, 0, 0});
}

TEST(Sampling, takes_the_lower_of_equal_tokens) {
  SamplingOptions options;
  options.temperature = 0;
  Sampler sampler(options, 0, 3);
  const float equal[] = {1, 2, 2};
  EXPECT_EQ(sampler.draw(equal, 0), 1);
}

TEST(Sampling, depends_on_seed_and_position_alone) {
  Sampler one({}, 5, 5), other({}, 5, 5), third({}, 6, 5);
  int equal = 0;
  for (int64_t position = 99; position >= 0; --position) {
    int64_t id = other.draw(logits.data(), position);
    EXPECT_EQ(one.draw(logits.data(), position), id);
    equal += third.draw(logits.data(), position) == id;
  }
  EXPECT_LT(equal, 60); // 0.3 of 100 where seeds are independent
}

TEST(Sampling, reports_what_is_no_distribution) {
  Sampler sampler({}, 0, 2);
  for (float bad : {std::nanf(""), never}) {
    const float both[] = {bad, never};
    EXPECT_EQ(sampler.draw(both, 0), -1);
  }
}

} // namespace
