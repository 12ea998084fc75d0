//===- AttentionTest.cpp - Attention kernels against plain loops ----------===//

#include "AttentionCase.h"
#include "AttentionReference.h"

#include "llvm/TargetParser/Host.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

using namespace hone::test;

namespace {

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

/// Largest distance from `expected`, in units of the largest value (at least
/// 1); infinite where only one is NaN.
double largestError(Tensor &actual, const std::vector<double> &expected) {
  double error = 0, scale = 1;
  for (double value : expected)
    if (std::isfinite(value))
      scale = std::max(scale, std::fabs(value));
  size_t i = 0;
  for (int64_t b = 0; b < actual.shape[0]; ++b)
    for (int64_t t = 0; t < actual.shape[1]; ++t)
      for (int64_t h = 0; h < actual.shape[2]; ++h)
        for (int64_t d = 0; d < actual.shape[3]; ++d, ++i) {
          double a = actual.at(b, t, h, d), e = expected[i];
          if (std::isnan(a) && std::isnan(e))
            continue;
          if (a == e)
            continue;
          double difference = std::fabs(a - e);
          if (std::isnan(difference))
            return std::numeric_limits<double>::infinity();
          error = std::max(error, difference);
        }
  return error / scale;
}

/// Half a unit in the last place of a number of size 1.
double roundoff(Element element) {
  return element == Element::F32    ? 0
         : element == Element::BF16 ? std::ldexp(1.0, -8)
                                    : std::ldexp(1.0, -11);
}

/// Sums of n products of numbers of size 1 in fp32 have errors that grow like
/// sqrt(n); 4 units of the last place per sum cover the few roundings between
/// the sums.
double tolerance(const Shape &s) {
  double n = std::max({s.queries * (s.heads / s.groups), s.keys, s.width,
                       s.valueWidth, int64_t(1)});
  return 4 * std::ldexp(1.0, -23) * std::sqrt(n);
}

/// Everything in the tensors' buffers, gaps included.
std::vector<float> contents(std::initializer_list<Tensor *> tensors) {
  std::vector<float> values;
  for (Tensor *tensor : tensors)
    values.insert(values.end(), tensor->buffer->data(),
                  tensor->buffer->data() + tensor->buffer->size());
  return values;
}

/// Whether what no element of a tensor uses is still what a buffer starts as.
bool gapsAreUntouched(std::initializer_list<Tensor *> tensors) {
  for (Tensor *tensor : tensors) {
    Buffer &buffer = *tensor->buffer;
    std::vector<bool> used(buffer.size(), false);
    for (Tensor *other : tensors)
      for (int64_t b = 0; b < other->shape[0]; ++b)
        for (int64_t t = 0; t < other->shape[1]; ++t)
          for (int64_t h = 0; h < other->shape[2]; ++h)
            for (int64_t d = 0; d < other->shape[3]; ++d)
              if (other->buffer == tensor->buffer)
                used[&other->at(b, t, h, d) - buffer.data()] = true;
    for (int64_t i = 0; i < buffer.size(); ++i)
      if (!used[i] && !std::isnan(buffer.data()[i]))
        return false;
  }
  return true;
}

class Attention : public testing::TestWithParam<Shape> {};

TEST_P(Attention, EqualsTheDefinitionUnderAnySplit) {
  AttentionCase c(GetParam());
  auto results = {&c.result, &c.lse};
  auto grads = {&c.queryGrad, &c.keyGrad, &c.valueGrad};
  c.forward(0, c.forwardItems);
  bool hasGradient = !c.shape.first;
  if (hasGradient)
    c.backward(0, c.backwardItems);

  Reference expected = computeReference(c);
  double bound = tolerance(c.shape);
  if (hasGradient)
    EXPECT_LE(largestError(c.lse, expected.lse), bound);
  // Narrow operands of the products by p, narrow results: a few roundings, of
  // which those inside of the sums mostly cancel.
  bound += 4 * roundoff(c.shape.element);
  EXPECT_LE(largestError(c.result, expected.result), bound);
  EXPECT_TRUE(gapsAreUntouched(results));
  if (hasGradient) {
    EXPECT_LE(largestError(c.queryGrad, expected.queryGrad), bound);
    EXPECT_LE(largestError(c.keyGrad, expected.keyGrad), bound);
    EXPECT_LE(largestError(c.valueGrad, expected.valueGrad), bound);
  }
  EXPECT_TRUE(gapsAreUntouched(grads));

  // Again, one item at a time from the last to the first.
  std::vector<float> forward = contents(results), backward = contents(grads);
  for (int64_t item = c.forwardItems; item-- > 0;)
    c.forward(item, item + 1);
  std::vector<float> again = contents(results);
  EXPECT_EQ(0, std::memcmp(forward.data(), again.data(),
                           forward.size() * sizeof(float)));
  for (int64_t item = c.backwardItems; hasGradient && item-- > 0;)
    c.backward(item, item + 1);
  again = contents(grads);
  EXPECT_EQ(0, std::memcmp(backward.data(), again.data(),
                           backward.size() * sizeof(float)));
}

Shape from(int64_t first, Shape shape) {
  shape.first = first;
  return shape;
}

Shape packed(Segments segments, Shape shape) {
  shape.segments = segments;
  return shape;
}

Shape at(std::vector<int64_t> runs, Shape shape) {
  shape.runs = std::move(runs);
  return shape;
}

Shape sums(Shape shape) {
  shape.keepsSums = true;
  return shape;
}

Shape partOf(std::array<int64_t, 4> whole, Shape shape) {
  shape.whole = whole;
  return shape;
}

const Shape shapes[] = {
    // Whole blocks, and sizes below and between multiples of 16 and 64.
    {2, 64, 64, 2, 2, 64, 64, false},
    {2, 64, 64, 2, 2, 64, 64, true},
    {1, 128, 128, 1, 1, 32, 32, true},
    {1, 192, 192, 2, 2, 16, 16, true},
    {1, 1, 1, 1, 1, 1, 1, true},
    {2, 1, 7, 2, 1, 8, 8, false},
    {1, 7, 1, 2, 2, 8, 24, false},
    {1, 5, 5, 3, 3, 5, 3, true},
    {1, 16, 16, 1, 1, 16, 16, true},
    {1, 17, 17, 1, 1, 17, 33, true},
    {2, 40, 40, 2, 2, 24, 40, true},
    {1, 48, 48, 2, 2, 48, 48, true},
    {1, 65, 65, 2, 2, 64, 64, true},
    {1, 100, 100, 2, 2, 20, 36, true},
    {1, 127, 127, 1, 1, 64, 64, true},
    {1, 200, 200, 1, 1, 40, 72, false},
    {1, 257, 257, 1, 1, 64, 64, true},
    // Query and key counts that differ.
    {1, 30, 70, 2, 2, 16, 16, true},
    {1, 70, 30, 2, 2, 16, 16, true},
    {1, 150, 64, 1, 1, 32, 16, true},
    {1, 64, 150, 1, 1, 32, 16, true},
    {1, 33, 129, 2, 1, 80, 96, false},
    {1, 129, 33, 2, 1, 96, 80, false},
    // Query heads that share key heads.
    {2, 65, 65, 4, 2, 64, 64, true},
    {1, 80, 80, 6, 1, 32, 32, true},
    {1, 20, 36, 8, 4, 12, 20, false},
    // Masks.
    {2, 64, 64, 2, 2, 64, 64, false, Mask::Shared},
    {2, 50, 70, 2, 2, 24, 24, false, Mask::PerHead},
    {1, 100, 100, 4, 2, 32, 32, true, Mask::PerHead},
    {1, 65, 130, 2, 2, 16, 16, true, Mask::Shared},
    {2, 40, 150, 2, 2, 32, 32, false, Mask::HidesRow},
    {1, 33, 21, 2, 2, 16, 16, false, Mask::HidesRow},
    // Dropout, with counters that queries share or do not.
    {2, 64, 64, 2, 2, 64, 64, true, Mask::None, 0.1},
    {1, 100, 100, 2, 2, 32, 32, true, Mask::None, 0.5},
    {1, 37, 37, 2, 2, 32, 32, true, Mask::None, 0.2},
    {1, 20, 90, 4, 2, 24, 16, false, Mask::None, 0.9},
    {2, 70, 66, 2, 1, 16, 40, false, Mask::PerHead, 0.3},
    // Of a part of the batch, of heads, of queries, of all; where rows of
    // scores start at multiples of four, and where they do not.
    partOf({3, 2, 64, 64}, {1, 64, 64, 2, 2, 16, 16, true, Mask::None, 0.5}),
    partOf({4, 6, 37, 37}, {2, 37, 37, 2, 1, 16, 16, true, Mask::None, 0.5}),
    partOf({1, 2, 40, 36}, {1, 20, 36, 2, 2, 8, 8, false, Mask::None, 0.5}),
    partOf({4, 4, 10, 21}, {2, 5, 21, 2, 2, 8, 8, false, Mask::None, 0.5,
                            Layout::Rows, Element::BF16}),
    // Strided operands and results.
    {2, 64, 64, 4, 4, 64, 64, true, Mask::None, 0.0, Layout::Packed},
    {2, 70, 70, 3, 3, 40, 40, true, Mask::None, 0.0, Layout::Packed},
    {1, 52, 52, 2, 2, 8, 8, false, Mask::PerHead, 0.25, Layout::Packed},
    {2, 37, 61, 4, 2, 20, 36, true, Mask::None, 0.0, Layout::Padded},
    {2, 80, 96, 2, 2, 32, 64, false, Mask::Shared, 0.1, Layout::Padded},
    // Heads so wide that blocks of queries shrink.
    {1, 70, 70, 1, 1, 512, 512, true},
    {1, 40, 70, 1, 1, 1100, 900, true},
    // Narrow types.
    {2, 64, 64, 2, 2, 64, 64, true, Mask::None, 0, Layout::Packed,
     Element::BF16},
    {1, 257, 257, 1, 1, 64, 64, true, Mask::None, 0, Layout::Rows,
     Element::BF16},
    {1, 5, 5, 3, 3, 5, 3, true, Mask::None, 0, Layout::Rows, Element::BF16},
    {1, 17, 17, 1, 1, 17, 33, true, Mask::None, 0, Layout::Rows, Element::BF16},
    {2, 65, 65, 4, 2, 64, 64, true, Mask::None, 0, Layout::Padded,
     Element::BF16},
    {1, 33, 129, 2, 1, 80, 96, false, Mask::None, 0, Layout::Rows,
     Element::BF16},
    {1, 70, 30, 2, 2, 16, 16, true, Mask::PerHead, 0, Layout::Rows,
     Element::BF16},
    {1, 33, 21, 2, 2, 16, 16, false, Mask::HidesRow, 0, Layout::Rows,
     Element::BF16},
    {2, 70, 66, 2, 1, 16, 40, false, Mask::Shared, 0.3, Layout::Padded,
     Element::BF16},
    {1, 37, 37, 2, 2, 32, 32, true, Mask::None, 0.2, Layout::Packed,
     Element::BF16},
    {2, 64, 64, 2, 2, 64, 64, true, Mask::None, 0.1, Layout::Rows,
     Element::BF16},
    {1, 40, 70, 1, 1, 1100, 900, true, Mask::None, 0, Layout::Rows,
     Element::BF16},
    {1, 8, 8, 2, 2, 0, 8, false, Mask::None, 0, Layout::Rows, Element::BF16},
    {1, 100, 100, 2, 2, 36, 36, true, Mask::None, 0.2, Layout::Packed,
     Element::F16},
    {1, 129, 33, 2, 1, 96, 80, false, Mask::Shared, 0, Layout::Padded,
     Element::F16},
    // One query: all keys; those up to the first, within a block, at the end of
    // a block and of all, and past it.
    {2, 1, 150, 4, 2, 64, 64, false, Mask::PerHead},
    {3, 1, 150, 2, 2, 24, 40, false, Mask::HidesRow},
    {1, 1, 150, 2, 1, 20, 36, false, Mask::None, 0, Layout::Padded,
     Element::F16},
    from(0, {2, 1, 150, 4, 2, 64, 64, true}),
    from(17, {2, 1, 150, 4, 2, 64, 64, true}),
    from(63, {1, 1, 128, 2, 2, 40, 24, true}),
    from(127, {1, 1, 128, 2, 2, 40, 24, true, Mask::Shared}),
    from(100, {1, 1, 128, 2, 2, 40, 24, true, Mask::HidesRow}),
    from(70, {2, 1, 150, 4, 2, 64, 64, true, Mask::None, 0, Layout::Padded,
              Element::BF16}),
    from(200, {1, 1, 128, 2, 2, 40, 24, true}),
    // Several queries that begin anywhere.
    from(0, {1, 65, 130, 2, 2, 16, 16, true}),
    from(9, {2, 7, 64, 4, 2, 16, 16, true}),
    from(61, {1, 64, 128, 2, 2, 32, 32, true, Mask::Shared}),
    from(50, {1, 100, 150, 2, 2, 20, 36, true, Mask::None, 0, Layout::Padded,
              Element::BF16}),
    // Runs of queries: one, or two that begin in the order of a rank's chunks;
    // of whole blocks, of vectors, and of neither.
    at({64}, {1, 64, 128, 2, 2, 32, 32, true}),
    at({64, 128}, {2, 128, 256, 4, 2, 32, 32, true}),
    at({128, 64}, {1, 128, 192, 2, 2, 24, 24, true}),
    at({0, 48}, {1, 32, 64, 2, 2, 16, 40, true}),
    at({10, 31}, {1, 20, 41, 2, 1, 16, 16, true}),
    at({70, 140}, {1, 140, 210, 2, 2, 16, 16, true, Mask::PerHead}),
    at({3, 9}, {1, 2, 12, 2, 1, 8, 8, true}),
    at({5}, {2, 1, 150, 4, 2, 64, 64, true}),
    at({70, 140}, {1, 140, 210, 2, 2, 36, 24, true, Mask::None, 0,
                   Layout::Padded, Element::BF16}),
    at({16, 80}, {1, 32, 96, 2, 2, 16, 16, true, Mask::None, 0, Layout::Rows,
                  Element::F16}),
    packed(Segments::Short, at({75, 150}, {2, 150, 300, 2, 2, 32, 32, true})),
    packed(Segments::Shuffled,
           at({64, 128}, {1, 128, 256, 2, 1, 24, 24, true, Mask::None, 0,
                          Layout::Rows, Element::BF16})),
    packed(Segments::Long, at({0, 90}, {1, 60, 120, 2, 2, 16, 16, false})),
    partOf({2, 4, 96, 96},
           at({16, 80}, {1, 32, 96, 2, 2, 16, 16, true, Mask::None, 0.5})),
    partOf({1, 2, 42, 42},
           at({3, 20}, {1, 14, 42, 2, 1, 16, 16, true, Mask::None, 0.5})),
    // Packed documents.
    packed(Segments::Short, {2, 300, 300, 2, 2, 32, 32, true}),
    packed(Segments::Short, {2, 300, 300, 4, 2, 20, 36, false}),
    packed(Segments::Short, {2, 37, 37, 2, 1, 16, 16, true}),
    packed(Segments::Long, {2, 257, 257, 2, 2, 64, 64, true}),
    packed(Segments::Long, {1, 256, 256, 2, 2, 16, 16, true, Mask::None, 0.2}),
    packed(Segments::Shuffled, {2, 150, 150, 2, 2, 24, 24, true}),
    packed(Segments::Shuffled, {1, 100, 100, 2, 1, 24, 24, false}),
    packed(Segments::Short,
           {1, 150, 150, 2, 2, 24, 24, true, Mask::PerHead, 0.1}),
    packed(Segments::Short, {2, 200, 200, 3, 3, 40, 40, true, Mask::None, 0,
                             Layout::Packed, Element::BF16}),
    packed(Segments::Shuffled, {1, 133, 133, 2, 1, 17, 33, false, Mask::None, 0,
                                Layout::Padded, Element::BF16}),
    packed(Segments::Long, {1, 200, 200, 2, 2, 36, 36, true, Mask::None, 0.2,
                            Layout::Rows, Element::F16}),
    packed(Segments::Short, {1, 1, 1, 1, 1, 8, 8, true}),
    // f32 for narrower operands.
    sums({1, 100, 100, 4, 2, 33, 40, true, Mask::None, 0, Layout::Rows,
          Element::BF16}),
    sums({2, 64, 80, 2, 1, 64, 64, false, Mask::None, 0, Layout::Padded,
          Element::BF16}),
    sums({1, 70, 70, 2, 2, 24, 24, true, Mask::None, 0, Layout::Rows,
          Element::F16}),
    // Nothing to do, or nothing to see.
    {0, 8, 8, 1, 1, 8, 8, true},
    {1, 0, 8, 1, 1, 8, 8, false},
    {1, 8, 8, 2, 2, 0, 8, false},
    {1, 8, 8, 2, 2, 8, 0, true},
};

INSTANTIATE_TEST_SUITE_P(Shapes, Attention, testing::ValuesIn(shapes),
                         [](const testing::TestParamInfo<Shape> &info) {
                           return describe(info.param);
                         });

/// Results and gradients of everything, forward and backward.
std::vector<float> allResults(AttentionCase &c) {
  c.forward(0, c.forwardItems);
  c.backward(0, c.backwardItems);
  return contents({&c.result, &c.lse, &c.queryGrad, &c.keyGrad, &c.valueGrad});
}

double rootMeanSquareError(Tensor &actual,
                           const std::vector<double> &expected) {
  double sum = 0;
  for (int64_t i = 0; i < actual.count(); ++i)
    sum += std::pow(actual.data()[i] - expected[i], 2);
  return std::sqrt(sum / actual.count());
}

double rootMeanSquareError(const std::vector<double> &actual,
                           const std::vector<double> &expected) {
  double sum = 0;
  for (size_t i = 0; i < actual.size(); ++i)
    sum += std::pow(actual[i] - expected[i], 2);
  return std::sqrt(sum / actual.size());
}

TEST(AttentionInNarrowTypes, ErrsLikeFlashAttention) {
  for (Element element : {Element::BF16, Element::F16})
    for (bool causal : {false, true}) {
      AttentionCase c({2, 200, 200, 4, 2, 64, 64, causal, Mask::None, 0.0,
                       Layout::Rows, element});
      c.forward(0, c.forwardItems);
      c.backward(0, c.backwardItems);
      Reference exact = computeReference(c),
                flash = computeReference(c, element);
      auto expectSmall = [&](Tensor &tensor, const std::vector<double> &rounded,
                             const std::vector<double> &exact) {
        EXPECT_LE(rootMeanSquareError(tensor, exact),
                  1.2 * rootMeanSquareError(rounded, exact));
      };
      expectSmall(c.result, flash.result, exact.result);
      expectSmall(c.queryGrad, flash.queryGrad, exact.queryGrad);
      expectSmall(c.keyGrad, flash.keyGrad, exact.keyGrad);
      expectSmall(c.valueGrad, flash.valueGrad, exact.valueGrad);
    }
}

// No comparison of ids, and no sum of another order.
TEST(AttentionOfOneDocument, IsBitwiseEqual) {
  for (Element element : {Element::F32, Element::BF16}) {
    Shape shape = {2, 150, 150, 4, 2, 40, 24, true};
    shape.element = element;
    AttentionCase plain(shape), one(packed(Segments::One, shape));
    std::vector<float> expected = allResults(plain), actual = allResults(one);
    EXPECT_EQ(0, std::memcmp(expected.data(), actual.data(),
                             expected.size() * sizeof(float)));
  }
}

// The order of every sum is written in the kernel, so the width of a machine's
// vectors does not show.
TEST(AttentionArchitectures, AreBitwiseEqual) {
  if (!llvm::sys::getHostCPUFeatures().lookup("avx2"))
    GTEST_SKIP() << "this machine lacks AVX2";
  const Shape shapes[] = {
      {1, 100, 100, 2, 1, 40, 24, true, Mask::PerHead, 0.2},
      {1, 128, 128, 1, 1, 64, 64, true},
      packed(Segments::Short, {1, 150, 150, 2, 1, 40, 24, true}),
      {1, 100, 100, 2, 1, 40, 24, true, Mask::None, 0.2, Layout::Rows,
       Element::BF16},
      {1, 75, 75, 1, 1, 65, 64, false, Mask::PerHead, 0, Layout::Rows,
       Element::BF16},
  };
  for (const Shape &shape : shapes) {
    AttentionCase native(shape), portable(shape, "x86-64-v3");
    std::vector<float> expected = allResults(native),
                       actual = allResults(portable);
    EXPECT_EQ(0, std::memcmp(expected.data(), actual.data(),
                             expected.size() * sizeof(float)));
  }
}

void expectThreadsDoNotMatter(Element element) {
  AttentionCase c({2, 200, 200, 3, 3, 32, 32, true, Mask::None, 0.1,
                   Layout::Rows, element});
  std::vector<float> expected = allResults(c);
  auto onTwoThreads = [](int64_t items, auto run) {
    std::thread other([&] { run(items / 3, items); });
    run(0, items / 3);
    other.join();
  };
  for (int repetition = 0; repetition < 20; ++repetition) {
    onTwoThreads(c.forwardItems,
                 [&](int64_t lo, int64_t hi) { c.forwardInMemory(lo, hi); });
    onTwoThreads(c.backwardItems,
                 [&](int64_t lo, int64_t hi) { c.backwardInMemory(lo, hi); });
    for (Tensor *tensor : {&c.result, &c.queryGrad, &c.keyGrad, &c.valueGrad})
      tensor->buffer->fromMemory();
    std::vector<float> actual =
        contents({&c.result, &c.lse, &c.queryGrad, &c.keyGrad, &c.valueGrad});
    ASSERT_EQ(0, std::memcmp(expected.data(), actual.data(),
                             expected.size() * sizeof(float)));
  }
}

TEST(AttentionThreads, DoNotChangeABit) {
  expectThreadsDoNotMatter(Element::F32);
  expectThreadsDoNotMatter(Element::BF16);
}

TEST(AttentionWithoutKeys, IsZero) {
  AttentionCase c({1, 20, 0, 2, 2, 8, 8, false});
  c.forward(0, c.forwardItems);
  c.backward(0, c.backwardItems);
  for (float value : contents({&c.result, &c.queryGrad}))
    EXPECT_EQ(value, 0.0f);
  for (float value : contents({&c.lse}))
    EXPECT_EQ(value, std::numeric_limits<float>::infinity());
}

TEST(AttentionSpecialValues, NotANumberReachesItsRowsOnly) {
  AttentionCase c({1, 70, 70, 1, 1, 16, 16, true});
  c.query.at(0, 40, 0, 3) = std::numeric_limits<float>::quiet_NaN();
  c.forward(0, c.forwardItems);
  for (int64_t t = 0; t < 70; ++t)
    for (int64_t e = 0; e < 16; ++e)
      EXPECT_EQ(std::isnan(c.result.at(0, t, 0, e)), t == 40) << t;
}

TEST(AttentionSpecialValues, LargeScoresDoNotOverflow) {
  AttentionCase c({1, 70, 70, 1, 1, 16, 16, false});
  for (int64_t i = 0; i < c.query.count(); ++i)
    c.query.data()[i] *= 1000.0f;
  c.forward(0, c.forwardItems);
  c.backward(0, c.backwardItems);
  Reference expected = computeReference(c);
  // Scores of some thousands carry errors of 1e-4 of their own into p.
  EXPECT_LE(largestError(c.result, expected.result), 1e-2);
  EXPECT_LE(largestError(c.lse, expected.lse), tolerance(c.shape));
  for (float value : contents({&c.queryGrad, &c.keyGrad, &c.valueGrad}))
    EXPECT_TRUE(std::isfinite(value));
}

} // namespace
