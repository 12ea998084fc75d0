//===- RingTest.cpp - Attention whose keys go around a ring ---------------===//

#include "gtest/gtest.h"

#include "DistCase.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;
using hone::interp::Tensor;

/// Attention and its gradient over 16 positions of four query heads and two key
/// heads, on `ranks` ranks along cp beside two along dp.
static DistText ringOn(int64_t ranks, const std::string &element) {
  auto heads = [&](int64_t count, int64_t width) {
    return "tensor<2x16x" + std::to_string(count) + "x" +
           std::to_string(width) + "x" + element + ">";
  };
  std::string query = heads(4, 8), key = heads(2, 8), value = heads(2, 6),
              output = heads(4, 6), lse = "tensor<2x4x16xf32>";
  std::string positions = R"({"dp"}, {"cp" cuts [8] snake}, {}, {})",
              rows = R"({"dp"}, {}, {"cp" cuts [8] snake})";
  return {
      R"([<"dp" = 2>, <"cp" = )" + std::to_string(ranks) + ">]",
      {query, key, value, output},
      {output, lse, query, key, value},
      {positions, positions, positions, positions},
      {positions, rows, positions, positions, positions},
      "%o, %l = dist.ring_attention %0, %1, %2 over [\"cp\"] scale 0.4 : (" +
          query + ", " + key + ", " + value + ") -> (" + output + ", " + lse +
          ")\n%dq, %dk, %dv = dist.ring_attention_bwd %3, %0, %1, %2, %o, "
          "%l over [\"cp\"] scale 0.4 : (" +
          output + ", " + query + ", " + key + ", " + value + ", " + output +
          ", " + lse + ") -> (" + query + ", " + key + ", " + value +
          ")\nreturn %o, %l, %dq, %dk, %dv : " + output + ", " + lse + ", " +
          query + ", " + key + ", " + value};
}

TEST(Ring, ComputesAttentionAndItsGradient) {
  for (int64_t ranks : {1, 2, 4, 8}) {
    DistCase test(ringOn(ranks, "f32"));
    ASSERT_TRUE(test.partition()) << test.errors;
    EXPECT_TRUE(test.ranksAgree()) << ranks << " ranks";
  }
}

/// The root of the mean of squared errors.
static double errorOf(const Tensor &got, const Tensor &exact) {
  double sum = 0;
  for (int64_t i = 0; i != exact.size(); ++i)
    sum += std::pow(got.number(i) - exact.number(i), 2);
  return std::sqrt(sum / double(exact.size()));
}

// Parts are kept in f32 and rounded once. What they add to the error of an
// attention that is not split are some roundings of f32; a sum of parts that
// are rounded to bf16 would have about the square root of their number more.
TEST(Ring, RoundsOnce) {
  for (int64_t ranks : {2, 4}) {
    DistCase test(ringOn(ranks, "bf16"));
    ASSERT_TRUE(test.partition()) << test.errors;
    FailureOr<DistCase::Results> results = test.run();
    ASSERT_TRUE(succeeded(results));
    for (size_t result = 0; result != results->exact.size(); ++result) {
      const Tensor &exact = results->exact[result];
      if (result == 1) // log-sum-exps are f32 either way
        continue;
      EXPECT_LE(errorOf(results->ofRanks[result], exact),
                1.3 * errorOf(results->own[result], exact))
          << "result " << result << " of " << ranks << " ranks";
    }
  }
}

// All positions on each rank: attention as of one.
TEST(Ring, IsPlainAttentionWherePositionsAreWhole) {
  DistText text = ringOn(2, "f32");
  text.argumentShardings.assign(4, R"({"dp"}, {}, {}, {})");
  text.resultShardings = {R"({"dp"}, {}, {}, {})", R"({"dp"}, {}, {})",
                          R"({"dp"}, {}, {}, {})", R"({"dp"}, {}, {}, {})",
                          R"({"dp"}, {}, {}, {})"};
  DistCase test(text);
  ASSERT_TRUE(test.partition()) << test.errors;
  EXPECT_EQ(test.collectives(), "");
  EXPECT_TRUE(test.ranksAgree());
}
