//===- IntegerRangesTest.cpp - Which integers a value may be --------------===//

#include "hone/Analysis/Values/IntegerRanges.h"
#include "ParsedFunction.h"

#include <random>

using namespace hone;
using namespace mlir;
using Interval = IntervalSet::Interval;

namespace {
bool contains(const IntervalSet &set, int64_t number) {
  return llvm::any_of(set.parts(), [&](Interval each) {
    return each.low <= number && number <= each.high;
  });
}

std::vector<int64_t> numbersOf(const IntervalSet &set) {
  std::vector<int64_t> numbers;
  for (Interval each : set.parts())
    for (int64_t number = each.low; number <= each.high; ++number)
      numbers.push_back(number);
  return numbers;
}

/// One or two intervals near 0.
IntervalSet randomSet(std::mt19937 &random) {
  IntervalSet set;
  for (unsigned left = 1 + random() % 2; left != 0; --left) {
    int64_t low = int64_t(random() % 21) - 10;
    set.add({low, low + int64_t(random() % 5)});
  }
  return set;
}

bool holds(CmpPredicate predicate, int64_t x, int64_t y) {
  switch (predicate) {
  case CmpPredicate::eq:
    return x == y;
  case CmpPredicate::ne:
    return x != y;
  case CmpPredicate::lt:
    return x < y;
  case CmpPredicate::le:
    return x <= y;
  case CmpPredicate::gt:
    return x > y;
  case CmpPredicate::ge:
    return x >= y;
  }
  return false;
}

TEST(IntervalSet, StaysAscendingDisjointAndSmall) {
  IntervalSet set;
  for (int64_t number : {40, 0, 20, 30})
    set.add({number, number});
  EXPECT_EQ(numbersOf(set), (std::vector<int64_t>{0, 20, 30, 40}));
  set.add({33, 33}); // a fifth joins the nearest two
  EXPECT_EQ(set.parts().size(), IntervalSet::maxIntervals);
  EXPECT_TRUE(contains(set, 31));
  EXPECT_FALSE(contains(set, 21));
  set.add({10, 35});
  EXPECT_EQ(set.parts().size(), 3u);
  EXPECT_FALSE(contains(set, 39));
}

TEST(IntervalSet, IsWithinATableOrOutside) {
  IntervalSet set(0, 60);
  EXPECT_TRUE(set.isWithin(61, std::nullopt));
  EXPECT_FALSE(set.isWithin(60, std::nullopt));
  set.add({-100, -100});
  EXPECT_FALSE(set.isWithin(61, std::nullopt));
  EXPECT_TRUE(set.isWithin(61, -100));
  EXPECT_FALSE(set.isOutside(61, -100));
  EXPECT_TRUE(IntervalSet(61, 70).isOutside(61, -100));
  EXPECT_FALSE(IntervalSet(60, 70).isOutside(61, -100));
  EXPECT_FALSE(IntervalSet(-100, -90).isOutside(61, -100));
  EXPECT_TRUE(IntervalSet(-100, -90).isOutside(61, std::nullopt));
  EXPECT_FALSE(IntervalSet().isOutside(61, std::nullopt));
}

TEST(IntervalSet, ComparisonsKeepWhatCanSatisfyThem) {
  std::mt19937 random(1);
  for (int trial = 0; trial != 2000; ++trial) {
    IntervalSet set = randomSet(random), other = randomSet(random);
    auto predicate = CmpPredicate(random() % 6);
    IntervalSet kept = set.where(predicate, other);
    for (int64_t x = -12; x != 17; ++x) {
      bool can =
          contains(set, x) && llvm::any_of(numbersOf(other), [&](int64_t y) {
            return holds(predicate, x, y);
          });
      ASSERT_EQ(contains(kept, x), can) << trial << ": " << x;
    }
  }
}

TEST(IntervalSet, ArithmeticHoldsEveryResult) {
  using Operation = int64_t (*)(int64_t, int64_t);
  const std::pair<IntervalSet::Binary, Operation> operations[] = {
      {interval::add, [](int64_t x, int64_t y) { return x + y; }},
      {interval::sub, [](int64_t x, int64_t y) { return x - y; }},
      {interval::mul, [](int64_t x, int64_t y) { return x * y; }},
      {interval::div, [](int64_t x, int64_t y) { return y == 0 ? 0 : x / y; }},
      {interval::bitAnd, [](int64_t x, int64_t y) { return x & y; }},
      {interval::bitOr, [](int64_t x, int64_t y) { return x | y; }}};
  MLIRContext context;
  Type element = IntegerType::get(&context, 64);
  std::mt19937 random(2);
  for (int trial = 0; trial != 500; ++trial) {
    IntervalSet xs = randomSet(random), ys = randomSet(random);
    for (auto [index, operation] : llvm::enumerate(operations)) {
      IntervalSet made = xs.map(element, ys, operation.first);
      for (int64_t x : numbersOf(xs))
        for (int64_t y : numbersOf(ys))
          ASSERT_TRUE(contains(made, operation.second(x, y)))
              << index << ": " << x << ", " << y;
    }
  }
}

TEST(IntervalSet, WhatOverflowsIsEveryInteger) {
  MLIRContext context;
  Type narrow = IntegerType::get(&context, 8),
       wide = IntegerType::get(&context, 64);
  IntervalSet byte =
      IntervalSet(100, 120).map(narrow, IntervalSet(10, 10), interval::add);
  EXPECT_EQ(std::pair(byte.low(), byte.high()),
            std::pair(int64_t(-128), int64_t(127)));
  for (IntervalSet::Binary operation : {interval::add, interval::mul}) {
    IntervalSet word =
        IntervalSet(2, INT64_MAX).map(wide, IntervalSet(2, 2), operation);
    EXPECT_EQ(std::pair(word.low(), word.high()),
              std::pair(INT64_MIN, INT64_MAX));
  }
}

/// What run() finds for ops of `t`, i64 of [0, 60], `u`, any i64, and a float.
class IntegerRangesOf {
public:
  explicit IntegerRangesOf(StringRef body)
      : parsed("%t: tensor<4xi64>, %u: tensor<4xi64>, %x: tensor<4xf32>", body),
        ranges(parsed.block()) {
    IntegerRanges::Arguments arguments;
    arguments[parsed.argument(0)] = IntervalSet(0, 60);
    ranges.run(arguments);
  }
  std::pair<int64_t, int64_t> operator[](unsigned op) {
    const IntervalSet &set = ranges.lookup(parsed.result(op));
    return {set.low(), set.high()};
  }

private:
  ParsedFunction parsed;
  IntegerRanges ranges;
};

std::pair<int64_t, int64_t> from(int64_t low, int64_t high) {
  return {low, high};
}

TEST(IntegerRanges, FollowOps) {
  IntegerRangesOf of(R"(
    %0 = hone.constant dense<[3, -2, 5, 0]> : tensor<4xi64>
    %1 = hone.sub %t, %0 : tensor<4xi64>
    %2 = hone.cumsum %t dim 0 : tensor<4xi64>
    %3 = hone.reduce sum %t dims [0] : tensor<4xi64> -> tensor<i64>
    %4 = hone.argmax %x dim 0 : tensor<4xf32> -> tensor<i64>
    %5 = hone.cast %x : tensor<4xf32> -> tensor<4xi32>
    %6 = hone.iota dim 0 : tensor<4xi64>
    %7 = hone.div %t, %u : tensor<4xi64>)");
  EXPECT_EQ(of[0], from(-2, 5));
  EXPECT_EQ(of[1], from(-5, 62));
  EXPECT_EQ(of[2], from(0, 240));
  EXPECT_EQ(of[3], from(0, 240));
  EXPECT_EQ(of[4], from(0, 3));
  EXPECT_EQ(of[5], from(INT32_MIN, INT32_MAX));
  EXPECT_EQ(of[6], from(0, 3));
  EXPECT_EQ(of[7], from(INT64_MIN, INT64_MAX)); // by zero
}

TEST(IntegerRanges, BranchesSatisfyTheirPredicate) {
  IntegerRangesOf of(R"(
    %0 = hone.constant dense<0> : tensor<4xi64>
    %1 = hone.constant dense<61> : tensor<4xi64>
    %2 = hone.cmp ge, %u, %0 : tensor<4xi64> -> tensor<4xi1>
    %3 = hone.cmp lt, %u, %1 : tensor<4xi64> -> tensor<4xi1>
    %4 = hone.and %2, %3 : tensor<4xi1>
    %5 = hone.select %4, %u, %0 : tensor<4xi1>, tensor<4xi64>
    %6 = hone.not %3 : tensor<4xi1>
    %7 = hone.select %6, %u, %1 : tensor<4xi1>, tensor<4xi64>
    %8 = hone.select %2, %1, %u : tensor<4xi1>, tensor<4xi64>
    %9 = hone.select %4, %0, %u : tensor<4xi1>, tensor<4xi64>
    %10 = hone.constant dense<-100> : tensor<4xi64>
    %11 = hone.cmp eq, %u, %10 : tensor<4xi64> -> tensor<4xi1>
    %12 = hone.or %4, %11 : tensor<4xi1>
    %13 = hone.select %12, %u, %0 : tensor<4xi1>, tensor<4xi64>
    %14 = hone.select %12, %0, %u : tensor<4xi1>, tensor<4xi64>)");
  EXPECT_EQ(of[5], from(0, 60));
  EXPECT_EQ(of[7], from(61, INT64_MAX));
  EXPECT_EQ(of[8], from(INT64_MIN, 61));
  // Not both: either may be what fails.
  EXPECT_EQ(of[9], from(INT64_MIN, INT64_MAX));
  // One of both; neither.
  EXPECT_EQ(of[13], from(-100, 60));
  EXPECT_EQ(of[14], from(INT64_MIN, INT64_MAX));
}

TEST(IntegerRanges, DoublingPredicatesEnd) {
  std::string body = "%0 = hone.cmp ge, %u, %t : tensor<4xi64> -> "
                     "tensor<4xi1>\n";
  for (unsigned i = 1; i != 60; ++i) {
    std::string last = "%" + std::to_string(i - 1);
    body += "%" + std::to_string(i) + " = hone." + (i % 2 ? "and " : "or ") +
            last + ", " + last + " : tensor<4xi1>\n";
  }
  IntegerRangesOf of(body + "%60 = hone.select %59, %u, %t : tensor<4xi1>, "
                            "tensor<4xi64>");
  EXPECT_EQ(of[60], from(INT64_MIN, INT64_MAX));
}
} // namespace
