//===- BranchesTest.cpp - Which products run beside others ----------------===//

#include "exec/cuda/Branches.h"
#include "program/Accesses.h"

#include <gtest/gtest.h>

using namespace honert;

namespace {

/// Of 4 x 4 by 4 x 4 in f32, 64 bytes each, at these offsets.
Launch product(int64_t a, int64_t b, int64_t c, int64_t addend = -1) {
  MatmulLaunch matmul = {1, 4, 4, 4,  {16, 4, 1, 16, 4, 1, 16, 4, 1, 16, 4, 1},
                         a, b, c, -1, addend};
  return {"product", "", matmul};
}

/// Of 16 elements of f32 each.
Launch kernel(std::vector<int64_t> reads, std::vector<int64_t> writes) {
  DeviceLaunch launch = {"k", 1, 32, {}};
  launch.reads.emplace();
  for (int64_t at : reads)
    launch.reads->push_back({DType::f32, at, 16});
  for (int64_t at : writes)
    launch.writes.push_back({DType::f32, at, 16});
  return {"kernel", "", launch};
}

Launch unknownKernel() { return {"kernel", "", DeviceLaunch{"k", 1, 32, {}}}; }

BranchPlan planOf(std::vector<Launch> launches) {
  Function function;
  function.launches = std::move(launches);
  return BranchPlan(function);
}

using Joins = std::map<size_t, size_t>;

TEST(BranchPlan, a_gradient_of_a_weight_runs_beside_what_does_not_need_it) {
  BranchPlan plan = planOf({product(0, 64, 128), kernel({0}, {192}),
                            kernel({128}, {256}), kernel({}, {0})});
  EXPECT_EQ(plan.joins, (Joins{{0, 2}})); // its result is read
  EXPECT_EQ(plan.awaited[2], 0u);
  EXPECT_EQ(plan.awaited[3], BranchPlan::never);
}

TEST(BranchPlan, its_operands_stay_until_it_is_done) {
  BranchPlan plan =
      planOf({product(0, 64, 128), kernel({192}, {256}), kernel({}, {96})});
  EXPECT_EQ(plan.joins, (Joins{{0, 2}})); // half of b
}

TEST(BranchPlan, a_sum_into_its_addend_is_written_and_read) {
  BranchPlan plan =
      planOf({product(0, 64, 128, 128), kernel({}, {192}), kernel({}, {128})});
  EXPECT_EQ(plan.joins, (Joins{{0, 2}}));
}

TEST(BranchPlan, a_product_that_is_read_next_stays) {
  EXPECT_EQ(planOf({product(0, 64, 128), kernel({128}, {192})}).joins, Joins());
}

TEST(BranchPlan, what_is_not_known_waits_for_all) {
  BranchPlan plan = planOf({product(0, 64, 128), kernel({}, {192}),
                            unknownKernel(), kernel({}, {256})});
  EXPECT_EQ(plan.joins, (Joins{{0, 2}}));
  EXPECT_EQ(planOf({product(0, 64, 128), unknownKernel()}).joins, Joins());
}

TEST(BranchPlan, the_end_of_the_function_waits) {
  BranchPlan plan = planOf({product(0, 64, 128), kernel({}, {192})});
  EXPECT_EQ(plan.joins, (Joins{{0, 2}}));
  EXPECT_EQ(plan.awaited[2], 0u);
}

/// The second adds to what the first writes: their stream has that order.
TEST(BranchPlan, products_beside_others_have_an_order) {
  BranchPlan plan = planOf({product(0, 64, 128), product(192, 256, 128, 128),
                            kernel({320}, {384}), kernel({128}, {448})});
  EXPECT_EQ(plan.joins, (Joins{{0, 3}, {1, 3}}));
  EXPECT_EQ(plan.awaited[3], 1u);
}

TEST(Accesses, of_a_product_are_those_of_its_strides) {
  MatmulLaunch matmul = {
      2,    3,    5,    7,    {100, 7, 1, 0, 1, 7, 15, 5, 1, 0, 0, 0},
      1000, 2000, 3000, 4000, -1};
  matmul.operand = DType::bf16;
  Accesses accesses = accessesOf({"product", "", matmul});
  ASSERT_EQ(accesses.reads.size(), 3u);
  EXPECT_EQ(accesses.reads[0].end, 1000 + 2 * (100 + 14 + 6 + 1));
  EXPECT_EQ(accesses.reads[1].end, 2000 + 2 * (6 + 28 + 1));
  EXPECT_EQ(accesses.reads[2].end, 4000 + 4 * 5);
  ASSERT_EQ(accesses.writes.size(), 1u);
  EXPECT_EQ(accesses.writes[0].begin, 3000);
  EXPECT_EQ(accesses.writes[0].end, 3000 + 4 * 30);
}

} // namespace
