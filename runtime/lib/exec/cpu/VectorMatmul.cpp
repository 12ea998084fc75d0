//===- VectorMatmul.cpp - Products of a vector and a matrix ---------------===//

#include "exec/cpu/VectorMatmul.h"
#include "exec/cpu/EachCpu.h"

#include <algorithm>
#include <cstring>

using namespace honert;

/// A tile of a matrix with rows, which one thread streams while its sums, 16
/// KiB at most, stay in the nearest cache.
constexpr int64_t tileTerms = 64, tileColumns = 4096;
/// Bytes worth a thread.
constexpr int64_t grainBytes = 64 << 10;

//===----------------------------------------------------------------------===//
// Loops over vectors
//===----------------------------------------------------------------------===//

#define INLINE inline __attribute__((always_inline))

INLINE static float widen(float element) { return element; }
/// bf16 is the upper half of an f32.
INLINE static float widen(uint16_t element) {
  uint32_t bits = static_cast<uint32_t>(element) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// sums[j] += terms[i] * rows[i * stride + j], for eight rows at once, so that
/// a sum is loaded and stored an eighth as often.
template <typename Element>
INLINE static void addRowsOf(float *sums, const float *terms,
                             const Element *rows, int64_t stride, int64_t count,
                             int64_t columns) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const float *t = terms + i;
    const Element *row = rows + i * stride;
    for (int64_t j = 0; j < columns; ++j) {
      auto product = [&](int64_t n) {
        return t[n] * widen(row[n * stride + j]);
      };
      sums[j] += ((product(0) + product(1)) + (product(2) + product(3))) +
                 ((product(4) + product(5)) + (product(6) + product(7)));
    }
  }
  for (; i < count; ++i)
    for (int64_t j = 0; j < columns; ++j)
      sums[j] += terms[i] * widen(rows[i * stride + j]);
}

/// The sum of terms[i] * column[i], in lanes whose number does not depend on
/// the processor.
template <typename Element>
INLINE static float dotOf(const float *terms, const Element *column,
                          int64_t count) {
  constexpr int64_t lanes = 64;
  float sums[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int64_t lane = 0; lane < lanes; ++lane)
      sums[lane] += terms[i + lane] * widen(column[i + lane]);
  for (int64_t lane = 0; i + lane < count; ++lane)
    sums[lane] += terms[i + lane] * widen(column[i + lane]);
  for (int64_t half = lanes / 2; half > 0; half /= 2)
    for (int64_t lane = 0; lane < half; ++lane)
      sums[lane] += sums[lane + half];
  return sums[0];
}

// A template has no clones.
FOR_EACH_CPU static void addRows(float *sums, const float *terms,
                                 const float *rows, int64_t stride,
                                 int64_t count, int64_t columns) {
  addRowsOf(sums, terms, rows, stride, count, columns);
}
FOR_EACH_CPU static void addRows(float *sums, const float *terms,
                                 const uint16_t *rows, int64_t stride,
                                 int64_t count, int64_t columns) {
  addRowsOf(sums, terms, rows, stride, count, columns);
}
FOR_EACH_CPU static float dot(const float *terms, const float *column,
                              int64_t count) {
  return dotOf(terms, column, count);
}
FOR_EACH_CPU static float dot(const float *terms, const uint16_t *column,
                              int64_t count) {
  return dotOf(terms, column, count);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static int64_t tilesOf(int64_t size, int64_t tile) {
  return (size + tile - 1) / tile;
}

VectorMatmul::VectorMatmul(const ThreadPool &pool, const MatmulLaunch &launch)
    : pool(pool), launch(launch) {
  const auto &s = launch.strides;
  bool isRow = launch.m == 1; // else a column: c^T = b^T a^T
  columns = isRow ? launch.n : launch.m;
  alongTerms = isRow ? s[4] : s[2];
  alongColumns = isRow ? s[5] : s[1];
  vector = {nullptr, launch.operand, isRow ? s[2] : s[4]};
  out = {nullptr, launch.result, isRow ? s[8] : s[7]};
  addend = {nullptr, launch.result, isRow ? s[11] : s[10]};
  bias = {nullptr, launch.result, isRow ? 1 : 0};
}

bool VectorMatmul::accepts(const MatmulLaunch &launch) {
  auto isKnown = [](DType type) {
    return type == DType::f32 || type == DType::bf16;
  };
  const auto &s = launch.strides;
  return launch.batch == 1 && !launch.isEmpty() && isKnown(launch.operand) &&
         isKnown(launch.result) && !launch.hasEpilogue() &&
         ((launch.m == 1 && (s[4] == 1 || s[5] == 1)) ||
          (launch.n == 1 && (s[1] == 1 || s[2] == 1)));
}

/// Rows of sums that are added up at the end: a column is summed at once.
int64_t VectorMatmul::countPartials() const {
  return hasRows() ? tilesOf(launch.k, tileTerms) : 1;
}

int64_t VectorMatmul::neededBytes() const {
  constexpr int64_t floatBytes = sizeof(float);
  return (launch.k + 16 + countPartials() * columns) * floatBytes;
}

void VectorMatmul::bind(char *arena, char *workspace) {
  auto at = [&](int64_t offset) {
    return offset == -1 ? nullptr : arena + offset;
  };
  bool isRow = launch.m == 1;
  vector.data = at(isRow ? launch.a : launch.b);
  matrix = at(isRow ? launch.b : launch.a);
  out.data = at(launch.c);
  addend.data = at(launch.addend);
  bias.data = at(launch.bias);
  terms = reinterpret_cast<float *>(workspace);
  partials = terms + (launch.k + 15) / 16 * 16;
}

template <typename Element>
void VectorMatmul::addTile(const Element *matrix, int64_t tile) const {
  int64_t tilesPerRow = tilesOf(columns, tileColumns);
  int64_t number = tile / tilesPerRow, first = number * tileTerms;
  int64_t column = tile % tilesPerRow * tileColumns;
  int64_t count = std::min(tileTerms, launch.k - first);
  int64_t width = std::min(tileColumns, columns - column);
  float *sums = partials + number * columns + column;
  std::fill_n(sums, width, 0.0f);
  addRows(sums, terms + first, matrix + first * alongTerms + column, alongTerms,
          count, width);
}

template <typename Element>
void VectorMatmul::run(const Element *matrix) const {
  constexpr int64_t width = sizeof(Element);
  if (hasRows()) {
    int64_t tileBytes = std::min(columns, tileColumns) * tileTerms * width;
    pool.run(tilesOf(launch.k, tileTerms) * tilesOf(columns, tileColumns),
             std::max<int64_t>(1, grainBytes / tileBytes),
             [&](int64_t lo, int64_t hi) {
               for (int64_t tile = lo; tile < hi; ++tile)
                 addTile(matrix, tile);
             });
    return;
  }
  pool.run(columns, std::max<int64_t>(1, grainBytes / (launch.k * width)),
           [&](int64_t lo, int64_t hi) {
             for (int64_t column = lo; column < hi; ++column)
               partials[column] =
                   dot(terms, matrix + column * alongColumns, launch.k);
           });
}

/// Writes the elements of the result from `lo` to `hi`.
void VectorMatmul::finish(int64_t lo, int64_t hi) const {
  for (int64_t number = 1; number < countPartials(); ++number) {
    const float *more = partials + number * columns;
    for (int64_t column = lo; column < hi; ++column)
      partials[column] += more[column];
  }
  for (int64_t column = lo; column < hi; ++column) {
    float sum = partials[column];
    if (bias.data)
      sum += bias.load(column);
    if (addend.data)
      sum += addend.load(column);
    out.store(column, sum);
  }
}

Status VectorMatmul::run() const {
  for (int64_t i = 0; i < launch.k; ++i)
    terms[i] = vector.load(i);
  if (launch.operand == DType::f32)
    run(reinterpret_cast<const float *>(matrix));
  else
    run(reinterpret_cast<const uint16_t *>(matrix));
  pool.run(columns, std::max<int64_t>(64, (32 << 10) / countPartials()),
           [&](int64_t lo, int64_t hi) { finish(lo, hi); });
  return Status();
}
