//===- ReferenceAttentionTest.cpp - Bounds of attention's errors ----------===//

#include "exec/cuda/compare/ReferenceAttention.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <utility>

using namespace honert;

using Operand = AttentionOperand;

namespace {

/// The backward of one head of 8 positions under a causal mask, in bf16. Values
/// and gradients have sizes so different that sums of products are rounded.
class CausalBackward : public testing::Test {
protected:
  static constexpr int64_t length = 8, width = 64;
  static constexpr int64_t bytes = length * width * 2;

  CausalBackward() : memory(9 * bytes) {
    AttentionProblem &problem = launch.problem;
    problem.isBackward = problem.causal = true;
    problem.batch = problem.queryHeads = problem.keyHeads = 1;
    problem.queries = problem.keys = length;
    problem.width = problem.valueWidth = width;
    problem.scale = 0.25;
    problem.strides.fill({length * width, width, width});
    for (int64_t i = 0; i != 9; ++i)
      launch.offsets.push_back(i * bytes);
    std::mt19937 random(1);
    std::normal_distribution<double> numbers;
    for (Operand operand :
         {Operand::query, Operand::key, Operand::value, Operand::resultGrad})
      for (int64_t i = 0; i != length * width; ++i)
        storeElement(DType::bf16, at(operand, i),
                     operand <= Operand::key
                         ? numbers(random)
                         : numbers(random) * std::exp2(4 * numbers(random)));
    fillForward();
  }

  char *at(Operand operand, int64_t element) {
    return memory.data() + static_cast<int64_t>(operand) * bytes + element * 2;
  }
  double get(Operand operand, int64_t position, int64_t i) {
    return loadElement(DType::bf16, at(operand, position * width + i));
  }
  char *lseAt(int64_t query) {
    return memory.data() + launch.offsets[4] + query * 4;
  }
  float dotOf(Operand x, int64_t xAt, Operand y, int64_t yAt) {
    float sum = 0;
    for (int64_t i = 0; i != width; ++i)
      sum += static_cast<float>(get(x, xAt, i) * get(y, yAt, i));
    return sum;
  }
  /// Results and logarithms of sums, as the forward leaves them.
  void fillForward() {
    for (int64_t query = 0; query != length; ++query) {
      std::vector<double> weights;
      double sum = 0;
      for (int64_t key = 0; key <= query; ++key) {
        weights.push_back(
            std::exp(0.25 * dotOf(Operand::query, query, Operand::key, key)));
        sum += weights.back();
      }
      storeElement(DType::f32, lseAt(query), std::log(sum));
      for (int64_t i = 0; i != width; ++i) {
        double value = 0;
        for (int64_t key = 0; key <= query; ++key)
          value += weights[static_cast<size_t>(key)] / sum *
                   get(Operand::value, key, i);
        storeElement(DType::bf16, at(Operand::result, query * width + i),
                     value);
      }
    }
  }
  /// The gradient of a score as a fused kernel has it: f32, and rounded.
  double scoreGradient(int64_t query, int64_t key, float mean) {
    double lse = loadElement(DType::f32, lseAt(query));
    float weight =
        std::exp(0.25f * dotOf(Operand::query, query, Operand::key, key) -
                 static_cast<float>(lse));
    float difference =
        dotOf(Operand::resultGrad, query, Operand::value, key) - mean;
    char rounded[2];
    storeElement(DType::bf16, rounded, 0.25f * weight * difference);
    return loadElement(DType::bf16, rounded);
  }
  static const Expected &find(const std::vector<Expected> &all,
                              int64_t offset) {
    for (const Expected &each : all)
      if (each.tensor.offset == offset)
        return each;
    std::abort();
  }

  AttentionLaunch launch{};
  std::vector<char> memory;
  ThreadPool pool{1};
};

} // namespace

// A query that sees one key has a score without gradient: what a kernel in f32
// makes of it is the difference of two sums, each in an order of its own.
TEST_F(CausalBackward, a_difference_that_cancels_has_an_error) {
  std::vector<double> kernel(static_cast<size_t>(length * width));
  for (int64_t query = 0; query != length; ++query) {
    float mean = 0; // from the last to the first
    for (int64_t i = width; i-- != 0;)
      mean += static_cast<float>(get(Operand::resultGrad, query, i) *
                                 get(Operand::result, query, i));
    for (int64_t key = 0; key <= query; ++key)
      for (int64_t i = 0; i != width; ++i)
        kernel[static_cast<size_t>(query * width + i)] +=
            scoreGradient(query, key, mean) * get(Operand::key, key, i);
  }
  EXPECT_NE(kernel[0], 0) << "the sums have one order";

  std::vector<Expected> all = referenceAttention(launch, memory.data(), pool);
  const Expected &expected = find(all, launch.offsets[6]);
  for (int64_t i = 0; i != length * width; ++i) {
    double value = loadElement(DType::bf16, at(Operand::queryGrad, i));
    EXPECT_LE(std::fabs(kernel[static_cast<size_t>(i)] - value),
              expected.allowed(i, value))
        << "element " << i;
  }
}

// A sequence of six queries and six keys: what lies behind them is undefined.
TEST_F(CausalBackward, positions_past_the_lengths_may_be_anything) {
  launch.problem.readsLengths = true;
  launch.offsets.push_back(9 * bytes);
  memory.resize(10 * bytes);
  for (int64_t i : {0, 1})
    storeElement(DType::i32, memory.data() + 9 * bytes + i * 4, 6);
  std::vector<char> before = memory;
  std::vector<Expected> all = referenceAttention(launch, memory.data(), pool);
  std::vector<char> bounded = std::exchange(memory, before);
  launch.problem.readsLengths = false;
  referenceAttention(launch, memory.data(), pool); // of all positions
  for (size_t operand : {6, 7, 8}) {
    const Expected &expected = find(all, launch.offsets[operand]);
    for (int64_t i = 0; i != length * width; ++i) {
      double allowed = expected.allowed(i, 0);
      EXPECT_EQ(std::isinf(allowed), i >= 6 * width) << "element " << i;
    }
  }
  // A query's gradient reads the keys before it alone.
  EXPECT_TRUE(
      std::equal(before.begin(), before.begin() + 6 * bytes, bounded.begin()));
  for (int64_t i = 0; i != 6 * width; ++i)
    EXPECT_EQ(loadElement(DType::bf16, bounded.data() + 6 * bytes + 2 * i),
              loadElement(DType::bf16, at(Operand::queryGrad, i)));
}
