//===- InitializeTest.cpp - Initial values --------------------------------===//

#include "program/Initialize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

using namespace honert;

namespace {

Argument argumentOf(const char *fqn, DType dtype, Shape dims, InitKind init,
                    double a, double b) {
  Argument argument = {};
  argument.fqn = fqn;
  argument.dtype = dtype;
  argument.parts = {{fqn, Shape(dims.size(), 0), dims}};
  argument.dims = std::move(dims);
  argument.bytes = *byteCount(dtype, argument.dims);
  argument.init = init;
  argument.a = a;
  argument.b = b;
  return argument;
}

template <typename T>
std::vector<T> valuesOf(const Argument &argument, uint64_t seed,
                        int threads = 2) {
  std::vector<T> values(static_cast<size_t>(*elementCount(argument.dims)));
  for (const Part &part : argument.parts)
    initialize(argument, part, PartLayout(argument.dims, part), seed,
               values.data(), ThreadPool(threads));
  return values;
}

TEST(Initialize, does_not_depend_on_threads) {
  Argument w = argumentOf("w", DType::f32, {301, 77}, InitKind::normal, 0, 1);
  std::vector<float> one = valuesOf<float>(w, 5, 1);
  EXPECT_EQ(one, valuesOf<float>(w, 5, 2));
  EXPECT_EQ(one, valuesOf<float>(w, 5, 3));
}

TEST(Initialize, depends_on_seed_and_name_but_not_on_shape) {
  Argument w = argumentOf("w", DType::f32, {100}, InitKind::normal, 0, 1);
  Argument v = argumentOf("v", DType::f32, {100}, InitKind::normal, 0, 1);
  Argument longer =
      argumentOf("w", DType::f32, {64, 33}, InitKind::normal, 0, 1);
  std::vector<float> values = valuesOf<float>(w, 5);
  EXPECT_NE(values, valuesOf<float>(w, 6));
  EXPECT_NE(values, valuesOf<float>(v, 5));
  std::vector<float> more = valuesOf<float>(longer, 5);
  more.resize(100);
  EXPECT_EQ(values, more);
}

TEST(Initialize, fp64_holds_the_fp32_values) {
  Argument narrow = argumentOf("w", DType::f32, {500}, InitKind::normal, 1, 3);
  Argument wide = argumentOf("w", DType::f64, {500}, InitKind::normal, 1, 3);
  std::vector<float> small = valuesOf<float>(narrow, 1);
  std::vector<double> large = valuesOf<double>(wide, 1);
  for (size_t i = 0; i < small.size(); ++i)
    ASSERT_EQ(static_cast<double>(small[i]), large[i]);
}

TEST(Initialize, normal_has_its_moments) {
  Argument w = argumentOf("w", DType::f32, {1000000}, InitKind::normal, 0.5, 2);
  double sum = 0, squares = 0, cubes = 0;
  for (float value : valuesOf<float>(w, 3)) {
    double x = (value - 0.5) / 2;
    sum += x, squares += x * x, cubes += x * x * x;
  }
  // Four standard deviations of each mean over a million values.
  EXPECT_NEAR(sum * 1e-6, 0, 4e-3);
  EXPECT_NEAR(squares * 1e-6, 1, 4e-3 * std::sqrt(2));
  EXPECT_NEAR(cubes * 1e-6, 0, 4e-3 * std::sqrt(15));
}

TEST(Initialize, uniform_stays_between_its_bounds) {
  Argument w = argumentOf("w", DType::f32, {200000}, InitKind::uniform, -1, 3);
  double sum = 0;
  for (float value : valuesOf<float>(w, 3)) {
    ASSERT_GE(value, -1);
    ASSERT_LE(value, 3);
    sum += value;
  }
  EXPECT_NEAR(sum / 200000, 1, 4 * 4 / std::sqrt(12 * 200000.0));
}

TEST(Initialize, constant_in_every_type) {
  EXPECT_EQ(
      valuesOf<float>(
          argumentOf("w", DType::f32, {3}, InitKind::constant, 0.1, 0), 0),
      std::vector<float>(3, 0.1f));
  EXPECT_EQ(valuesOf<int64_t>(
                argumentOf("w", DType::i64, {3}, InitKind::constant, 7, 0), 0),
            std::vector<int64_t>(3, 7));
  EXPECT_EQ(valuesOf<uint16_t>(
                argumentOf("w", DType::bf16, {3}, InitKind::constant, 1, 0), 0),
            std::vector<uint16_t>(3, 0x3f80));
}

} // namespace
