//===- WorkingCopiesTest.cpp - Parameters in a low type -------------------===//

#include "train/WorkingCopies.h"
#include "support/Describe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace honert;

namespace {

/// A program of one parameter of type `from` and its working copy of type `to`.
struct ProgramWithWorkingCopies {
  test::ProgramPtr program{honert_program_new(), honert_program_free};
  Arena arena;

  ProgramWithWorkingCopies(DType from, DType to, int64_t count) {
    int64_t dims[] = {count}, bytes = (count * 8 + 63) / 64 * 64;
    honert_arena(program.get(), 2 * bytes);
    honert_argument(program.get(), 0, "w", static_cast<int64_t>(from), 1, dims,
                    0);
    honert_argument(program.get(), 7, "w", static_cast<int64_t>(to), 1, dims,
                    bytes);
    EXPECT_TRUE(arena.allocate(2 * bytes, "the arena").ok());
  }
  char *param() { return arena.at(program->arguments[0].offset); }
  char *workingCopy() { return arena.at(program->arguments[1].offset); }
};

TEST(WorkingCopies, rounds_every_float_like_single_elements) {
  constexpr int64_t count = 3 * 65536 + 5;
  for (DType to : {DType::bf16, DType::f16}) {
    ProgramWithWorkingCopies p(DType::f32, to, count);
    // Every upper half, with lower halves below, at and above a tie.
    const uint32_t lower[] = {0x7fff, 0x8000, 0x8001};
    for (int64_t i = 0; i < count; ++i) {
      uint32_t bits = static_cast<uint32_t>(i / 3) << 16 | lower[i % 3];
      std::memcpy(p.param() + 4 * i, &bits, 4);
    }
    fillWorkingCopies(*p.program, ThreadPool(2), p.arena);
    DefaultFloatMode mode;
    for (int64_t i = 0; i < count; ++i) {
      double value = loadElement(DType::f32, p.param() + 4 * i);
      uint16_t expected, seen;
      storeElement(to, &expected, value);
      std::memcpy(&seen, p.workingCopy() + 2 * i, 2);
      if (std::isnan(value))
        ASSERT_TRUE(std::isnan(loadElement(to, &seen))) << i;
      else
        ASSERT_EQ(seen, expected) << i << " " << name(to);
    }
  }
}

TEST(WorkingCopies, of_the_interpreter_in_double_is_a_copy) {
  ProgramWithWorkingCopies p(DType::f64, DType::f64, 3);
  const double values[] = {1.0 / 3, -1e300, 0x1p-1060};
  std::memcpy(p.param(), values, sizeof values);
  fillWorkingCopies(*p.program, ThreadPool(1), p.arena);
  EXPECT_EQ(std::memcmp(p.workingCopy(), values, sizeof values), 0);
}

} // namespace
