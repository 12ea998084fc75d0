//===- ProgramTest.cpp - Descriptions that are refused --------------------===//

#include "program/Program.h"
#include "support/Describe.h"
#include "support/TinyModel.h"

#include <gtest/gtest.h>

using namespace honert;

namespace {

using Change = void (*)(honert_program &);

struct BrokenProgram {
  const char *message;
  Change change;
};

class BrokenPrograms : public testing::TestWithParam<BrokenProgram> {};

TEST_P(BrokenPrograms, are_refused_with_a_reason) {
  test::ProgramPtr program(honert_program_new(), honert_program_free);
  test::describe({}, program.get());
  ASSERT_TRUE(program->check().ok()) << program->check().message();
  GetParam().change(*program);
  Status status = program->check();
  EXPECT_EQ(status.exitCode(), 1);
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos)
      << status.message();
}

void kernel(void *const *, int64_t, int64_t) {}

/// A product of codes [2, 4] and [2, 4], with scales if it says how those of b
/// are coded.
void scaledMatmul(honert_program &p, int64_t operand, int64_t result,
                  int64_t operandB = -1, int64_t modeA = 0, int64_t modeB = 0,
                  int64_t termStride = 1, int64_t scales = 0) {
  int64_t strides[12] = {0, 4, 1, 0, termStride, 4, 0, 2, 1};
  honert_matmul(&p, "x", "", operand, result, 1, 2, 2, 4, strides, 0, 0, 0, -1,
                -1);
  if (operandB >= 0)
    honert_matmul_scales(&p, operandB, modeA, scales, modeB, scales, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Program, BrokenPrograms,
    testing::Values(
        BrokenProgram{
            "made for ABI 99",
            [](honert_program &p) { honert_meta_number(&p, "abi", 99); }},
        BrokenProgram{"outside the arena",
                      [](honert_program &p) { honert_arena(&p, 64); }},
        BrokenProgram{"multiple of 64",
                      [](honert_program &p) { p.arguments[0].offset = 32; }},
        BrokenProgram{"two arguments of kind param are called 'bias'",
                      [](honert_program &p) { p.arguments[0].fqn = "bias"; }},
        BrokenProgram{
            "two tensors answer to 'bias'",
            [](honert_program &p) { p.arguments[0].aliases = {"bias"}; }},
        BrokenProgram{"argument kind 11",
                      [](honert_program &p) {
                        honert_argument(&p, 11, "x", 0, 0, nullptr, 0);
                      }},
        BrokenProgram{"element type 10",
                      [](honert_program &p) {
                        honert_argument(&p, 0, "x", 10, 0, nullptr, 0);
                      }},
        BrokenProgram{"working copy 'bias' is of no parameter of its shape",
                      [](honert_program &p) {
                        int64_t dims[] = {3};
                        honert_argument(&p, 7, "bias", 2, 1, dims, 0);
                      }},
        BrokenProgram{"working copy 'other' is of no parameter of its shape",
                      [](honert_program &p) {
                        honert_argument(&p, 7, "other", 2, 0, nullptr, 0);
                      }},
        BrokenProgram{"rank -1",
                      [](honert_program &p) {
                        honert_argument(&p, 0, "x", 0, -1, nullptr, 0);
                      }},
        BrokenProgram{"has no valid size",
                      [](honert_program &p) {
                        int64_t dims[] = {INT64_MAX, 4};
                        honert_argument(&p, 0, "x", 0, 2, dims, 0);
                      }},
        BrokenProgram{"grain 0",
                      [](honert_program &p) {
                        honert_launch(&p, "x", "", kernel, 1, 0, 0, nullptr);
                      }},
        BrokenProgram{"a buffer outside the arena",
                      [](honert_program &p) {
                        int64_t offset = p.arenaBytes + 64;
                        honert_launch(&p, "x", "", kernel, 1, 1, 1, &offset);
                      }},
        BrokenProgram{"reaches outside the arena",
                      [](honert_program &p) {
                        int64_t strides[12] = {0, 1 << 20, 1, 0, 8, 1, 0, 8, 1};
                        honert_matmul(&p, "x", "", 0, 0, 1, 8, 8, 8, strides, 0,
                                      0, 0, -1, -1);
                      }},
        BrokenProgram{"writes elements over each other",
                      [](honert_program &p) {
                        int64_t strides[12] = {0, 8, 1, 0, 8, 1, 0, 0, 1};
                        honert_matmul(&p, "x", "", 0, 0, 1, 8, 8, 8, strides, 0,
                                      0, 0, -1, -1);
                      }},
        // A count of elements, or of bytes, beyond 64 bits.
        BrokenProgram{"writes elements over each other",
                      [](honert_program &p) {
                        int64_t strides[12] = {};
                        honert_matmul(&p, "x", "", 0, 0, int64_t{1} << 32,
                                      int64_t{1} << 32, 1, 1, strides, 0, 0, 0,
                                      -1, -1);
                      }},
        BrokenProgram{"reaches outside the arena",
                      [](honert_program &p) {
                        int64_t strides[12] = {0, 1, 1, 0, 1, 1, 0, 1, 1};
                        honert_matmul(&p, "x", "", 0, 0, 1, 0, int64_t{1} << 62,
                                      0, strides, 0, 0, 0, /*bias=*/0, -1);
                      }},
        BrokenProgram{"multiplies f64 to f64",
                      [](honert_program &p) {
                        int64_t strides[12] = {};
                        honert_matmul(&p, "x", "", 1, 1, 1, 1, 1, 1, strides, 0,
                                      0, 0, -1, -1);
                      }},
        BrokenProgram{"multiplies bf16 to f16",
                      [](honert_program &p) {
                        int64_t strides[12] = {};
                        honert_matmul(&p, "x", "", 2, 3, 1, 1, 1, 1, strides, 0,
                                      0, 0, -1, -1);
                      }},
        BrokenProgram{"multiplies f8E4M3FN to f32, expected",
                      [](honert_program &p) { scaledMatmul(p, 8, 0); }},
        BrokenProgram{"honert_matmul_scales follows no honert_matmul",
                      [](honert_program &p) {
                        honert_matmul_scales(&p, 8, 0, 0, 0, 0, 0);
                      }},
        BrokenProgram{"a matmul has scales twice",
                      [](honert_program &p) {
                        scaledMatmul(p, 8, 0, 8, 0, 0);
                        honert_matmul_scales(&p, 8, 0, 0, 0, 0, 0);
                      }},
        BrokenProgram{
            "scale mode 6",
            [](honert_program &p) { scaledMatmul(p, 8, 0, 8, 6, 0); }},
        BrokenProgram{
            "multiplies f8E5M2 by f8E5M2",
            [](honert_program &p) { scaledMatmul(p, 9, 0, 9, 0, 0); }},
        BrokenProgram{
            "multiplies bf16 by f8E4M3FN",
            [](honert_program &p) { scaledMatmul(p, 2, 0, 8, 0, 0); }},
        BrokenProgram{
            "writes products of codes as f16",
            [](honert_program &p) { scaledMatmul(p, 8, 3, 8, 0, 0); }},
        BrokenProgram{
            "scales of 128x128 and 128x128, which no library",
            [](honert_program &p) { scaledMatmul(p, 8, 0, 8, 5, 5); }},
        BrokenProgram{
            "scales of tensor and 1x32, which no library",
            [](honert_program &p) { scaledMatmul(p, 8, 0, 8, 0, 2); }},
        BrokenProgram{"not with k last and dense",
                      [](honert_program &p) {
                        scaledMatmul(p, 8, 0, 8, 0, 0, /*stride=*/8);
                      }},
        BrokenProgram{"scales outside the arena",
                      [](honert_program &p) {
                        scaledMatmul(p, 8, 0, 8, 4, 5, 1, p.arenaBytes - 8);
                      }},
        BrokenProgram{"multiplies f32 to bf16",
                      [](honert_program &p) {
                        honert_grouped_matmul(&p, "x", "", 0, 0, 2, 5, 1, 1, 1,
                                              1, 0, 0, 0, 0);
                      }},
        BrokenProgram{"has ends of f32, expected i32 or i64",
                      [](honert_program &p) {
                        honert_grouped_matmul(&p, "x", "", 0, 0, 0, 0, 1, 1, 1,
                                              1, 0, 0, 0, 0);
                      }},
        BrokenProgram{"matmul x has a negative size",
                      [](honert_program &p) {
                        honert_grouped_matmul(&p, "x", "", 0, 0, 0, 5, -1, 1, 1,
                                              1, 0, 0, 0, 0);
                      }},
        BrokenProgram{"matmul x reaches outside the arena",
                      [](honert_program &p) {
                        honert_grouped_matmul(&p, "x", "", 0, 0, 0, 5, 1 << 20,
                                              1, 1, 1, 0, 0, 0, 0);
                      }},
        // Its matrices have more elements than 64 bits count.
        BrokenProgram{"matmul x reaches outside the arena",
                      [](honert_program &p) {
                        honert_grouped_matmul(&p, "x", "", 2, 0, 0, 5, 1, 0,
                                              int64_t{1} << 32,
                                              int64_t{1} << 32, 0, 0, 0, 0);
                      }},
        BrokenProgram{
            "null callback",
            [](honert_program &p) { honert_callback(&p, nullptr, nullptr); }},
        BrokenProgram{
            "'step' has no result 'loss'",
            [](honert_program &p) { p.functions[0].results.clear(); }},
        BrokenProgram{"neither 'step' nor",
                      [](honert_program &p) { p.functions[0].name = "other"; }},
        BrokenProgram{"is mesh-invariant and for a GPU",
                      [](honert_program &p) {
                        honert_meta(&p, "target", "cuda sm_90");
                        honert_meta_number(&p, "mesh_invariant", 1);
                        for (Function &function : p.functions)
                          function.launches.clear();
                      }},
        BrokenProgram{"'tokens' and 'x' are fed by one token stream",
                      [](honert_program &p) {
                        int64_t size = 3;
                        honert_argument(&p, 4, "x", 4, 1, &size, 0);
                        honert_argument_role(&p, 1, 0);
                      }},
        BrokenProgram{"fed with tokens", [](honert_program &p) {
                        honert_argument(&p, 4, "x", 0, 0, nullptr, 0);
                        honert_argument_role(&p, 1, 0);
                      }}));

/// The functions of abi.def that describe parts belong to a whole.
TEST(Program, parts_without_a_whole_are_refused) {
  test::ProgramPtr program = test::makeProgram();
  honert_argument_role(program.get(), 1, 0);
  EXPECT_NE(program->check().message().find("before any argument"),
            std::string::npos);
  program = test::makeProgram();
  honert_zero(program.get(), 0, 0);
  EXPECT_NE(program->check().message().find("before any function"),
            std::string::npos);
}

} // namespace
