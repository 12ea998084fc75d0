//===- GraphTest.cpp - The graphs that cuDNN is given ---------------------===//
//
// The fake evaluates the operation graph node by node: results are right if
// nodes, shapes, strides, types and pointers are.
//
//===----------------------------------------------------------------------===//

#include "emulation/cudnn/FakeCudnn.h"
#include "support/AttentionCase.h"

#include <cmath>

using namespace honert;
using namespace test;

using Operand = AttentionOperand;

namespace {

class CudaAttention : public Cuda,
                      public testing::WithParamInterface<AttentionCase> {
protected:
  CudaAttention() { fake::cudnnSettings() = {}; }
};

/// What rounding to `dtype` changes at most, relative.
double roundingOf(DType dtype) {
  return dtype == DType::bf16 ? 0x1p-9 : 0x1p-12;
}

/// What the program has as gradients of keys, with 0 in place of what no call
/// writes: past the keys that a batch has.
std::vector<double> readWritten(AttentionProgram &program, Operand operand,
                                const AttentionCase &c) {
  std::vector<double> values = program.read(operand);
  if (operand != Operand::keyGrad && operand != Operand::valueGrad)
    return values;
  int64_t width = operand == Operand::keyGrad ? c.width : c.valueWidth;
  for (size_t i = 0; i != values.size(); ++i) {
    int64_t row = static_cast<int64_t>(i) / width;
    if (row % c.keys < c.keysOf(row / c.keys / c.keyHeads))
      continue;
    EXPECT_TRUE(std::isnan(values[i])); // of the fake
    values[i] = 0;
  }
  return values;
}

void expectNear(const Tensors &expected, AttentionProgram &program,
                const AttentionCase &c) {
  for (const auto &[operand, values] : expected) {
    // Weights and their gradients are rounded once and so is the result, which
    // delta is made from; gradients of grouped heads once more. lse is fp32.
    double bound = operand == Operand::lse ? 1e-6 : 3 * roundingOf(c.dtype);
    EXPECT_LT(relativeError(readWritten(program, operand, c), values), bound)
        << "operand " << static_cast<int>(operand);
  }
}

TEST_P(CudaAttention, equals_the_formulas_in_double) {
  AttentionCase c = GetParam();
  AttentionProgram program(c);
  Status started = program.start();
  ASSERT_TRUE(started.ok()) << started.message();
  Tensors inputs = randomInputs(c);
  Status ran = program.run(inputs);
  ASSERT_TRUE(ran.ok()) << ran.message();
  PlainAttention plain(c, inputs);
  expectNear(plain.forward(), program, c);
  expectNear(plain.backward(), program, c);
}

constexpr DType f16 = DType::f16, bf16 = DType::bf16;

INSTANTIATE_TEST_SUITE_P(
    Shapes, CudaAttention,
    testing::Values(
        AttentionCase{2, 3, 3, 16, 16, 64, 64},
        AttentionCase{2, 3, 3, 16, 16, 64, 64, true},
        AttentionCase{1, 2, 2, 33, 33, 80, 80, true, bf16, 0, false, true},
        AttentionCase{1, 2, 2, 9, 9, 128, 128, true, f16, 0, false, true},
        AttentionCase{1, 2, 2, 17, 29, 64, 64},
        AttentionCase{1, 2, 2, 29, 17, 64, 64, true},
        AttentionCase{1, 2, 2, 1, 13, 8, 8},
        AttentionCase{2, 2, 1, 12, 12, 16, 24, true}));

INSTANTIATE_TEST_SUITE_P(
    GroupedHeads, CudaAttention,
    testing::Values(AttentionCase{2, 8, 2, 21, 21, 32, 32, true, bf16, 0, false,
                                  true},
                    AttentionCase{1, 6, 1, 16, 19, 16, 16, false, f16}));

INSTANTIATE_TEST_SUITE_P(
    QueriesFromAPosition, CudaAttention,
    testing::Values(
        AttentionCase{2, 2, 2, 12, 40, 16, 16, true, bf16, 0, false, false, 20},
        AttentionCase{2, 4, 2, 9, 33, 16, 24, true, f16, 0, false, false, 0},
        AttentionCase{1, 2, 1, 8, 32, 64, 64, true, bf16, 0, true, false, 24}));

INSTANTIATE_TEST_SUITE_P(Deterministic, CudaAttention,
                         testing::Values(AttentionCase{2, 4, 2, 21, 21, 32, 32,
                                                       true, bf16, 0, true,
                                                       true}));

/// The formulas themselves: a gradient is how the sum of grad * result changes.
TEST(PlainAttention, has_the_gradients_of_finite_differences) {
  for (double dropout : {0.0, 0.25}) {
    AttentionCase c = {1, 2, 1, 5, 6, 4, 3, true, DType::f64, dropout};
    Tensors inputs = randomInputs(c);
    std::vector<double> kept;
    for (int64_t i = 0; dropout > 0 && i != 2 * 5 * 6; ++i)
      kept.push_back(i % 4 != 0);
    auto loss = [&] {
      std::vector<double> result =
          PlainAttention(c, inputs, kept).forward()[Operand::result];
      double sum = 0;
      for (size_t i = 0; i != result.size(); ++i)
        sum += result[i] * inputs[Operand::resultGrad][i];
      return sum;
    };
    Tensors grads = PlainAttention(c, inputs, kept).backward();
    constexpr double step = 1e-5;
    for (auto [input, grad] : {std::pair(Operand::query, Operand::queryGrad),
                               std::pair(Operand::key, Operand::keyGrad),
                               std::pair(Operand::value, Operand::valueGrad)})
      for (size_t i = 0; i != inputs[input].size(); ++i) {
        double &x = inputs[input][i], value = x;
        x = value + step;
        double above = loss();
        x = value - step;
        double below = loss();
        x = value;
        // Rounding 1e-16 / step, and the third derivative times step^2.
        EXPECT_NEAR(grads[grad][i], (above - below) / (2 * step), 1e-8);
      }
  }
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

class DroppingAttention : public Cuda {
protected:
  DroppingAttention() { fake::cudnnSettings() = {}; }

  /// Which weights stay: with an identity for values a result is the weights.
  std::vector<double> keptOf(AttentionProgram &program, Tensors inputs,
                             int64_t seed, int64_t offset) {
    std::vector<double> &value = inputs[Operand::value];
    for (size_t i = 0; i != value.size(); ++i)
      value[i] = i / 16 % 16 == i % 16;
    Status ran = program.run(inputs, seed, offset);
    EXPECT_TRUE(ran.ok()) << ran.message();
    std::vector<double> kept = program.read(Operand::result);
    for (double &each : kept)
      each = each != 0;
    return kept;
  }

  const AttentionCase c = {2, 4, 2, 16, 16, 16, 16, false, DType::bf16, 0.25};
};

TEST_F(DroppingAttention, drops_the_same_backward) {
  AttentionProgram program(c);
  ASSERT_TRUE(program.start().ok());
  Tensors inputs = randomInputs(c);
  std::vector<double> kept = keptOf(program, inputs, 7, 3);
  double share = 0;
  for (double each : kept)
    share += each / static_cast<double>(kept.size());
  EXPECT_NEAR(share, 0.75, 0.04); // 4 standard deviations of 2048 draws
  ASSERT_TRUE(program.run(inputs, 7, 3).ok());
  PlainAttention plain(c, inputs, kept);
  expectNear(plain.forward(), program, c);
  expectNear(plain.backward(), program, c);
}

TEST_F(DroppingAttention, draws_by_seed_and_offset) {
  AttentionProgram program(c);
  ASSERT_TRUE(program.start().ok());
  Tensors inputs = randomInputs(c);
  std::vector<double> kept = keptOf(program, inputs, 7, 3);
  EXPECT_EQ(keptOf(program, inputs, 7, 3), kept);
  EXPECT_NE(keptOf(program, inputs, 8, 3), kept);
  EXPECT_NE(keptOf(program, inputs, 7, 4), kept);
}

TEST_F(DroppingAttention, may_be_deterministic) {
  AttentionCase same = c;
  same.deterministic = true;
  AttentionProgram program(same);
  ASSERT_TRUE(program.start().ok());
  Tensors inputs = randomInputs(c);
  std::vector<double> kept = keptOf(program, inputs, 7, 3);
  ASSERT_TRUE(program.run(inputs, 7, 3).ok());
  expectNear(PlainAttention(c, inputs, kept).backward(), program, c);
}

//===----------------------------------------------------------------------===//
// Support
//===----------------------------------------------------------------------===//

TEST(AttentionSupport, says_what_it_saw_and_wants) {
  AttentionProblem problem;
  Status read = AttentionProblem::parse(
      "backward bf16 batch 1 heads 2 2 positions 8 8 width 64 64 scale 1 "
      "causal 0 dropout 0 deterministic 0 query 1024,128,64 key 1024,128,64 "
      "value 1024,128,64 result 1024,128,64 result_grad 1024,128,64 query_grad "
      "1024,128,64 key_grad 1024,128,64 value_grad 1024,128,64",
      problem);
  ASSERT_TRUE(read.ok()) << read.message();
  auto refused = [&](int arch, auto change) {
    AttentionProblem changed = problem;
    change(changed);
    return checkSupport(changed, arch, 91900).message();
  };
  EXPECT_EQ(refused(80, [](AttentionProblem &) {}), "");
  EXPECT_EQ(refused(90, [](AttentionProblem &p) { p.dtype = DType::f32; }),
            "operands are f32, cuDNN takes bf16 or f16");
  EXPECT_EQ(refused(90, [](AttentionProblem &p) { p.width = 60; }),
            "width is 60, cuDNN takes multiples of 8 up to 256 backward on "
            "sm_90");
  EXPECT_EQ(refused(80, [](AttentionProblem &p) { p.valueWidth = 256; }),
            "width is 256, cuDNN takes multiples of 8 up to 128 backward on "
            "sm_80");
  EXPECT_EQ(refused(90, [](AttentionProblem &p) { p.strides[1].head = 68; }),
            "a stride of key is 68, cuDNN takes multiples of 8");
  EXPECT_EQ(refused(90, [](AttentionProblem &p) { p.queries = p.keys = 1; }),
            "there is one query and one key, cuDNN takes more backward");
  auto both = [](AttentionProblem &p) {
    p.deterministic = true;
    p.dropout = 0.1;
  };
  EXPECT_EQ(refused(90, both), "");
  EXPECT_EQ(refused(100, both),
            "a deterministic backward pass has dropout, cuDNN takes one or the "
            "other on sm_100");
  problem.causal = problem.readsLengths = true;
  EXPECT_EQ(refused(90, [](AttentionProblem &) {}), "");
  EXPECT_EQ(refused(90, [](AttentionProblem &p) { p.dropout = 0.1; }),
            "there is dropout and queries begin at a position, cuDNN takes one "
            "or the other");
  EXPECT_EQ(checkSupport(problem, 90, 90908).message(),
            "queries begin at a position, cuDNN 9.9.8 takes those of all "
            "positions, expected 9.10.0 or newer");
}

} // namespace
