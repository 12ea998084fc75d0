//===- Matrices.cpp - Tensor cores and what feeds them --------------------===//

#include "emulation/kernels/Emulator.h"

#include <cmath>
#include <cstring>
#include <utility>

using namespace honert::emulator;

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

static void beginCopy(void *to, void *from, size_t bytes, int32_t read) {
  Emulator::active().beginCopy({static_cast<char *>(to),
                                static_cast<const char *>(from), bytes,
                                static_cast<uint32_t>(read)});
}

void honemu_cp_async_ca_shared_global_4_s(void *to, void *from, int32_t read) {
  beginCopy(to, from, 4, read);
}
void honemu_cp_async_ca_shared_global_8_s(void *to, void *from, int32_t read) {
  beginCopy(to, from, 8, read);
}
void honemu_cp_async_cg_shared_global_16_s(void *to, void *from, int32_t read) {
  beginCopy(to, from, 16, read);
}
void honemu_cp_async_commit_group() { Emulator::active().closeCopies(); }
void honemu_cp_async_wait_group(int32_t left) {
  Emulator::active().waitForCopies(static_cast<size_t>(left));
}

//===----------------------------------------------------------------------===//
// Matrices from shared memory
//===----------------------------------------------------------------------===//

namespace {
/// Of one lane.
struct MatrixRow {
  const char *row; ///< of matrix lane / 8, the row lane % 8
  int32_t *results;
};
} // namespace

/// Lane l gets of each matrix the elements 2 (l % 4) and one more of row l / 4,
/// or where they are transposed, of that column.
template <bool isTransposed> static void loadMatrices(void *const *lanes) {
  auto laneOf = [&](size_t lane) {
    return static_cast<const MatrixRow *>(lanes[lane]);
  };
  for (size_t lane = 0; lane < 32; ++lane)
    for (size_t matrix = 0; matrix < 4; ++matrix) {
      uint16_t pair[2];
      for (size_t each = 0; each < 2; ++each) {
        size_t row = lane / 4, col = lane % 4 * 2 + each;
        if (isTransposed)
          std::swap(row, col);
        std::memcpy(&pair[each], laneOf(8 * matrix + row)->row + 2 * col, 2);
      }
      std::memcpy(&laneOf(lane)->results[matrix], pair, 4);
    }
}

static void loadMatrix(WarpFunction load, int32_t *results, void *row) {
  honemu_access(row, 16, 16, honemu_is_shared);
  MatrixRow own = {static_cast<const char *>(row), results};
  Emulator::active().computeTogether(load, &own);
}

void honemu_ldmatrix_sync_aligned_m8n8_x4_b16_p3(int32_t *results, void *row) {
  loadMatrix(loadMatrices<false>, results, row);
}
void honemu_ldmatrix_sync_aligned_m8n8_x4_trans_b16_p3(int32_t *results,
                                                       void *row) {
  loadMatrix(loadMatrices<true>, results, row);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
/// Of one lane l, by the text of PTX: rows l / 4 and l / 4 + 8 of A in columns
/// 2 (l % 4) + {0, 1, 8, 9}, these rows of B in column l / 4, and in columns
/// 2 (l % 4) + {0, 1} the same rows of sums as of A.
struct Fragments {
  int32_t a[4], b[2];
  float sums[4];
};
} // namespace

enum class Element { bf16, f16 };

static double widenHalf(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double magnitude = exponent == 0 ? std::ldexp(mantissa, -24)
                     : exponent < 31
                         ? std::ldexp(mantissa + 1024, exponent - 25)
                     : mantissa == 0 ? HUGE_VAL
                                     : std::nan("");
  return bits >> 15 ? -magnitude : magnitude;
}

static double widenBFloat(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return static_cast<double>(value);
}

static double elementOf(Element type, int32_t pair, size_t half) {
  auto bits = static_cast<uint16_t>(static_cast<uint32_t>(pair) >> 16 * half);
  return type == Element::bf16 ? widenBFloat(bits) : widenHalf(bits);
}

/// Each sum of 16 products and what was there is rounded once: to nearest, or
/// where instructions err toward zero, as hardware may drop low bits of terms.
static float roundSum(double sum) {
  auto nearest = static_cast<float>(sum);
  if (!Emulator::mayErr() || !std::isfinite(nearest) ||
      std::fabs(static_cast<double>(nearest)) <= std::fabs(sum))
    return nearest;
  return std::nextafter(nearest, 0.0f);
}

template <Element type> static void multiply(void *const *lanes) {
  double a[16][16], b[16][8];
  auto fragments = [&](size_t lane) {
    return static_cast<Fragments *>(lanes[lane]);
  };
  for (size_t lane = 0; lane < 32; ++lane)
    for (size_t part = 0; part < 8; ++part) {
      size_t high = part / 4, right = part / 2 % 2, half = part % 2;
      size_t k = lane % 4 * 2 + 8 * right + half;
      a[lane / 4 + 8 * high][k] =
          elementOf(type, fragments(lane)->a[high + 2 * right], half);
      if (high == 0)
        b[k][lane / 4] = elementOf(type, fragments(lane)->b[right], half);
    }
  for (size_t lane = 0; lane < 32; ++lane)
    for (size_t part = 0; part < 4; ++part) {
      size_t row = lane / 4 + 8 * (part / 2), col = lane % 4 * 2 + part % 2;
      double sum = static_cast<double>(fragments(lane)->sums[part]);
      for (size_t k = 0; k < 16; ++k)
        sum += a[row][k] * b[k][col];
      fragments(lane)->sums[part] = roundSum(sum);
    }
}

#define PRODUCT(name, type)                                                    \
  void honemu_mma_m16n8k16_row_col_##name(                                     \
      float *results, int32_t a0, int32_t a1, int32_t a2, int32_t a3,          \
      int32_t b0, int32_t b1, float c0, float c1, float c2, float c3) {        \
    Fragments own = {{a0, a1, a2, a3}, {b0, b1}, {c0, c1, c2, c3}};            \
    Emulator::active().computeTogether(multiply<Element::type>, &own);         \
    std::memcpy(results, own.sums, sizeof own.sums);                           \
  }
PRODUCT(bf16, bf16)
PRODUCT(f32_f32, f16)
#undef PRODUCT
