//===- MatmulTest.cpp - How cuBLASLt is asked for matrix products ---------===//
//
// The fake's product is plain loops over what the library is told: numbers are
// right if layouts, transposes, strides, types and pointers are.
//
//===----------------------------------------------------------------------===//

#include "exec/cuda/products/LibraryProduct.h"
#include "support/CudaFixture.h"
#include "support/MatmulCase.h"
#include "train/MakeExecutor.h"

using namespace honert;
using namespace test;

namespace {

class CudaMatmul : public Cuda, public testing::WithParamInterface<Case> {};

TEST_P(CudaMatmul, equals_plain_loops) {
  Case c = GetParam();
  c.cuda = true;
  Product product(c);
  product.run();
  product.check();
}

constexpr Order R = Order::rows, C = Order::columns, G = Order::gaps;

const std::vector<Case> layouts = {Case{1, 8, 32, 64},
                                   Case{1, 8, 32, 64, C},
                                   Case{1, 8, 32, 64, R, C},
                                   Case{1, 8, 32, 64, C, C},
                                   Case{1, 8, 32, 64, R, R, C},
                                   Case{1, 8, 32, 64, C, R, C},
                                   Case{1, 8, 32, 64, G, G, G},
                                   Case{1, 100, 33, 47, G, C, G},
                                   Case{1, 1, 32, 64},
                                   Case{1, 32, 1, 64},
                                   Case{1, 32, 1, 64, R, R, C},
                                   Case{1, 8, 32, 1},
                                   Case{1, 1, 1, 1},
                                   Case{1, 0, 32, 64},
                                   Case{0, 8, 32, 64}};
INSTANTIATE_TEST_SUITE_P(Layouts, CudaMatmul, testing::ValuesIn(layouts));
INSTANTIATE_TEST_SUITE_P(NarrowLayouts, CudaMatmul,
                         testing::ValuesIn(narrowed(layouts)));

const std::vector<Case> biasAndAddend = {
    Case{1, 24, 33, 64, R, R, R, true},
    Case{1, 24, 33, 64, R, C, R, true, Addend::other},
    Case{1, 24, 33, 64, C, R, R, true, Addend::self},
    Case{1, 24, 33, 64, R, R, G, false, Addend::other},
    Case{1, 24, 33, 64, R, R, R, false, Addend::self},
    Case{1, 24, 33, 64, R, R, C, false, Addend::self}};
INSTANTIATE_TEST_SUITE_P(BiasAndAddend, CudaMatmul,
                         testing::ValuesIn(biasAndAddend));
INSTANTIATE_TEST_SUITE_P(NarrowBiasAndAddend, CudaMatmul,
                         testing::ValuesIn(narrowed(biasAndAddend)));

const std::vector<Case> batches = {
    Case{6, 16, 24, 32},
    Case{6, 16, 24, 32, C, C, R},
    Case{6, 16, 24, 32, R, C, C},
    Case{6, 16, 24, 32, G, R, G},
    Case{6, 16, 24, 32, R, C, R, true, Addend::other, true},
    Case{6, 16, 24, 32, C, R, R, false, Addend::self, true}};
INSTANTIATE_TEST_SUITE_P(Batches, CudaMatmul, testing::ValuesIn(batches));
INSTANTIATE_TEST_SUITE_P(NarrowBatches, CudaMatmul,
                         testing::ValuesIn(narrowed(batches)));

/// Products of f32 are in f32, unless the program says that they may be TF32.
TEST_F(Cuda, products_in_tf32_are_asked_for) {
  for (const char *precision : {"fp32", "tf32"}) {
    ProgramPtr program = makeProgram();
    honert_meta(program.get(), "target", "cuda sm_80");
    honert_meta(program.get(), "precision", precision);
    honert_arena(program.get(), 256);
    honert_function(program.get(), "step");
    const int64_t ones[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    honert_matmul(program.get(), "p", "", 0, 0, 1, 1, 1, 1, ones, 0, 64, 128,
                  -1, -1);
    ThreadPool pool(1);
    std::unique_ptr<Executor> executor = makeExecutor(*program, pool);
    ASSERT_TRUE(executor->start().ok());
    // TF32 has ten bits after the leading one.
    storeElement(DType::f32, executor->arena().at(0), 1 + 0x1p-12);
    storeElement(DType::f32, executor->arena().at(64), 1);
    ASSERT_TRUE(executor->publish(0, 128).ok());
    ASSERT_TRUE(executor->run(program->functions[0]).ok());
    ASSERT_TRUE(executor->fetch(128, 4).ok());
    EXPECT_EQ(loadElement(DType::f32, executor->arena().at(128)),
              std::string(precision) == "tf32" ? 1 : 1 + 0x1p-12);
  }
}

//===----------------------------------------------------------------------===//
// What cannot be expressed
//===----------------------------------------------------------------------===//

/// c = a b, row-major, in f32.
MatmulLaunch plain(int64_t m, int64_t n, int64_t k) {
  MatmulLaunch launch{1, m, n, k, {}, 0, 0, 0, -1, -1};
  launch.strides = {0, k, 1, 0, n, 1, 0, n, 1, 0, n, 1};
  return launch;
}

std::string refusal(const MatmulLaunch &launch) {
  LibraryProduct product;
  return planProduct("fc", launch, false, product).message();
}

TEST(CudaProduct, of_an_operand_without_a_contiguous_dimension) {
  MatmulLaunch launch = plain(8, 32, 64);
  launch.strides[2] = 2;
  EXPECT_EQ(refusal(launch),
            "matmul fc: neither dimension of an operand is contiguous; "
            "cuBLASLt cannot express that");
}

TEST(CudaProduct, of_a_result_with_gaps_in_both_dimensions) {
  MatmulLaunch launch = plain(8, 32, 64);
  launch.strides[7] = 128;
  launch.strides[8] = 2;
  EXPECT_EQ(refusal(launch),
            "matmul fc: result and addend are not contiguous along one "
            "dimension; cuBLASLt cannot express that");
}

TEST(CudaProduct, of_a_result_in_columns_and_an_addend_in_rows) {
  MatmulLaunch launch = plain(8, 32, 64);
  launch.addend = 0;
  launch.strides[7] = 1;
  launch.strides[8] = 8;
  EXPECT_NE(refusal(launch).find("along one dimension"), std::string::npos);
}

TEST(CudaProduct, of_a_bias_along_the_rows_of_a_matrix_in_columns) {
  MatmulLaunch launch = plain(8, 32, 64);
  launch.bias = 0;
  launch.strides[7] = 1;
  launch.strides[8] = 8;
  EXPECT_EQ(refusal(launch),
            "matmul fc: the result of an epilogue lies in columns; cuBLASLt "
            "cannot express that");
}

TEST(CudaProduct, of_nothing) {
  EXPECT_EQ(refusal(plain(8, 32, 0)),
            "matmul fc: there is nothing to sum (k is 0); cuBLASLt cannot "
            "express that");
}

TEST(CudaProduct, rows_that_overlap_are_no_matrix) {
  MatmulLaunch launch = plain(8, 32, 64);
  launch.strides[1] = 0;
  EXPECT_NE(refusal(launch), "");
}

/// A row-major result is the transposed product of the operands swapped.
TEST(CudaProduct, swaps_operands_of_a_row_major_result) {
  LibraryProduct product;
  ASSERT_TRUE(planProduct("fc", plain(8, 32, 64), false, product).ok());
  EXPECT_EQ(product.text(), "1 x (f32 32x64 by 32 batch 0) (f32 64x8 by 64 "
                            "batch 0) to (f32 32x8 by 32 batch 0) epilogue 1");
}

} // namespace
