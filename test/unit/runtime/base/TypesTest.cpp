//===- TypesTest.cpp - Elements of every type -----------------------------===//

#include "base/Types.h"
#include "base/Parallel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace honert;

namespace {

uint16_t stored(DType dtype, double value) {
  uint16_t bits;
  storeElement(dtype, &bits, value);
  return bits;
}

TEST(Types, half_rounds_to_nearest_even) {
  EXPECT_EQ(stored(DType::f16, 1), 0x3c00);
  EXPECT_EQ(stored(DType::f16, -2), 0xc000);
  EXPECT_EQ(stored(DType::f16, 65504), 0x7bff);
  EXPECT_EQ(stored(DType::f16, 65519), 0x7bff);
  EXPECT_EQ(stored(DType::f16, 65520), 0x7c00);
  EXPECT_EQ(stored(DType::f16, 0x1p-24), 0x0001);
  EXPECT_EQ(stored(DType::f16, 0x1p-25), 0x0000); // a tie, to even
  EXPECT_EQ(stored(DType::f16, 1 + 0x1p-11), 0x3c00);
  EXPECT_EQ(stored(DType::f16, 1 + 3 * 0x1p-11), 0x3c02);
}

TEST(Types, bfloat_rounds_to_nearest_even) {
  EXPECT_EQ(stored(DType::bf16, 1), 0x3f80);
  EXPECT_EQ(stored(DType::bf16, 1 + 0x1p-8), 0x3f80);
  EXPECT_EQ(stored(DType::bf16, 1 + 3 * 0x1p-8), 0x3f82);
  EXPECT_EQ(stored(DType::bf16, 1e39), 0x7f80);
}

TEST(Types, sixteen_bit_floats_survive_a_round_trip) {
  DefaultFloatMode mode; // subnormals count
  for (DType dtype : {DType::f16, DType::bf16})
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      auto original = static_cast<uint16_t>(bits);
      double value = loadElement(dtype, &original);
      if (!std::isnan(value)) {
        ASSERT_EQ(stored(dtype, value), original) << name(dtype);
      }
    }
}

/// 464 lies half-way between the largest e4m3 and what would be an infinity.
TEST(Types, eight_bit_floats_round_to_nearest_even) {
  auto code = [](DType dtype, double value) {
    uint8_t bits;
    storeElement(dtype, &bits, value);
    return int(bits);
  };
  EXPECT_EQ(code(DType::f8e4m3, 1), 0x38);
  EXPECT_EQ(code(DType::f8e4m3, -448), 0xfe);
  EXPECT_EQ(code(DType::f8e4m3, 464), 0x7e);
  EXPECT_EQ(code(DType::f8e4m3, 465), 0x7f);
  EXPECT_EQ(code(DType::f8e4m3, 0x1p-10), 0); // a tie, to even
  EXPECT_EQ(code(DType::f8e4m3, 3 * 0x1p-10), 2);
  EXPECT_EQ(code(DType::f8e5m2, 1), 0x3c);
  EXPECT_EQ(code(DType::f8e5m2, 61439), 0x7b);
  EXPECT_EQ(code(DType::f8e5m2, 61440), 0x7c);
  for (DType dtype : {DType::f8e4m3, DType::f8e5m2})
    for (int bits = 0; bits < 256; ++bits) {
      auto original = static_cast<uint8_t>(bits);
      double value = loadElement(dtype, &original);
      if (!std::isnan(value)) {
        ASSERT_EQ(code(dtype, value), bits) << name(dtype);
      }
    }
}

TEST(Types, sizes_beyond_int64_are_refused) {
  EXPECT_EQ(byteCount(DType::f32, {3, 4}), 48);
  EXPECT_EQ(elementCount({}), 1);
  EXPECT_FALSE(elementCount({int64_t{1} << 32, int64_t{1} << 32}));
  EXPECT_FALSE(byteCount(DType::f64, {int64_t{1} << 61}));
  EXPECT_FALSE(elementCount({2, -1}));
}

} // namespace
