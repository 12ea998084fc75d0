//===- MatmulTest.cpp - Matrix products against plain loops ---------------===//

#include "exec/cpu/Executor.h"
#include "support/MatmulCase.h"

#include <cstdlib>
#include <unistd.h>

using namespace honert;
using namespace test;

namespace {

class MatmulCases : public testing::TestWithParam<Case> {};

TEST_P(MatmulCases, equals_plain_loops) {
  Product product(GetParam());
  product.run();
  product.check();
}

constexpr Order R = Order::rows, C = Order::columns, G = Order::gaps,
                S = Order::spread;

const std::vector<Case> layouts = {
    Case{1, 8, 32, 64},           Case{1, 8, 32, 64, C},
    Case{1, 8, 32, 64, R, C},     Case{1, 8, 32, 64, C, C},
    Case{1, 8, 32, 64, R, R, C},  Case{1, 8, 32, 64, C, R, C},
    Case{1, 8, 32, 64, G, G, G},  Case{1, 8, 32, 64, S, R, R},
    Case{1, 8, 32, 64, R, S, R},  Case{1, 8, 32, 64, R, R, S},
    Case{1, 8, 32, 64, S, S, S},  Case{1, 100, 33, 47, G, C, G},
    Case{1, 100, 33, 47, C, G, C}};
INSTANTIATE_TEST_SUITE_P(Layouts, MatmulCases, testing::ValuesIn(layouts));
INSTANTIATE_TEST_SUITE_P(NarrowLayouts, MatmulCases,
                         testing::ValuesIn(narrowed(layouts)));

const std::vector<Case> biasAndAddend = {
    Case{1, 24, 33, 64, R, R, R, true},
    Case{1, 24, 33, 64, R, C, R, true, Addend::other},
    Case{1, 24, 33, 64, C, R, R, true, Addend::self},
    Case{1, 24, 33, 64, R, R, R, false, Addend::other},
    Case{1, 24, 33, 64, R, R, R, false, Addend::self},
    Case{1, 24, 33, 64, R, R, C, true},
    Case{1, 24, 33, 64, R, R, C, true, Addend::other},
    Case{1, 24, 33, 64, R, R, C, false, Addend::self},
    Case{1, 24, 33, 64, R, R, S, true, Addend::self},
    Case{1, 24, 33, 64, R, R, S, false, Addend::other},
    Case{1, 24, 33, 64, R, R, G, true, Addend::self}};
INSTANTIATE_TEST_SUITE_P(BiasAndAddend, MatmulCases,
                         testing::ValuesIn(biasAndAddend));
INSTANTIATE_TEST_SUITE_P(NarrowBiasAndAddend, MatmulCases,
                         testing::ValuesIn(narrowed(biasAndAddend)));

const std::vector<Case> batches = {
    Case{6, 16, 24, 32},
    Case{6, 16, 24, 32, C, C, R},
    Case{6, 16, 24, 32, R, C, C},
    Case{6, 16, 24, 32, S, R, S},
    Case{6, 16, 24, 32, R, R, R, true, Addend::other},
    Case{6, 16, 24, 32, R, R, R, true, Addend::self, true},
    Case{6, 16, 24, 32, R, C, R, true, Addend::none, true},
    Case{6, 16, 24, 32, C, R, R, false, Addend::none, true},
    Case{6, 16, 24, 32, R, R, C, true, Addend::other, true}};
INSTANTIATE_TEST_SUITE_P(Batches, MatmulCases, testing::ValuesIn(batches));
INSTANTIATE_TEST_SUITE_P(NarrowBatches, MatmulCases,
                         testing::ValuesIn(narrowed(batches)));

const std::vector<Case> edges = {
    Case{1, 1, 1, 1}, Case{1, 1, 32, 64, C, C, C, true},
    Case{1, 32, 1, 64, C, C, C, true}, Case{1, 32, 1, 64, R, S, S},
    Case{1, 8, 32, 1, S, S, R, true}, Case{3, 1, 1, 5, S, S, S},
    Case{1, 1, 32, 64, S, S, S, true, Addend::self}, Case{1, 0, 32, 64},
    Case{1, 8, 0, 64, R, R, R, true}, Case{0, 8, 32, 64}, Case{1, 8, 32, 0},
    Case{2, 8, 32, 0, R, R, C}, Case{1, 8, 32, 0, R, R, R, true},
    Case{1, 8, 32, 0, R, R, R, false, Addend::other},
    Case{1, 8, 32, 0, R, R, R, false, Addend::self},
    Case{3, 8, 32, 0, R, R, S, true, Addend::other},
    Case{1, 8, 32, 0, R, R, C, true, Addend::self},
    // A bias beside a sum of several calls.
    Case{1, 48, 64, 4096, C, R, R, true, Addend::self}};
INSTANTIATE_TEST_SUITE_P(Edges, MatmulCases, testing::ValuesIn(edges));
INSTANTIATE_TEST_SUITE_P(NarrowEdges, MatmulCases,
                         testing::ValuesIn(narrowed(edges)));

/// A row times a matrix, and a matrix times a column: some tiles and rests.
const std::vector<Case> vectors = {
    Case{1, 1, 70, 131},
    Case{1, 1, 4200, 131, R, R, R, true},
    Case{1, 1, 4200, 131, S, G, S, true, Addend::other},
    Case{1, 1, 70, 131, R, C, R, true, Addend::self},
    Case{1, 1, 70, 131, S, S, R},
    Case{1, 131, 1, 70},
    Case{1, 4200, 1, 131, C, R, C, true},
    Case{1, 70, 1, 131, G, S, S, true, Addend::other},
    Case{1, 70, 1, 131, C, C, R, true, Addend::self},
    Case{1, 1, 1, 131}};
INSTANTIATE_TEST_SUITE_P(Vectors, MatmulCases, testing::ValuesIn(vectors));
INSTANTIATE_TEST_SUITE_P(NarrowVectors, MatmulCases,
                         testing::ValuesIn(narrowed(vectors)));

/// No library copies the matrix, and the workspace has the vector and sums.
TEST(Matmul, of_a_vector_reads_the_matrix_in_place) {
  for (Order order : {R, C}) {
    Product product({1, 1, 768, 3072, R, order});
    EXPECT_EQ(product.engine().libraryVersion(), "");
    EXPECT_LE(*product.engine().workspaceBytes(), (3072 + 49 * 768) * 4);
  }
  EXPECT_NE(Product({1, 2, 768, 3072}).engine().libraryVersion(), "");
}

/// Products inside attention: heads lie side by side in the rows.
TEST(Matmul, heads_side_by_side) {
  constexpr int64_t heads = 4, tokens = 16, width = 8, model = heads * width;
  test::Layout layout;
  int64_t q = layout.take(tokens * model * 4);
  int64_t k = layout.take(tokens * model * 4);
  int64_t scores = layout.take(heads * tokens * tokens * 4);
  test::ProgramPtr program = test::makeProgram();
  honert_arena(program.get(), layout.bytes());
  honert_function(program.get(), "step");
  const int64_t strides[12] = {width, model,           1,      width, 1,
                               model, tokens * tokens, tokens, 1};
  honert_matmul(program.get(), "scores", "", 0, 0, heads, tokens, tokens, width,
                strides, q, k, scores, -1, -1);
  honert_result(program.get(), "loss", 0, 0, nullptr, 0);
  ASSERT_TRUE(program->check().ok());
  ThreadPool pool(2);
  CpuExecutor executor(*program, pool);
  ASSERT_TRUE(executor.start().ok());
  auto *memory = reinterpret_cast<float *>(executor.arena().at(0));
  for (int64_t i = 0; i < 2 * tokens * model; ++i)
    memory[i] = static_cast<float>(i % 13) - 6;
  ASSERT_TRUE(executor.run(program->functions[0]).ok());
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t s = 0; s < tokens; ++s) {
        float sum = 0; // exact: small integers
        for (int64_t e = 0; e < width; ++e)
          sum += memory[q / 4 + t * model + h * width + e] *
                 memory[k / 4 + s * model + h * width + e];
        ASSERT_EQ(memory[scores / 4 + (h * tokens + t) * tokens + s], sum);
      }
}

/// Shapes of small and large models, forward, both gradients, and reductions
/// over many tokens, which invite a library to split the sum over threads.
class MatmulThreads : public testing::TestWithParam<Case> {};

TEST_P(MatmulThreads, bits_do_not_depend_on_the_thread_count) {
  std::vector<char> results[3];
  for (int i = 0; i < 3; ++i) {
    Product product(GetParam(), /*threads=*/i + 1);
    product.run();
    results[i] = product.memory();
  }
  EXPECT_TRUE(results[0] == results[1]);
  EXPECT_TRUE(results[0] == results[2]);
}

const std::vector<Case> shapes = {
    Case{1, 64, 192, 64, R, C, R, true},
    Case{1, 64, 64, 256, C, R, R},
    Case{1, 48, 48, 4096, C, R, R},
    Case{1, 16, 16, 65536, C, R, R},
    Case{1, 64, 64, 8192, C, R, R, false, Addend::self},
    Case{1, 256, 768, 768, R, C, R, true},
    Case{1, 768, 768, 256, C, R, R},
    Case{1, 2304, 768, 256, C, R, R},
    Case{1, 256, 768, 2304, R, R, R},
    Case{1, 256, 3072, 768, R, C, R, true},
    Case{1, 768, 3072, 1024, C, R, R},
    Case{1, 1, 768, 768, R, C, R, true},
    Case{1, 1, 2304, 768, R, R, R, true},
    Case{1, 50257, 1, 128},
    Case{1, 7, 13, 50000, R, C, R},
    Case{12, 64, 64, 64, R, C, R},
    Case{1, 256, 64, 5000, R, R, R},
    Case{1, 96, 384, 512, C, R, R},
    Case{1, 384, 96, 512, C, R, R},
    Case{1, 512, 96, 384, R, R, R},
    Case{1, 65, 100, 130, R, C, R, true}};
INSTANTIATE_TEST_SUITE_P(Shapes, MatmulThreads, testing::ValuesIn(shapes));
INSTANTIATE_TEST_SUITE_P(NarrowShapes, MatmulThreads,
                         testing::ValuesIn(narrowed(shapes)));

/// A value that is recomputed may lie elsewhere: as a view of a larger one. The
/// first operand here, and with `c` the result, have gaps between their rows.
class MatmulGaps : public testing::TestWithParam<Case> {};

TEST_P(MatmulGaps, do_not_change_the_bits) {
  if (std::getenv("ONEDNN_MAX_CPU_ISA"))
    GTEST_SKIP() << "narrower processors have no such kernels";
  Case dense = GetParam();
  dense.a = dense.c = R;
  Product one(dense), other(GetParam());
  other.takeOperands(one);
  one.run();
  other.run();
  EXPECT_TRUE(one.bits() == other.bits());
  EXPECT_LE(other.engine().workspaceBytes(), 16 << 20);
}

const std::vector<Case> gaps = {
    Case{1, 256, 768, 768, G, C, R, true},
    Case{1, 512, 96, 3000, G, R, R, false, Addend::self},
    Case{6, 64, 96, 1100, G, R, R},
    Case{1, 300, 200, 500, R, C, G, true, Addend::other},
    // Copies of more than 12 MiB, in fp32 and in bf16.
    Case{1, 1300, 96, 3000, G, C, G, true, Addend::other},
    Case{1, 2500, 96, 3000, G, R, R, false, Addend::self}};
INSTANTIATE_TEST_SUITE_P(Shapes, MatmulGaps, testing::ValuesIn(gaps));
INSTANTIATE_TEST_SUITE_P(NarrowShapes, MatmulGaps,
                         testing::ValuesIn(narrowed(gaps)));

/// Where bias, addend or one part of the sum after another reach the output,
/// nothing is rounded before the end. (1024 + 255 + 255 has no bf16.)
class MatmulRounding : public testing::TestWithParam<Case> {};

TEST_P(MatmulRounding, happens_once) {
  Product product(GetParam(), 2, smallInteger);
  product.run();
  product.checkExact();
}

const std::vector<Case> rounding = {
    Case{1, 24, 33, 300}, Case{1, 24, 33, 300, R, C, R, true, Addend::other},
    Case{1, 24, 33, 300, R, C, C, true, Addend::self},
    Case{1, 24, 33, 300, R, C, C, true}, Case{1, 48, 64, 4096, C, R, R},
    Case{1, 48, 64, 4096, C, R, R, true, Addend::self},
    Case{1, 1, 70, 300, R, R, R, true, Addend::other},
    Case{1, 1, 70, 300, R, C, R, true, Addend::self},
    // Panels of a widened product, in all dimensions.
    Case{1, 1030, 1025, 1050, R, C, R, true, Addend::other},
    Case{3, 700, 65, 1100, C, R, C, true}};
INSTANTIATE_TEST_SUITE_P(Types, MatmulRounding,
                         testing::ValuesIn(narrowed(rounding)));

/// Products of exact programs: an element's bits are decided by its own row and
/// column, so those of a part are those of the whole.
class ExactProducts : public testing::TestWithParam<Case> {};

TEST_P(ExactProducts, have_the_bits_of_sums_in_order) {
  Case exact = GetParam();
  exact.exact = true;
  for (int threads : {1, 3}) {
    Product product(exact, threads);
    product.run();
    product.checkInOrder();
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, ExactProducts, testing::ValuesIn(layouts));
INSTANTIATE_TEST_SUITE_P(NarrowLayouts, ExactProducts,
                         testing::ValuesIn(narrowed(layouts)));
INSTANTIATE_TEST_SUITE_P(BiasAndAddend, ExactProducts,
                         testing::ValuesIn(biasAndAddend));
INSTANTIATE_TEST_SUITE_P(Batches, ExactProducts, testing::ValuesIn(batches));
INSTANTIATE_TEST_SUITE_P(Edges, ExactProducts, testing::ValuesIn(edges));
INSTANTIATE_TEST_SUITE_P(NarrowEdges, ExactProducts,
                         testing::ValuesIn(narrowed(edges)));

/// What is no number stays what it is.
TEST(Matmul, narrow_specials) {
  for (DType dtype : {DType::bf16, DType::f16}) {
    Case c{1, 7, 32, 64};
    c.operand = c.result = dtype;
    Product product(c);
    product.setOperands({INFINITY, -INFINITY, NAN, 0.0, 1.0, -2.5, 65504});
    product.run();
    std::vector<double> column = product.firstColumn();
    EXPECT_EQ(column[0], INFINITY);
    EXPECT_EQ(column[1], -INFINITY);
    EXPECT_TRUE(std::isnan(column[2]));
    EXPECT_EQ(column[3], 0);
    EXPECT_EQ(column[4], 1);
    EXPECT_EQ(column[5], -2.5);
    EXPECT_EQ(column[6], dtype == DType::bf16 ? 65536 : 65504);
  }
}

/// Many calls that share a workspace give the same bits each time.
TEST(Matmul, repeated_runs_are_equal) {
  Case c{1, 128, 96, 256, S, C, S, true, Addend::other};
  Product product(c);
  product.run();
  std::vector<char> first = product.memory();
  for (int i = 0; i < 60; ++i) {
    product.run();
    ASSERT_TRUE(product.memory() == first) << "run " << i;
  }
  EXPECT_GT(product.engine().workspaceBytes(), (128 * 256 + 128 * 96) * 4);
}

/// Operands that must be copied, and a result that is summed in f32 first, are
/// so by panels where they are large: whole, the copies here would take 20 MiB.
TEST(Matmul, workspace_does_not_grow_with_the_product) {
  Case spreadA{1, 3300, 300, 1600, S, R, R, true};
  Case spreadB{1, 150, 3500, 1500, R, S, R, false, Addend::other};
  Case narrowOut{1, 2500, 2100, 2100, C, R, R, false, Addend::self};
  narrowOut.operand = narrowOut.result = DType::bf16;
  for (const Case &c : {spreadA, spreadB, narrowOut}) {
    SCOPED_TRACE(testing::PrintToString(c));
    Product product(c);
    product.run();
    product.check();
    EXPECT_LE(product.engine().workspaceBytes(), 16 << 20);
  }
}

/// The same on processors with narrower vectors or without bf16 units, where
/// the library takes other kernels. It reads the variable when it is opened:
/// hence another process. Narrow types are emulated on all of these alike.
class NarrowerProcessors : public testing::TestWithParam<const char *> {};

TEST_P(NarrowerProcessors, pass_the_tests_above) {
  std::string command = std::string("ONEDNN_MAX_CPU_ISA=") + GetParam() +
                        " DNNL_MAX_CPU_ISA=" + GetParam() + " /proc/" +
                        std::to_string(getpid()) +
                        "/exe --gtest_filter='*/Matmul*" +
                        (GetParam() == std::string("AVX2") ? "" : "-Narrow*") +
                        "' --gtest_brief=1 >/dev/null 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

INSTANTIATE_TEST_SUITE_P(Isa, NarrowerProcessors,
                         testing::Values("AVX2", "SSE41"),
                         [](const auto &info) { return info.param; });

} // namespace
