//===- ScaledMatmulTest.cpp - Products of codes and scales ----------------===//

#include "base/Fp8.h"
#include "support/Describe.h"
#include "train/MakeExecutor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace honert;

namespace {

struct Case {
  int64_t m, n, k;
  ScaleMode modeA, modeB;
  DType a = DType::f8e4m3, b = DType::f8e4m3, result = DType::f32;
  bool transposed = false; ///< the result lies by columns
  bool accumulates = false, hasBias = false;
};

std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << c.m << "x" << c.n << "x" << c.k << " " << name(c.modeA) << " "
             << name(c.modeB) << " " << name(c.a) << " by " << name(c.b)
             << " to " << name(c.result);
}

/// One operand: codes [rows, k] and their scales.
struct Operand {
  DType dtype;
  ScaleLayout layout;
  int64_t codes, scales; ///< offsets

  Operand(DType dtype, ScaleMode mode, int64_t rows, int64_t k,
          test::Layout &layout)
      : dtype(dtype), layout{scaleTileOf(mode), rows, k},
        codes(layout.take(rows * k)), scales(layout.take(scaleBytes())) {}

  int64_t scaleWidth() const { return layout.tile == ScaleTile::row32 ? 1 : 4; }
  int64_t scaleBytes() const { return layout.size() * scaleWidth(); }
  int64_t placeOfScale(int64_t row, int64_t k) const {
    return scales + layout.indexOfCode(row, k) * scaleWidth();
  }
  void setScale(char *arena, int64_t place, int exponent) const {
    float scale = std::ldexp(1.0f, exponent);
    if (scaleWidth() == 1)
      arena[place] = static_cast<char>(exponent + 127);
    else
      std::memcpy(arena + place, &scale, sizeof scale);
  }
  /// The number that a code stands for.
  double at(const char *arena, int64_t row, int64_t k) const {
    const char *place = arena + placeOfScale(row, k);
    float scale;
    if (scaleWidth() == 1)
      scale = decodeMxScale(static_cast<uint8_t>(*place));
    else
      std::memcpy(&scale, place, sizeof scale);
    return loadElement(dtype, arena + codes + row * layout.columns + k) *
           static_cast<double>(scale);
  }
};

class Product {
public:
  explicit Product(const Case &c, int threads = 2)
      : c(c), a(c.a, c.modeA, c.m, c.k, layout),
        b(c.b, c.modeB, c.n, c.k, layout), pool(threads) {
    out = layout.take(c.m * c.n * byteWidth(c.result));
    bias = c.hasBias ? layout.take(c.n * byteWidth(c.result)) : -1;
    honert_program *p = program.get();
    honert_arena(p, layout.bytes());
    honert_function(p, "step");
    int64_t row = c.transposed ? 1 : c.n, col = c.transposed ? c.m : 1;
    int64_t strides[12] = {0, c.k, 1, 0, 1, c.k, 0, row, col, 0, row, col};
    honert_matmul(p, "product", "", int64_t(c.a), int64_t(c.result), 1, c.m,
                  c.n, c.k, strides, a.codes, b.codes, out, bias,
                  c.accumulates ? out : -1);
    honert_matmul_scales(p, int64_t(c.b), int64_t(c.modeA), a.scales,
                         int64_t(c.modeB), b.scales, 0);
    honert_result(p, "loss", 0, 0, nullptr, 0);
    Status status = p->check();
    EXPECT_TRUE(status.ok()) << status.message();
    executor = makeExecutor(*p, pool);
    status = executor->start();
    EXPECT_TRUE(status.ok()) << status.message();
    fill();
    before.assign(arena(), arena() + p->arenaBytes);
  }

  char *arena() const { return executor->arena().at(0); }
  const Executor &engine() const { return *executor; }

  void run() {
    Status status = executor->run(program->functions[0]);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  int64_t placeOf(int64_t row, int64_t col) const {
    int64_t element = c.transposed ? col * c.m + row : row * c.n + col;
    return out + element * byteWidth(c.result);
  }
  double result(int64_t row, int64_t col) const {
    return loadElement(c.result, arena() + placeOf(row, col));
  }
  std::string bits() const {
    return {arena() + out,
            static_cast<size_t>(c.m * c.n * byteWidth(c.result))};
  }

  /// As of products of bf16: rounding of f32 of a sum in any order, and one of
  /// the result.
  void check() {
    double last = c.result == DType::bf16 ? 0x1p-8 : 0;
    int64_t step = 1 + 1009 * (c.m * c.n * c.k >> 26);
    for (int64_t i = 0; i < c.m * c.n; i += step) {
      int64_t row = i / c.n, col = i % c.n;
      double sum = 0, magnitude = 0;
      auto add = [&](double term) {
        sum += term;
        magnitude += std::fabs(term);
      };
      for (int64_t k = 0; k < c.k; ++k)
        add(a.at(before.data(), row, k) * b.at(before.data(), col, k));
      if (c.accumulates)
        add(loadElement(c.result, &before[size_t(placeOf(row, col))]));
      if (c.hasBias)
        add(loadElement(c.result,
                        &before[size_t(bias + col * byteWidth(c.result))]));
      ASSERT_NEAR(result(row, col), sum,
                  1e-6 * magnitude + last * std::fabs(sum) + 1e-30)
          << "at " << row << ", " << col;
    }
  }

  Case c;
  test::Layout layout;
  Operand a, b;

private:
  uint32_t draw() { return (state = state * 1664525 + 1013904223) >> 8; }
  void fill() {
    for (const Operand *operand : {&a, &b}) {
      for (int64_t i = 0; i < operand->layout.rows * operand->layout.columns;
           ++i) {
        // All finite codes; those of e4m3 end at 0x7e, of e5m2 at 0x7b.
        uint32_t code = draw() % 0x7c | (draw() & 0x80);
        arena()[operand->codes + i] = static_cast<char>(code);
      }
      // Scales of no tile are not read.
      std::memset(arena() + operand->scales, 0xff,
                  static_cast<size_t>(operand->scaleBytes()));
      for (int64_t row = 0; row < operand->layout.tileRows(); ++row)
        for (int64_t col = 0; col < operand->layout.tileColumns(); ++col)
          operand->setScale(arena(),
                            operand->scales + operand->layout.index(row, col) *
                                                  operand->scaleWidth(),
                            int(draw() % 9) - 12);
    }
    auto number = [&](int64_t place) {
      storeElement(c.result, arena() + place, double(draw()) * 0x1p-24);
    };
    for (int64_t i = 0; i < c.m * c.n; ++i)
      number(out + i * byteWidth(c.result));
    for (int64_t i = 0; bias != -1 && i < c.n; ++i)
      number(bias + i * byteWidth(c.result));
  }

  test::ProgramPtr program = test::makeProgram();
  ThreadPool pool;
  std::unique_ptr<Executor> executor;
  int64_t out, bias;
  uint32_t state = 7;
  std::vector<char> before;
};

constexpr ScaleMode T = ScaleMode::tensor, X = ScaleMode::vector32,
                    V = ScaleMode::vector128, B = ScaleMode::block128;
constexpr DType e4m3 = DType::f8e4m3, e5m2 = DType::f8e5m2, f32 = DType::f32,
                bf16 = DType::bf16;

class ScaledMatmul : public testing::TestWithParam<Case> {};

TEST_P(ScaledMatmul, equals_sums_of_the_numbers_meant) {
  Product product(GetParam());
  product.run();
  product.check();
}

TEST_P(ScaledMatmul, has_bits_that_do_not_depend_on_the_thread_count) {
  Product one(GetParam(), 1), three(GetParam(), 3);
  one.run(), three.run();
  EXPECT_TRUE(one.bits() == three.bits());
}

const std::vector<Case> cases = {
    Case{64, 96, 256, T, T}, Case{64, 96, 256, V, V}, Case{64, 96, 256, V, B},
    Case{64, 96, 256, B, V}, Case{64, 96, 256, X, X},
    // Tiles and groups of scales that are not full.
    Case{40, 48, 1600, T, T}, Case{40, 48, 1600, V, V},
    Case{40, 208, 1600, V, B}, Case{304, 40, 1600, B, V},
    Case{40, 304, 1600, X, X}, Case{3, 5, 7, V, B}, Case{3, 5, 7, X, X},
    Case{1, 48, 160, V, B}, Case{40, 1, 160, X, X},
    // Formats, results, and how these lie.
    Case{64, 96, 256, V, B, e5m2, e4m3, bf16},
    Case{64, 96, 256, X, X, e4m3, e5m2, bf16},
    Case{64, 96, 256, T, T, e5m2, e4m3, bf16},
    Case{40, 208, 1600, V, B, e4m3, e4m3, bf16, true},
    Case{40, 208, 1600, X, X, e4m3, e4m3, f32, true, true},
    Case{48, 208, 1600, V, V, e4m3, e4m3, f32, false, true},
    Case{48, 208, 1600, V, B, e4m3, e4m3, bf16, false, true, true},
    Case{48, 208, 1600, V, B, e4m3, e4m3, bf16, true, false, true},
    // Copies of more than 12 MiB: by panels.
    Case{4200, 48, 1600, V, B, e4m3, e4m3, bf16},
    Case{4200, 48, 1600, X, X, e4m3, e4m3, f32, true, true},
    Case{300, 96, 16500, V, V, e4m3, e4m3, f32, false, true}};
INSTANTIATE_TEST_SUITE_P(Cases, ScaledMatmul, testing::ValuesIn(cases));

TEST(ScaledProducts, need_no_more_memory_than_their_panels) {
  EXPECT_LE(*Product({4096, 800, 4096, V, B}).engine().workspaceBytes(),
            16 << 20);
}

/// A scale that is no number, of a tile that was not finite, shows in all that
/// its codes take part in, also in those that are 0; a code that is none does.
TEST(ScaledProducts, keep_what_is_no_number) {
  for (ScaleMode mode : {T, V, X}) {
    Product product({40, 48, 256, mode, mode});
    std::memset(product.arena() + product.a.codes, 0, 40 * 256);
    std::memset(product.arena() + product.a.placeOfScale(33, 200), 0xff,
                static_cast<size_t>(product.a.scaleWidth()));
    product.run();
    EXPECT_TRUE(std::isnan(product.result(33, 7)));
    EXPECT_EQ(product.result(32, 7), mode == T ? product.result(32, 7) : 0);
    EXPECT_EQ(std::isnan(product.result(32, 7)), mode == T);
  }
  for (DType dtype : {e4m3, e5m2}) {
    Product product({40, 48, 256, V, V, dtype, e4m3});
    product.arena()[product.a.codes + 33 * 256 + 200] = 0x7f;
    product.run();
    EXPECT_TRUE(std::isnan(product.result(33, 7)));
    EXPECT_FALSE(std::isnan(product.result(32, 7)));
  }
}

/// The whole range of scales: only what f32 has no normal number for is lost.
TEST(ScaledProducts, reach_to_both_ends_of_f32) {
  Product product({1, 16, 32, X, X});
  auto resultOf = [&](uint8_t codeA, int scaleA, uint8_t codeB, int scaleB) {
    std::memset(product.arena() + product.a.codes, 0, 32);
    std::memset(product.arena() + product.b.codes, 0, 16 * 32);
    product.arena()[product.a.codes + 5] = static_cast<char>(codeA);
    product.arena()[product.b.codes + 32 * 3 + 5] = static_cast<char>(codeB);
    product.a.setScale(product.arena(), product.a.placeOfScale(0, 0), scaleA);
    product.b.setScale(product.arena(), product.b.placeOfScale(3, 0), scaleB);
    product.run();
    return product.result(0, 3);
  };
  EXPECT_EQ(resultOf(0x7e, 119, 0x38, 0), 448 * 0x1p119);
  EXPECT_EQ(resultOf(0x7e, 119, 0x7e, -126), 448 * 448 * 0x1p-7);
  EXPECT_EQ(resultOf(0x38, -126, 0x38, 127), 2);
  EXPECT_EQ(resultOf(0x01, -117, 0x38, 0), 0x1p-126);
  EXPECT_EQ(resultOf(0x01, -118, 0x38, 127), 0);
  EXPECT_EQ(resultOf(0x7e, 127, 0x38, -126), INFINITY);
}

TEST(ScaledProducts, are_of_no_exact_program) {
  test::ProgramPtr program = test::makeProgram();
  honert_program *p = program.get();
  honert_arena(p, 4096);
  honert_meta_number(p, "mesh_invariant", 1);
  honert_function(p, "step");
  int64_t strides[12] = {0, 16, 1, 0, 1, 16, 0, 16, 1};
  honert_matmul(p, "product", "", 8, 0, 1, 16, 16, 16, strides, 0, 1024, 2048,
                -1, -1);
  honert_matmul_scales(p, 8, 0, 512, 0, 512, 0);
  honert_result(p, "loss", 0, 0, nullptr, 0);
  EXPECT_NE(p->check().message().find("multiplies codes"), std::string::npos);
}

} // namespace
