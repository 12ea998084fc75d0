//===- MatmulTest.cpp - Matrix products against plain loops ---------------===//

#include "Describe.h"
#include "core/Executor.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace honert;

namespace {

/// How the two dimensions of a matrix lie in memory.
enum class Order { rows, columns, gaps, spread };

/// Strides (batch, row, col) of `batch` matrices, and the elements they span.
struct Placed {
  std::array<int64_t, 3> strides;
  int64_t elements;
};

Placed place(Order order, int64_t batch, int64_t rows, int64_t cols,
             bool repeat = false) {
  Placed placed;
  switch (order) {
  case Order::rows:
    placed.strides = {rows * cols, cols, 1};
    break;
  case Order::columns:
    placed.strides = {rows * cols, 1, rows};
    break;
  case Order::gaps: // rows inside a wider matrix
    placed.strides = {rows * (cols + 5), cols + 5, 1};
    break;
  case Order::spread: // no dimension is contiguous
    placed.strides = {rows * cols * 2 + 2, cols * 2, 2};
    break;
  }
  if (repeat)
    placed.strides[0] = 0;
  placed.elements = 1 + std::max<int64_t>(0, batch - 1) * placed.strides[0] +
                    std::max<int64_t>(0, rows - 1) * placed.strides[1] +
                    std::max<int64_t>(0, cols - 1) * placed.strides[2];
  return placed;
}

enum class Addend { none, other, self };

struct Case {
  int64_t batch, m, n, k;
  Order a = Order::rows, b = Order::rows, c = Order::rows;
  bool bias = false;
  Addend addend = Addend::none;
  bool sharedB = false; // one b for the whole batch
  DType operand = DType::f32, result = DType::f32;
};

std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << c.batch << "x" << c.m << "x" << c.n << "x" << c.k << " orders "
             << int(c.a) << int(c.b) << int(c.c) << " bias " << c.bias
             << " addend " << int(c.addend) << " shared " << c.sharedB << " "
             << name(c.operand) << " to " << name(c.result);
}

/// The same cases for narrow elements.
std::vector<Case> narrowed(std::vector<Case> cases) {
  const std::pair<DType, DType> types[] = {{DType::bf16, DType::bf16},
                                           {DType::bf16, DType::f32},
                                           {DType::f16, DType::f16}};
  std::vector<Case> all;
  for (auto [operand, result] : types)
    for (Case c : cases) {
      c.operand = operand;
      c.result = result;
      all.push_back(c);
    }
  return all;
}

/// Draws an element of an operand from a random number.
float fraction(uint32_t bits) {
  return static_cast<float>(static_cast<int32_t>(bits)) * 0x1p-31f;
}
/// The same, for sums that are exact in f32.
float smallInteger(uint32_t bits) {
  return static_cast<float>(bits >> 16 & 7) - 3;
}

/// A program of one product over random operands.
class Product {
public:
  explicit Product(const Case &c, int threads = 2,
                   float (*draw)(uint32_t) = fraction)
      : c(c), a(place(c.a, c.batch, c.m, c.k)),
        b(place(c.b, c.batch, c.k, c.n, c.sharedB)),
        out(place(c.c, c.batch, c.m, c.n)),
        addend(c.addend == Addend::self
                   ? out
                   : place(Order::gaps, c.batch, c.m, c.n)),
        pool(threads), executor(*program, pool) {
    int64_t in = byteWidth(c.operand), to = byteWidth(c.result);
    test::Layout layout;
    atA = layout.take(a.elements * in);
    atB = layout.take(b.elements * in);
    atOut = layout.take(out.elements * to);
    atBias = c.bias ? layout.take(c.n * to) : -1;
    if (c.addend == Addend::none)
      atAddend = -1;
    else
      atAddend =
          c.addend == Addend::self ? atOut : layout.take(addend.elements * to);
    honert_program *p = program.get();
    honert_arena(p, layout.bytes());
    honert_function(p, "step");
    std::array<int64_t, 12> strides;
    const Placed *operands[] = {&a, &b, &out, &addend};
    for (int i = 0; i < 12; ++i)
      strides[i] = operands[i / 3]->strides[i % 3];
    honert_matmul(p, "product", "", int64_t(c.operand), int64_t(c.result),
                  c.batch, c.m, c.n, c.k, strides.data(), atA, atB, atOut,
                  atBias, atAddend);
    honert_result(p, "loss", 0, 0, nullptr, 0);
    if (Status status = p->check(); !status.ok())
      ADD_FAILURE() << status.message();
    if (Status status = executor.start(); !status.ok())
      ADD_FAILURE() << status.message();
    uint32_t state = 7;
    auto fill = [&](int64_t from, int64_t elements, DType dtype) {
      for (int64_t i = 0; i < elements; ++i) {
        state = state * 1664525 + 1013904223;
        storeElement(dtype, executor.arena().at(from + i * byteWidth(dtype)),
                     draw(state));
      }
    };
    fill(atA, a.elements, c.operand);
    fill(atB, b.elements, c.operand);
    fill(atOut, out.elements, c.result);
    if (c.bias)
      fill(atBias, c.n, c.result);
    if (c.addend == Addend::other)
      fill(atAddend, addend.elements, c.result);
    before = memory();
  }

  void run() {
    Status status = executor.run(program->functions[0]);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  /// The result of plain loops in fp64, and the sum of magnitudes that bounds
  /// its rounding error.
  std::pair<double, double> expected(int64_t batch, int64_t m, int64_t n) {
    double sum = 0, magnitude = 0;
    auto add = [&](double term) {
      sum += term;
      magnitude += std::fabs(term);
    };
    for (int64_t k = 0; k < c.k; ++k)
      add(at(atA, a, c.operand, batch, m, k) *
          at(atB, b, c.operand, batch, k, n));
    if (c.bias)
      add(loadElement(c.result, &before[atBias + n * byteWidth(c.result)]));
    if (c.addend != Addend::none)
      add(at(atAddend, addend, c.result, batch, m, n));
    return {sum, magnitude};
  }

  /// Calls `compare(element, sum, magnitude)` for each element of the result;
  /// all else is as before.
  template <typename Compare> void check(Compare compare) {
    std::vector<char> after = memory();
    std::vector<bool> written(before.size());
    int64_t width = byteWidth(c.result), elements = c.batch * c.m * c.n;
    // Of large products, some elements everywhere.
    int64_t step = 1 + 1009 * (elements * c.k >> 26);
    for (int64_t i = 0; i < elements; ++i) {
      int64_t batch = i / (c.m * c.n), m = i / c.n % c.m, n = i % c.n;
      int64_t place = placeOf(atOut, out, c.result, batch, m, n);
      std::fill_n(written.begin() + place, width, true);
      if (i % step != 0)
        continue;
      auto [sum, magnitude] = expected(batch, m, n);
      compare(loadElement(c.result, &after[place]), sum, magnitude);
      if (testing::Test::HasFailure())
        FAIL() << "at " << batch << ", " << m << ", " << n;
    }
    for (size_t i = 0; i < before.size(); ++i)
      if (!written[i]) {
        ASSERT_EQ(after[i], before[i]) << "changed outside the result";
      }
  }

  void check() {
    // fp32 rounding of a sum of k terms, with room for any order of it, and one
    // rounding of the result.
    double last = c.result == DType::f32    ? 0
                  : c.result == DType::bf16 ? 0x1p-8
                                            : 0x1p-11;
    check([&](double got, double sum, double magnitude) {
      ASSERT_NEAR(got, sum, 1e-6 * magnitude + last * std::fabs(sum) + 1e-30);
    });
  }

  /// Sums are exact: the result is the sum, rounded once.
  void checkExact() {
    check([&](double got, double sum, double) {
      char rounded[4];
      storeElement(c.result, rounded, sum);
      ASSERT_EQ(got, loadElement(c.result, rounded)) << "for " << sum;
    });
  }

  std::vector<char> memory() {
    const char *begin = executor.arena().at(0);
    return {begin, begin + program->arenaBytes};
  }

  const Executor &engine() const { return executor; }

  /// Gives all operands the values that `other` has, wherever they lie.
  void takeOperands(const Product &other) {
    auto take = [&](int64_t to, const Placed &target, int64_t from,
                    const Placed &source, DType dtype, int64_t rows,
                    int64_t cols) {
      for (int64_t i = 0; i < c.batch * rows * cols; ++i) {
        int64_t batch = i / (rows * cols), row = i / cols % rows,
                col = i % cols;
        std::memcpy(
            executor.arena().at(placeOf(to, target, dtype, batch, row, col)),
            &other.before[placeOf(from, source, dtype, batch, row, col)],
            static_cast<size_t>(byteWidth(dtype)));
      }
    };
    take(atA, a, other.atA, other.a, c.operand, c.m, c.k);
    take(atB, b, other.atB, other.b, c.operand, c.k, c.n);
    take(atOut, out, other.atOut, other.out, c.result, c.m, c.n);
    if (c.addend == Addend::other)
      take(atAddend, addend, other.atAddend, other.addend, c.result, c.m, c.n);
    if (c.bias)
      std::memcpy(executor.arena().at(atBias), &other.before[other.atBias],
                  static_cast<size_t>(c.n * byteWidth(c.result)));
  }
  /// The result, element by element.
  std::string bits() {
    std::string bits;
    auto width = static_cast<size_t>(byteWidth(c.result));
    for (int64_t i = 0; i < c.batch * c.m * c.n; ++i)
      bits.append(
          executor.arena().at(placeOf(atOut, out, c.result, i / (c.m * c.n),
                                      i / c.n % c.m, i % c.n)),
          width);
    return bits;
  }

  /// a is `column` in its first column, b is 1 in its first element: 0 else.
  void setOperands(const std::vector<double> &column) {
    for (int64_t i = 0; i < a.elements; ++i)
      set(atA + i * byteWidth(c.operand),
          i % c.k == 0 ? column[static_cast<size_t>(i / c.k)] : 0);
    for (int64_t i = 0; i < b.elements; ++i)
      set(atB + i * byteWidth(c.operand), i == 0);
  }
  std::vector<double> firstColumn() {
    std::vector<double> column;
    for (int64_t row = 0; row < c.m; ++row)
      column.push_back(loadElement(
          c.result,
          executor.arena().at(placeOf(atOut, out, c.result, 0, row, 0))));
    return column;
  }

private:
  void set(int64_t place, double value) {
    storeElement(c.operand, executor.arena().at(place), value);
  }
  static int64_t placeOf(int64_t at, const Placed &placed, DType dtype,
                         int64_t batch, int64_t row, int64_t col) {
    return at + (batch * placed.strides[0] + row * placed.strides[1] +
                 col * placed.strides[2]) *
                    byteWidth(dtype);
  }
  double at(int64_t base, const Placed &placed, DType dtype, int64_t batch,
            int64_t row, int64_t col) const {
    return loadElement(dtype,
                       &before[placeOf(base, placed, dtype, batch, row, col)]);
  }

  Case c;
  Placed a, b, out, addend;
  test::ProgramPtr program = test::makeProgram();
  ThreadPool pool;
  Executor executor;
  int64_t atA, atB, atOut, atBias, atAddend;
  std::vector<char> before;
};

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
  Executor executor(*program, pool);
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

/// A value that is made again may lie elsewhere: as a view of a larger one. The
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
    // Panels of a widened product, in all dimensions.
    Case{1, 1030, 1025, 1050, R, C, R, true, Addend::other},
    Case{3, 700, 65, 1100, C, R, C, true}};
INSTANTIATE_TEST_SUITE_P(Types, MatmulRounding,
                         testing::ValuesIn(narrowed(rounding)));

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
