//===- MatmulCase.h - One matrix product in a program ---------------------===//

#ifndef TEST_UNIT_RUNTIME_MATMULCASE_H
#define TEST_UNIT_RUNTIME_MATMULCASE_H

#include "support/Describe.h"
#include "train/MakeExecutor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace test {

using namespace honert;

/// How the two dimensions of a matrix lie in memory.
enum class Order { rows, columns, gaps, spread };

/// Strides (batch, row, col) of `batch` matrices, and the elements they span.
struct Placed {
  std::array<int64_t, 3> strides;
  int64_t elements;
};

inline Placed place(Order order, int64_t batch, int64_t rows, int64_t cols,
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
  bool cuda = false;  // for the GPU that the fake shows
  bool exact = false; // of an exact program
};

inline std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << c.batch << "x" << c.m << "x" << c.n << "x" << c.k << " orders "
             << int(c.a) << int(c.b) << int(c.c) << " bias " << c.bias
             << " addend " << int(c.addend) << " shared " << c.sharedB << " "
             << name(c.operand) << " to " << name(c.result);
}

/// The same cases for narrow elements.
inline std::vector<Case> narrowed(std::vector<Case> cases) {
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
inline float fraction(uint32_t bits) {
  return static_cast<float>(static_cast<int32_t>(bits)) * 0x1p-31f;
}
/// The same, for sums that are exact in f32.
inline float smallInteger(uint32_t bits) {
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
        pool(threads) {
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
    if (c.cuda)
      honert_meta(p, "target", "cuda sm_80");
    if (c.exact)
      honert_meta_number(p, "mesh_invariant", 1);
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
    executor = makeExecutor(*p, pool);
    if (Status status = executor->start(); !status.ok())
      ADD_FAILURE() << status.message();
    uint32_t state = 7;
    auto fill = [&](int64_t from, int64_t elements, DType dtype) {
      for (int64_t i = 0; i < elements; ++i) {
        state = state * 1664525 + 1013904223;
        storeElement(dtype, executor->arena().at(from + i * byteWidth(dtype)),
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
    before = view();
    EXPECT_TRUE(executor->publish(0, p->arenaBytes).ok());
  }

  void run() {
    Status status = executor->run(program->functions[0]);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(executor->wait().ok());
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

  /// Terms are added in order, in fp64, and rounded; so is each of bias and
  /// addend behind it.
  void checkInOrder() {
    std::vector<char> after = memory();
    auto rounded = [&](double value) {
      char element[8];
      storeElement(c.result, element, value);
      return loadElement(c.result, element);
    };
    for (int64_t i = 0; i < c.batch * c.m * c.n; ++i) {
      int64_t batch = i / (c.m * c.n), row = i / c.n % c.m, col = i % c.n;
      double sum = 0;
      for (int64_t k = 0; k < c.k; ++k)
        sum += at(atA, a, c.operand, batch, row, k) *
               at(atB, b, c.operand, batch, k, col);
      sum = rounded(sum);
      if (c.bias)
        sum = rounded(
            sum +
            loadElement(c.result, &before[atBias + col * byteWidth(c.result)]));
      if (c.addend != Addend::none)
        sum = rounded(sum + at(atAddend, addend, c.result, batch, row, col));
      ASSERT_EQ(
          loadElement(c.result,
                      &after[placeOf(atOut, out, c.result, batch, row, col)]),
          sum)
          << "at " << batch << ", " << row << ", " << col;
    }
  }

  std::vector<char> memory() {
    EXPECT_TRUE(executor->fetch(0, program->arenaBytes).ok());
    return view();
  }

  const Executor &engine() const { return *executor; }

  /// Gives all operands the values that `other` has, wherever they lie.
  void takeOperands(const Product &other) {
    auto take = [&](int64_t to, const Placed &target, int64_t from,
                    const Placed &source, DType dtype, int64_t rows,
                    int64_t cols) {
      for (int64_t i = 0; i < c.batch * rows * cols; ++i) {
        int64_t batch = i / (rows * cols), row = i / cols % rows,
                col = i % cols;
        std::memcpy(
            executor->arena().at(placeOf(to, target, dtype, batch, row, col)),
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
      std::memcpy(executor->arena().at(atBias), &other.before[other.atBias],
                  static_cast<size_t>(c.n * byteWidth(c.result)));
  }
  /// The result, element by element.
  std::string bits() {
    std::string bits;
    auto width = static_cast<size_t>(byteWidth(c.result));
    for (int64_t i = 0; i < c.batch * c.m * c.n; ++i)
      bits.append(
          executor->arena().at(placeOf(atOut, out, c.result, i / (c.m * c.n),
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
          executor->arena().at(placeOf(atOut, out, c.result, 0, row, 0))));
    return column;
  }

private:
  std::vector<char> view() {
    const char *begin = executor->arena().at(0);
    return {begin, begin + program->arenaBytes};
  }
  void set(int64_t place, double value) {
    storeElement(c.operand, executor->arena().at(place), value);
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
  std::unique_ptr<Executor> executor;
  int64_t atA, atB, atOut, atBias, atAddend;
  std::vector<char> before;
};

} // namespace test

#endif // TEST_UNIT_RUNTIME_MATMULCASE_H
