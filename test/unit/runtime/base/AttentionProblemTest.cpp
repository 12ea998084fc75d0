//===- AttentionProblemTest.cpp - Reading the line of honert_attention ----===//

#include "support/Describe.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace honert;

namespace {

const char *const forward =
    "forward bf16 batch 2 heads 12 4 positions 33 47 width 64 80 scale 0.125 "
    "causal 1 dropout 0 deterministic 0 query 76032,2304,64 key 9,8,7 value "
    "0,0,0 result 31680,960,80";

const char *const backward =
    "backward f16 batch 1 heads 2 1 positions 8 8 width 16 16 scale "
    "0.10000000000000001 causal 0 dropout 0.10000000000000001 deterministic 1 "
    "query 1,2,3 key 4,5,6 value 7,8,9 result 10,11,12 result_grad 13,14,15 "
    "query_grad 256,32,16 key_grad 128,16,16 value_grad 128,16,128";

TEST(AttentionProblem, is_read_and_written) {
  AttentionProblem problem;
  Status read = AttentionProblem::parse(forward, problem);
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(problem.text(), forward);
  EXPECT_EQ(problem.operands().size(), 5u);
  AttentionTensor query = problem.tensor(AttentionOperand::query);
  EXPECT_EQ(query.dims, (std::array<int64_t, 4>{2, 12, 33, 64}));
  EXPECT_EQ(query.strides, (std::array<int64_t, 4>{76032, 64, 2304, 1}));
  EXPECT_EQ(query.extentBytes(),
            2 * (76032 + 32 * 2304 + 11 * 64 + 63 + 1)); // in bf16
  AttentionTensor value = problem.tensor(AttentionOperand::value);
  EXPECT_EQ(value.dims, (std::array<int64_t, 4>{2, 4, 47, 80}));
  AttentionTensor lse = problem.tensor(AttentionOperand::lse);
  EXPECT_TRUE(lse.isWritten);
  EXPECT_EQ(lse.extentBytes(), 4 * 2 * 12 * 33);
}

TEST(AttentionProblem, has_gradients_and_a_seed) {
  AttentionProblem problem;
  Status read = AttentionProblem::parse(backward, problem);
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(problem.text(), backward);
  EXPECT_EQ(problem.operands().size(), 10u);
  EXPECT_FALSE(problem.tensor(AttentionOperand::lse).isWritten);
  EXPECT_TRUE(problem.tensor(AttentionOperand::keyGrad).isWritten);
  EXPECT_EQ(problem.tensor(AttentionOperand::seed).extentBytes(), 16);
}

TEST(AttentionProblem, has_lengths) {
  std::string line = forward;
  line.replace(line.find("causal 1"), 8, "causal lengths");
  AttentionProblem problem;
  Status read = AttentionProblem::parse(line, problem);
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_TRUE(problem.causal);
  EXPECT_EQ(problem.text(), line);
  EXPECT_EQ(problem.operands().back(), AttentionOperand::lengths);
  AttentionTensor lengths = problem.tensor(AttentionOperand::lengths);
  EXPECT_FALSE(lengths.isWritten);
  EXPECT_EQ(lengths.extentBytes(), 4 * 2 * 2);
}

struct Refusal {
  const char *from, *to; ///< replaced in `forward`
  const char *message;
};

std::ostream &operator<<(std::ostream &out, const Refusal &refusal) {
  return out << refusal.to;
}

class RefusedProblem : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedProblem, names_the_word) {
  std::string line = forward;
  line.replace(line.find(GetParam().from), std::strlen(GetParam().from),
               GetParam().to);
  AttentionProblem problem;
  Status read = AttentionProblem::parse(line, problem);
  EXPECT_EQ(read.message(),
            std::string("attention problem: got ") + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedProblem,
    testing::Values(
        Refusal{"forward", "onward",
                "'onward', expected 'forward' or 'backward'"},
        Refusal{"bf16", "f64", "'f64', expected 'bf16', 'f16' or 'f32'"},
        Refusal{"batch", "bach", "'bach', expected 'batch'"},
        Refusal{"positions 33", "positions 0",
                "'0', expected a whole number from 1 to 2147483647"},
        Refusal{
            "heads 12 4", "heads 12 5",
            "'5', expected a number of key heads that divides that of query "
            "heads"},
        Refusal{"scale 0.125", "scale inf", "'inf', expected a finite number"},
        Refusal{"causal 1", "causal 2", "'2', expected '0', '1' or 'lengths'"},
        Refusal{"dropout 0", "dropout 1",
                "'dropout 1', expected 0 <= dropout < 1"},
        Refusal{"key 9,8,7", "key 9,8", "'9,8', expected three strides"},
        Refusal{"key 9,8,7", "key 9,8,-7",
                "'-7', expected a whole number from 0 to 1099511627776"},
        Refusal{"result 31680,960,80", "result 31680,960,40",
                "'result', expected a result whose elements lie apart"},
        Refusal{" result 31680,960,80", "", "'', expected 'result'"},
        Refusal{"result 31680,960,80", "result 31680,960,80 lse",
                "'lse', expected the end of the line"}));

//===----------------------------------------------------------------------===//
// As part of a program
//===----------------------------------------------------------------------===//

class AttentionLaunches : public testing::Test {
protected:
  AttentionLaunches() {
    honert_meta(program.get(), "target", "cuda sm_90");
    honert_arena(program.get(), int64_t(1) << 20);
    honert_function(program.get(), "step");
    int64_t one = 1;
    honert_result(program.get(), "loss", 0, 1, &one, 0);
  }
  void add(std::vector<int64_t> offsets, int64_t workspace = 0) {
    honert_attention(program.get(), "a", "", forward,
                     static_cast<int64_t>(offsets.size()), offsets.data(),
                     workspace, 256);
  }
  void expect(const char *message) {
    EXPECT_EQ(program->check().message(),
              *message ? std::string("program: ") + message : "");
  }

  test::ProgramPtr program = test::makeProgram();
};

TEST_F(AttentionLaunches, lie_in_the_arena) {
  add({0, 0, 0, 1024, 0});
  expect("");
  add({0, 0, 0, 8, 0});
  expect("attention a has its result at 8, outside the arena or not a multiple "
         "of 16");
}

TEST_F(AttentionLaunches, have_all_offsets) {
  add({0, 0, 0, 0});
  expect("attention a has 4 offsets, expected 5");
}

TEST_F(AttentionLaunches, have_their_workspace_in_the_arena) {
  add({0, 0, 0, 0, 0}, 1 << 20);
  expect("attention a has its workspace at 1048576, outside the arena or not a "
         "multiple of 256");
}

TEST_F(AttentionLaunches, have_their_workspace_aligned) {
  add({0, 0, 0, 0, 0}, 64);
  expect("attention a has its workspace at 64, outside the arena or not a "
         "multiple of 256");
}

TEST_F(AttentionLaunches, have_one_plan_per_architecture) {
  add({0, 0, 0, 0, 0});
  honert_attention_plan(program.get(), 90, "{}", 2);
  honert_attention_plan(program.get(), 100, "{}", 2);
  expect("");
  honert_attention_plan(program.get(), 90, "{}", 2);
  expect("attention a has a plan for sm_90 that is empty or the second");
}

TEST_F(AttentionLaunches, are_for_a_gpu) {
  add({0, 0, 0, 0, 0});
  honert_meta(program.get(), "target", "cpu");
  expect("launch a of step runs on the GPU, but the target is 'cpu'");
}

TEST_F(AttentionLaunches, come_before_their_plans) {
  honert_zero(program.get(), 0, 0);
  honert_attention_plan(program.get(), 90, "{}", 2);
  expect("honert_attention_plan follows no honert_attention");
}

} // namespace
