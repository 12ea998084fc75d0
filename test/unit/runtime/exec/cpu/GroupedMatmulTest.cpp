//===- GroupedMatmulTest.cpp - Products of groups against plain loops -----===//

#include "exec/cpu/Executor.h"
#include "support/Describe.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace honert;

namespace {

struct Sizes {
  int64_t rows, n, k;
};

constexpr GroupedProduct products[] = {
    GroupedProduct::plain, GroupedProduct::transposed, GroupedProduct::weights};

/// A program of one product of groups over random operands. Behind each operand
/// is space whose bits stay.
class Grouped {
public:
  Grouped(GroupedProduct product, Sizes sizes, std::vector<int64_t> ends,
          DType operand, DType result, int threads = 2, bool exact = false,
          DType index = DType::i32)
      : product(product), sizes(sizes), ends(std::move(ends)), operand(operand),
        result(result), pool(threads) {
    bool sums = product == GroupedProduct::weights;
    int64_t groups = static_cast<int64_t>(this->ends.size());
    auto [rows, n, k] = sizes;
    int64_t in = byteWidth(operand);
    test::Layout layout;
    aCount = rows * k;
    bCount = sums ? rows * n : groups * k * n;
    cCount = sums ? groups * k * n : rows * n;
    a = layout.take(aCount * in);
    b = layout.take(bCount * in);
    c = layout.take(cCount * byteWidth(result));
    int64_t atEnds = layout.take(groups * byteWidth(index));
    honert_program *p = program.get();
    if (exact)
      honert_meta_number(p, "mesh_invariant", 1);
    honert_arena(p, layout.bytes());
    honert_function(p, "step");
    honert_grouped_matmul(p, "experts", "", int64_t(product), int64_t(operand),
                          int64_t(result), int64_t(index), groups, rows, n, k,
                          a, b, atEnds, c);
    honert_result(p, "loss", 0, 0, nullptr, 0);
    Status status = p->check();
    EXPECT_TRUE(status.ok()) << status.message();
    executor = std::make_unique<CpuExecutor>(*p, pool);
    status = executor->start();
    EXPECT_TRUE(status.ok()) << status.message();
    uint32_t state = 7;
    for (auto [from, count] : {std::pair{a, aCount}, std::pair{b, bCount}})
      for (int64_t i = 0; i < count; ++i) {
        state = state * 1664525 + 1013904223;
        storeElement(operand, at(from + i * in),
                     static_cast<int32_t>(state) * 0x1p-31);
      }
    for (int64_t i = 0; i < cCount; ++i) // what a run must write over
      storeElement(result, at(c + i * byteWidth(result)), 77);
    for (int64_t i = 0; i < groups; ++i)
      if (index == DType::i32)
        reinterpret_cast<int32_t *>(at(atEnds))[i] =
            static_cast<int32_t>(this->ends[static_cast<size_t>(i)]);
      else
        reinterpret_cast<int64_t *>(at(atEnds))[i] =
            this->ends[static_cast<size_t>(i)];
  }

  void run() {
    Status status = executor->run(program->functions[0]);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  std::string bits() {
    return {at(c), static_cast<size_t>(cCount * byteWidth(result))};
  }

  /// The element and the sum of its terms' magnitudes, in the order of rows.
  std::pair<double, double> expected(int64_t element) {
    auto [rows, n, k] = sizes;
    double sum = 0, magnitude = 0;
    auto add = [&](int64_t i, int64_t j) {
      double term =
          load(a + i * byteWidth(operand)) * load(b + j * byteWidth(operand));
      sum += term;
      magnitude += std::fabs(term);
    };
    int64_t col = element % n;
    if (product == GroupedProduct::weights) {
      int64_t row = element / n % k, group = element / n / k;
      auto [begin, end] = rangeOf(static_cast<size_t>(group));
      for (int64_t r = begin; r < end; ++r)
        add(r * k + row, r * n + col);
      return {sum, magnitude};
    }
    for (size_t group = 0; group < ends.size(); ++group) {
      auto [begin, end] = rangeOf(group);
      int64_t row = element / n, matrix = static_cast<int64_t>(group) * k * n;
      for (int64_t h = 0; begin <= row && row < end && h < k; ++h)
        add(row * k + h, product == GroupedProduct::plain
                             ? matrix + h * n + col
                             : matrix + col * k + h);
    }
    return {sum, magnitude};
  }

  void check() {
    double last = result == DType::f32    ? 0
                  : result == DType::bf16 ? 0x1p-8
                                          : 0x1p-11;
    int64_t step = 1 + 1009 * (cCount * sizes.k >> 24);
    for (int64_t i = 0; i < cCount; i += step) {
      auto [sum, magnitude] = expected(i);
      ASSERT_NEAR(loadElement(result, at(c + i * byteWidth(result))), sum,
                  1e-6 * magnitude + last * std::fabs(sum))
          << "element " << i;
    }
  }

  void checkInOrder() {
    for (int64_t i = 0; i < cCount; ++i) {
      char rounded[8];
      storeElement(result, rounded, expected(i).first);
      ASSERT_EQ(loadElement(result, at(c + i * byteWidth(result))),
                loadElement(result, rounded))
          << "element " << i;
    }
  }

private:
  char *at(int64_t offset) { return executor->arena().at(offset); }
  double load(int64_t offset) { return loadElement(operand, at(offset)); }
  std::pair<int64_t, int64_t> rangeOf(size_t group) {
    int64_t begin = 0;
    for (size_t i = 0; i < group; ++i)
      begin = std::clamp(ends[i], begin, sizes.rows);
    return {begin, std::clamp(ends[group], begin, sizes.rows)};
  }

  GroupedProduct product;
  Sizes sizes;
  std::vector<int64_t> ends;
  DType operand, result;
  int64_t a, b, c, aCount, bCount, cCount;
  test::ProgramPtr program = test::makeProgram();
  ThreadPool pool;
  std::unique_ptr<CpuExecutor> executor;
};

const std::pair<DType, DType> types[] = {{DType::f32, DType::f32},
                                         {DType::bf16, DType::bf16},
                                         {DType::bf16, DType::f32},
                                         {DType::f16, DType::f16}};

// An empty group, rows behind the last end, one group with all rows, and ends
// that decrease or lie outside of the rows.
const std::vector<int64_t> endings[] = {{2, 2, 9}, {0, 4, 7},   {9, 9, 9},
                                        {0, 0, 0}, {-3, 5, 40}, {7, 3, 8}};

TEST(GroupedMatmul, equals_plain_loops) {
  for (GroupedProduct product : products)
    for (const std::vector<int64_t> &ends : endings)
      for (auto [operand, result] : types) {
        SCOPED_TRACE(name(product));
        Grouped grouped(product, {9, 7, 5}, ends, operand, result);
        grouped.run();
        grouped.check();
      }
}

/// Several tiles of rows and columns, and panels of terms.
TEST(GroupedMatmul, equals_plain_loops_in_tiles) {
  for (GroupedProduct product : products)
    for (auto [operand, result] : types) {
      SCOPED_TRACE(name(product));
      Grouped grouped(product, {1500, 530, 300}, {700, 701, 1490}, operand,
                      result);
      grouped.run();
      grouped.check();
    }
  for (DType operand : {DType::f32, DType::f16}) {
    Grouped deep(GroupedProduct::transposed, {40, 70, 2100}, {10, 33}, operand,
                 operand);
    deep.run();
    deep.check();
  }
}

TEST(GroupedMatmul, reads_ends_of_64_bits) {
  Grouped grouped(GroupedProduct::plain, {9, 7, 5},
                  {4, int64_t{1} << 40, int64_t{1} << 41}, DType::f32,
                  DType::f32, 2, false, DType::i64);
  grouped.run();
  grouped.check();
}

TEST(GroupedMatmul, sums_nothing) {
  for (GroupedProduct product : products)
    for (Sizes sizes : {Sizes{0, 7, 5}, Sizes{9, 0, 5}, Sizes{9, 7, 0}}) {
      Grouped grouped(product, sizes, {2, 2, 9}, DType::f32, DType::f32);
      grouped.run();
      grouped.check();
    }
}

TEST(GroupedMatmul, bits_do_not_depend_on_the_thread_count) {
  for (GroupedProduct product : products)
    for (auto [operand, result] : types) {
      std::string first;
      for (int threads : {1, 2, 3}) {
        Grouped grouped(product, {1500, 530, 300}, {700, 701, 1490}, operand,
                        result, threads);
        grouped.run();
        if (threads == 1)
          first = grouped.bits();
        EXPECT_TRUE(grouped.bits() == first) << name(product);
      }
    }
}

TEST(GroupedMatmul, exact_programs_add_in_order) {
  for (GroupedProduct product : products)
    for (auto [operand, result] : types) {
      SCOPED_TRACE(name(product));
      Grouped grouped(product, {50, 33, 17}, {20, 20, 43}, operand, result, 2,
                      /*exact=*/true);
      grouped.run();
      grouped.checkInOrder();
    }
}

} // namespace
