//===- MatmulPlanTest.cpp - How products are put to the library -----------===//

#include "exec/cpu/MatmulPlan.h"

#include <gtest/gtest.h>

using namespace honert;

TEST(MatmulPlan, one_weight_for_a_batch_is_one_product) {
  MatmulLaunch launch{
      4, 8, 32, 16, {8 * 16, 16, 1, 0, 32, 1, 8 * 32, 32, 1, 0, 0, 0},
      0, 0, 0,  -1, -1};
  MatmulPlan plan = planMatmul(launch);
  EXPECT_EQ(plan.batch, 1);
  EXPECT_EQ(plan.m, 32);
  EXPECT_EQ(plan.packedBytes(), 0);
}

TEST(MatmulPlan, transposed_output_swaps_the_operands) {
  MatmulLaunch launch{1, 8, 32, 16, {0, 16, 1, 0, 32, 1, 0, 1, 8, 0, 0, 0},
                      0, 0, 0,  -1, -1};
  MatmulPlan plan = planMatmul(launch);
  EXPECT_TRUE(plan.swapped);
  EXPECT_EQ(plan.m, 32);
  EXPECT_EQ(plan.n, 8);
  EXPECT_EQ(plan.out, (MatrixStrides{0, 8, 1}));
  EXPECT_EQ(plan.packedBytes(), 0);
}

TEST(MatmulPlan, overlapping_matrices_are_copied) {
  // Windows of a sequence: each matrix starts one row after the one before.
  MatmulLaunch launch{
      4, 8, 32, 16, {16, 16, 1, 16 * 32, 32, 1, 8 * 32, 32, 1, 0, 0, 0},
      0, 0, 0,  -1, -1};
  EXPECT_TRUE(planMatmul(launch).packLhs);
}

/// What would be rounded in between is summed in f32.
TEST(MatmulPlan, narrow_results_of_several_sums_are_wide_until_the_end) {
  // The left operand is transposed, and the sum long: two calls.
  MatmulLaunch launch{1, 48, 64, 4096, {0, 1, 48, 0, 64, 1, 0, 64, 1, 0, 0, 0},
                      0, 0,  0,  -1,   -1};
  launch.operand = launch.result = DType::bf16;
  EXPECT_TRUE(planMatmul(launch).wideOut);
  launch.k = 1024;
  EXPECT_FALSE(planMatmul(launch).wideOut);
  launch.strides = {0, 1024, 1, 0, 64, 1, 0, 1, 48, 0, 0, 0};
  launch.bias = 64; // of rows: the product is transposed
  EXPECT_TRUE(planMatmul(launch).wideOut);
  launch.result = DType::f32;
  EXPECT_FALSE(planMatmul(launch).wideOut);
}
