//===- ExactMatmul.cpp - Products whose bits no shape decides -------------===//

#include "exec/cpu/ExactMatmul.h"
#include "exec/cpu/EachCpu.h"

#include <algorithm>

using namespace honert;

/// Sums of a tile are kept while panels of both operands pass, widened.
static constexpr int64_t tileRows = 8, tileCols = 32, depth = 128;

namespace {
struct Tile {
  double lhs[depth][tileRows], rhs[depth][tileCols];
  double sums[tileRows][tileCols];
};
} // namespace

static double load(const Matrices &from, int64_t batch, int64_t row,
                   int64_t col) {
  const char *element = from.from(batch, row, col).data;
  return from.dtype == DType::f32 ? *reinterpret_cast<const float *>(element)
                                  : loadElement(from.dtype, element);
}

static float rounded(DType dtype, double value) {
  char element[8];
  storeElement(dtype, element, value);
  return static_cast<float>(loadElement(dtype, element));
}

/// The products are exact, so it is the same where they are fused with the
/// additions.
FOR_EACH_CPU static void addTerms(Tile &tile, int64_t terms) {
  for (int64_t k = 0; k < terms; ++k)
    for (int64_t row = 0; row < tileRows; ++row)
      for (int64_t col = 0; col < tileCols; ++col)
        tile.sums[row][col] += tile.lhs[k][row] * tile.rhs[k][col];
}

void ExactMatmul::bind(char *arena, char *) {
  const auto &s = launch.strides;
  auto matrices = [&](int64_t offset, DType dtype, size_t first) {
    return Matrices{offset == -1 ? nullptr : arena + offset,
                    dtype,
                    {s[first], s[first + 1], s[first + 2]}};
  };
  lhs = matrices(launch.a, launch.operand, 0);
  rhs = matrices(launch.b, launch.operand, 3);
  out = matrices(launch.c, launch.result, 6);
  addend = matrices(launch.addend, launch.result, 9);
  bias = launch.bias == -1 ? nullptr : arena + launch.bias;
}

void ExactMatmul::computeTile(int64_t batch, int64_t firstRow,
                              int64_t firstCol) const {
  int64_t rows = std::min(tileRows, launch.m - firstRow);
  int64_t cols = std::min(tileCols, launch.n - firstCol);
  Tile tile = {};
  for (int64_t begin = 0; begin < launch.k; begin += depth) {
    int64_t terms = std::min(depth, launch.k - begin);
    for (int64_t k = 0; k < terms; ++k) {
      for (int64_t row = 0; row < rows; ++row)
        tile.lhs[k][row] = load(lhs, batch, firstRow + row, begin + k);
      for (int64_t col = 0; col < cols; ++col)
        tile.rhs[k][col] = load(rhs, batch, begin + k, firstCol + col);
    }
    addTerms(tile, terms);
  }
  DType type = launch.result;
  auto add = [&](float &value, const void *term) {
    value = rounded(type, value + static_cast<float>(loadElement(type, term)));
  };
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t col = 0; col < cols; ++col) {
      float value = rounded(type, tile.sums[row][col]);
      if (bias)
        add(value, bias + (firstCol + col) * byteWidth(type));
      if (addend.data)
        add(value, addend.from(batch, firstRow + row, firstCol + col).data);
      storeElement(type, out.from(batch, firstRow + row, firstCol + col).data,
                   value);
    }
}

Status ExactMatmul::run() const {
  int64_t rowTiles = (launch.m + tileRows - 1) / tileRows;
  int64_t colTiles = (launch.n + tileCols - 1) / tileCols;
  pool.run(launch.batch * rowTiles * colTiles, 1, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i)
      computeTile(i / (rowTiles * colTiles), i / colTiles % rowTiles * tileRows,
                  i % colTiles * tileCols);
  });
  return Status();
}
