//===- MatmulPlan.cpp - How a matrix product is put to the library --------===//

#include "exec/cpu/MatmulPlan.h"

#include <algorithm>

using namespace honert;

/// Strides along dimensions of size 1 mean nothing: choose the ones that make
/// the matrix look like what libraries know.
static MatrixStrides canonical(MatrixStrides strides, int64_t batch,
                               int64_t rows, int64_t cols) {
  if (batch == 1)
    strides.batch = 0;
  if (cols == 1 && rows == 1)
    strides.row = strides.col = 1;
  else if (cols == 1) // a column: row-major if its elements have gaps
    strides.col = strides.row == 1 ? rows : 1;
  else if (rows == 1)
    strides.row = strides.col == 1 ? cols : 1;
  return strides;
}

/// One of the two dimensions is contiguous and the other does not overlap it.
static bool isLibraryLayout(const MatrixStrides &strides, int64_t rows,
                            int64_t cols) {
  return (strides.col == 1 && strides.row >= cols) ||
         (strides.row == 1 && strides.col >= rows);
}

/// No element of one matrix of the batch lies on one of another, for the
/// layouts the library knows: matrices apart, or side by side in the rows of
/// a larger one (attention heads).
static bool isBatchApart(const MatrixStrides &strides, int64_t batch,
                         int64_t rows, int64_t cols) {
  if (batch == 1 || strides.batch == 0)
    return true;
  int64_t outer = std::max(strides.row, strides.col);
  int64_t outerSize = strides.row >= strides.col ? rows : cols;
  int64_t innerSize = strides.row >= strides.col ? cols : rows;
  return strides.batch >= outer * outerSize ||
         (strides.batch >= innerSize && strides.batch * batch <= outer);
}

static bool needsPacking(const MatrixStrides &strides, int64_t batch,
                         int64_t rows, int64_t cols) {
  return !isLibraryLayout(strides, rows, cols) ||
         !isBatchApart(strides, batch, rows, cols);
}

static bool hasGaps(const MatrixStrides &strides, int64_t batch, int64_t rows,
                    int64_t cols) {
  return std::max(strides.row * rows, strides.col * cols) != rows * cols ||
         (batch > 1 && strides.batch != 0 && strides.batch != rows * cols);
}

MatrixStrides MatmulPlan::packedStrides(const MatrixStrides &strides,
                                        int64_t rows, int64_t cols) const {
  if (keepsOrder && strides.row == 1 && strides.col != 1)
    return {rows * cols, 1, rows};
  return denseStrides(rows, cols);
}

static int64_t packedBytesOf(bool isPacked, int64_t elements, DType dtype) {
  return isPacked ? (elements * byteWidth(dtype) + 63) / 64 * 64 : 0;
}

int64_t MatmulPlan::packedLhsBytes() const {
  return packedBytesOf(packLhs, batch * m * k, operand);
}

int64_t MatmulPlan::packedRhsBytes() const {
  return packedBytesOf(packRhs, batch * k * n, operand);
}

int64_t MatmulPlan::packedOutBytes() const {
  return packedBytesOf(packOut, batch * m * n, libraryResult());
}

int64_t MatmulPlan::sumLength() const {
  constexpr int64_t safe = 1024; // sums up to twice as long are not shared
  if (libraryLhs().col == 1 || k < 2 * safe)
    return k;
  int64_t pieces = k / safe;
  return ((k - 1) / pieces + 64) / 64 * 64;
}

int64_t MatmulPlan::tileSize() const {
  // Large tiles reread less; small ones occupy more threads.
  constexpr int64_t large = 256, small = 128, enough = 64;
  auto tiles = [&](int64_t size) {
    return batch * ((m - 1) / size + 1) * ((n - 1) / size + 1);
  };
  return tiles(large) >= enough ? large : small;
}

bool MatmulPlan::isSmall() const {
  // 2^20 FLOP: 5 to 20 us on one core. In fp64, which does not overflow.
  return 2.0 * static_cast<double>(batch) * static_cast<double>(m) *
             static_cast<double>(n) * static_cast<double>(k) <=
         0x1p20;
}

MatmulPlan honert::planMatmul(const MatmulLaunch &launch, Packing packing,
                              DType multiplied) {
  const auto &s = launch.strides;
  MatrixStrides a{s[0], s[1], s[2]}, b{s[3], s[4], s[5]}, c{s[6], s[7], s[8]};
  MatrixStrides addend{s[9], s[10], s[11]};
  int64_t batch = launch.batch, m = launch.m, n = launch.n, k = launch.k;
  bool hasAddend = launch.addend != -1, hasBias = launch.bias != -1;

  // One weight for the whole batch: a single product with batch * m rows.
  auto rowsContinue = [&](const MatrixStrides &strides) {
    return strides.batch == m * strides.row;
  };
  if (batch > 1 && b.batch == 0 && rowsContinue(a) && rowsContinue(c) &&
      (!hasAddend || rowsContinue(addend))) {
    m *= batch;
    batch = 1;
  }

  MatmulPlan plan{};
  plan.batch = batch;
  a = canonical(a, batch, m, k);
  b = canonical(b, batch, k, n);
  c = canonical(c, batch, m, n);
  addend = canonical(addend, batch, m, n);
  // The library writes rows; a transposed output is a transposed product.
  plan.swapped = c.col != 1 && c.row == 1;
  plan.m = plan.swapped ? n : m;
  plan.n = plan.swapped ? m : n;
  plan.k = k;
  plan.lhs = plan.swapped ? b.transposed() : a;
  plan.rhs = plan.swapped ? a.transposed() : b;
  plan.out = plan.swapped ? c.transposed() : c;

  auto isPacked = [&](const MatrixStrides &strides, int64_t rows,
                      int64_t cols) {
    return packing == Packing::all || launch.scales ||
           needsPacking(strides, batch, rows, cols) ||
           (packing == Packing::gaps && hasGaps(strides, batch, rows, cols));
  };
  plan.keepsOrder =
      packing == Packing::gaps || (launch.scales && packing == Packing::needed);
  plan.packLhs = isPacked(plan.lhs, plan.m, k);
  plan.packRhs = isPacked(plan.rhs, k, plan.n);
  plan.biasInLibrary = hasBias && !plan.swapped && k > 0;
  bool biasFirst = hasBias && !plan.biasInLibrary;
  plan.operand = launch.scales ? multiplied : launch.operand;
  plan.result = launch.result;
  plan.wideOut = launch.result != DType::f32 && k > 0 &&
                 (biasFirst || plan.sumLength() < k);
  plan.packOut =
      plan.wideOut || plan.out.col != 1 || isPacked(plan.out, plan.m, plan.n);

  bool addendInPlace = hasAddend && launch.addend == launch.c && addend == c;
  bool addendHeld = addendInPlace && !plan.packOut;
  plan.prefill = k == 0 || biasFirst || (hasAddend && !addendHeld);
  plan.accumulate = hasAddend || biasFirst;
  return plan;
}
