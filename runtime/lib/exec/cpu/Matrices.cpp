//===- Matrices.cpp - Batches of matrices in memory -----------------------===//

#include "exec/cpu/Matrices.h"

#include <algorithm>
#include <cstring>
#include <immintrin.h>

using namespace honert;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static float loadFloat(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

/// Integer arithmetic: the same bits on every processor, and loops of it become
/// vectors.
static uint16_t roundToBFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  bool isNaN = (bits & 0x7fffffff) > 0x7f800000;
  return static_cast<uint16_t>(isNaN ? 0x7fc0 : rounded);
}

static float load(DType dtype, const char *data, int64_t index) {
  if (dtype == DType::f32)
    return reinterpret_cast<const float *>(data)[index];
  const uint16_t *narrow = reinterpret_cast<const uint16_t *>(data) + index;
  return dtype == DType::bf16 ? loadFloat(*narrow)
                              : static_cast<float>(loadElement(dtype, narrow));
}

static void store(DType dtype, char *data, int64_t index, float value) {
  if (dtype == DType::f32)
    reinterpret_cast<float *>(data)[index] = value;
  else if (dtype == DType::bf16)
    reinterpret_cast<uint16_t *>(data)[index] = roundToBFloat(value);
  else
    storeElement(dtype, reinterpret_cast<uint16_t *>(data) + index, value);
}

//===----------------------------------------------------------------------===//
// Runs: elements at a fixed distance
//===----------------------------------------------------------------------===//

namespace {
/// `count` elements, `fromStep` and `toStep` apart.
struct Run {
  const char *from;
  int64_t fromStep;
  char *to;
  int64_t toStep, count;

  bool isDense() const { return fromStep == 1 && toStep == 1; }
};
} // namespace

template <typename T> static void copyRun(const Run &run) {
  const T *from = reinterpret_cast<const T *>(run.from);
  T *to = reinterpret_cast<T *>(run.to);
  if (run.isDense())
    std::memcpy(to, from, static_cast<size_t>(run.count) * sizeof(T));
  else
    for (int64_t i = 0; i < run.count; ++i)
      to[i * run.toStep] = from[i * run.fromStep];
}

template <typename From, typename To, To convert(From)>
static void convertRun(const Run &run) {
  const From *from = reinterpret_cast<const From *>(run.from);
  To *to = reinterpret_cast<To *>(run.to);
  if (run.isDense())
    for (int64_t i = 0; i < run.count; ++i)
      to[i] = convert(from[i]);
  else
    for (int64_t i = 0; i < run.count; ++i)
      to[i * run.toStep] = convert(from[i * run.fromStep]);
}

/// Any types, slowly.
static void convertElements(const Run &run, DType from, DType to) {
  for (int64_t i = 0; i < run.count; ++i)
    store(to, run.to, i * run.toStep, load(from, run.from, i * run.fromStep));
}

/// Eight elements at a time where they are neighbours; returns how many.
__attribute__((target("avx,f16c"))) static int64_t widenHalves(const Run &run) {
  const auto *from = reinterpret_cast<const uint16_t *>(run.from);
  auto *to = reinterpret_cast<float *>(run.to);
  int64_t i = 0;
  for (; run.isDense() && i + 8 <= run.count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(
                                 reinterpret_cast<const __m128i *>(from + i))));
  for (; i < run.count; ++i)
    to[i * run.toStep] = _cvtsh_ss(from[i * run.fromStep]);
  return i;
}

__attribute__((target("avx,f16c"))) static int64_t
roundToHalves(const Run &run) {
  constexpr int nearestEven = _MM_FROUND_TO_NEAREST_INT;
  const auto *from = reinterpret_cast<const float *>(run.from);
  auto *to = reinterpret_cast<uint16_t *>(run.to);
  int64_t i = 0;
  for (; run.isDense() && i + 8 <= run.count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), nearestEven));
  for (; i < run.count; ++i)
    to[i * run.toStep] = _cvtss_sh(from[i * run.fromStep], nearestEven);
  return i;
}

static void moveRun(const Run &run, DType from, DType to) {
  static const bool hasF16C =
      __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
  if (from == to && byteWidth(from) == 4)
    copyRun<uint32_t>(run);
  else if (from == to)
    copyRun<uint16_t>(run);
  else if (from == DType::bf16 && to == DType::f32)
    convertRun<uint16_t, float, loadFloat>(run);
  else if (from == DType::f32 && to == DType::bf16)
    convertRun<float, uint16_t, roundToBFloat>(run);
  else if (hasF16C && from == DType::f16 && to == DType::f32)
    widenHalves(run);
  else if (hasF16C && from == DType::f32 && to == DType::f16)
    roundToHalves(run);
  else
    convertElements(run, from, to);
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

void honert::copyMatrix(int64_t rows, int64_t cols, const Matrices &from,
                        const Matrices &to) {
  if (from.strides.row == 1 && to.strides.row == 1 &&
      (from.strides.col != 1 || to.strides.col != 1))
    return copyMatrix(cols, rows, from.transposed(), to.transposed());
  for (int64_t row = 0; row < rows; ++row)
    moveRun({from.from(0, row, 0).data, from.strides.col,
             to.from(0, row, 0).data, to.strides.col, cols},
            from.dtype, to.dtype);
}

/// Rows of codes that become `cols` numbers each.
static void widenMatrix(const ThreadPool &pool, int64_t rows, int64_t cols,
                        const Matrices &from, const Matrices &to) {
  if (from.hasTermsInRows)
    return widenMatrix(pool, cols, rows, from.transposed(), to.transposed());
  int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, cols));
  pool.run(rows, grain, [&](int64_t lo, int64_t hi) {
    for (int64_t row = lo; row < hi; ++row)
      widenCodes({from.dtype, from.from(0, row, 0).data, from.scales,
                  from.firstRow + row, from.firstCol, cols},
                 to.dtype, to.from(0, row, 0).data, to.strides.col);
  });
}

void honert::copyMatrices(const ThreadPool &pool, int64_t batch, int64_t rows,
                          int64_t cols, const Matrices &from,
                          const Matrices &to) {
  if (from.scales)
    return widenMatrix(pool, rows, cols, from, to);
  // Along the dimension that is dense in both, if there is one.
  if (from.strides.row == 1 && to.strides.row == 1 &&
      (from.strides.col != 1 || to.strides.col != 1))
    return copyMatrices(pool, batch, cols, rows, from.transposed(),
                        to.transposed());
  int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, cols));
  pool.run(batch * rows, grain, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i)
      moveRun({from.from(i / rows, i % rows, 0).data, from.strides.col,
               to.from(i / rows, i % rows, 0).data, to.strides.col, cols},
              from.dtype, to.dtype);
  });
}

static void zeroMatrices(const ThreadPool &pool, int64_t batch, int64_t rows,
                         int64_t cols, const Matrices &to) {
  if (to.strides.row == 1 && to.strides.col != 1)
    return zeroMatrices(pool, batch, cols, rows, to.transposed());
  int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, cols));
  auto width = static_cast<size_t>(byteWidth(to.dtype));
  pool.run(batch * rows, grain, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      char *row = to.from(i / rows, i % rows, 0).data;
      if (to.strides.col == 1)
        std::memset(row, 0, static_cast<size_t>(cols) * width);
      else
        for (int64_t col = 0; col < cols; ++col)
          store(to.dtype, row, col * to.strides.col, 0);
    }
  });
}

void honert::startMatrices(const ThreadPool &pool, int64_t batch, int64_t rows,
                           int64_t cols, const Start &start,
                           const Matrices &to) {
  if (!start.bias)
    return start.addend
               ? copyMatrices(pool, batch, rows, cols, *start.addend, to)
               : zeroMatrices(pool, batch, rows, cols, to);
  int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, cols));
  pool.run(batch * rows, grain, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      char *target = to.from(i / rows, i % rows, 0).data;
      for (int64_t col = 0; col < cols; ++col) {
        float value = 0;
        if (start.addend)
          value = load(start.addend->dtype,
                       start.addend->from(i / rows, i % rows, col).data, 0);
        if (start.bias)
          value += load(start.biasType, start.bias,
                        start.biasAlongRows ? i % rows : col);
        store(to.dtype, target, col * to.strides.col, value);
      }
    }
  });
}
