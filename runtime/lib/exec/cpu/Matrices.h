//===- Matrices.h - Batches of matrices in memory -------------------------===//

#ifndef HONERT_EXEC_CPU_MATRICES_H
#define HONERT_EXEC_CPU_MATRICES_H

#include "base/Parallel.h"
#include "base/Types.h"
#include "exec/cpu/Codes.h"

#include <tuple>

namespace honert {

/// Element strides of a batch of matrices.
struct MatrixStrides {
  int64_t batch, row, col;

  bool operator==(const MatrixStrides &other) const {
    return batch == other.batch && row == other.row && col == other.col;
  }
  bool operator<(const MatrixStrides &other) const {
    return std::tie(batch, row, col) <
           std::tie(other.batch, other.row, other.col);
  }
  MatrixStrides transposed() const { return {batch, col, row}; }
};

/// Row-major matrices without gaps.
inline MatrixStrides denseStrides(int64_t rows, int64_t cols) {
  return {rows * cols, cols, 1};
}

/// A batch of matrices of f32, bf16 or f16, or one of codes with scales.
struct Matrices {
  char *data;
  DType dtype;
  MatrixStrides strides;
  /// Of codes, [i, k] as in the layout of the scales: these are rows and
  /// columns here, from some on, or columns and rows.
  const Scales *scales = nullptr;
  bool hasTermsInRows = false;
  int64_t firstRow = 0, firstCol = 0;

  /// The same, from element (batch, row, col) on.
  Matrices from(int64_t batch, int64_t row, int64_t col) const {
    int64_t element =
        batch * strides.batch + row * strides.row + col * strides.col;
    return {data + element * byteWidth(dtype),
            dtype,
            strides,
            scales,
            hasTermsInRows,
            firstRow + row,
            firstCol + col};
  }
  Matrices transposed() const {
    return {data,     dtype,   strides.transposed(), scales, !hasTermsInRows,
            firstCol, firstRow};
  }
};

/// to[b, r, c] = from[b, r, c], by all threads: widened exactly, or rounded to
/// nearest even, where the types differ. Codes become the numbers they stand
/// for, of f32 or bf16.
void copyMatrices(const ThreadPool &pool, int64_t batch, int64_t rows,
                  int64_t cols, const Matrices &from, const Matrices &to);

/// The same of one matrix without scales, by the calling thread.
void copyMatrix(int64_t rows, int64_t cols, const Matrices &from,
                const Matrices &to);

/// What a product is added to.
struct Start {
  const Matrices *addend; ///< or null
  const char *bias;       ///< or null: an element per column,
  DType biasType;         ///
  bool biasAlongRows;     ///< or per row
};

/// to[b, r, c] = addend[b, r, c] + bias[c], summed in f32; 0 without both.
void startMatrices(const ThreadPool &pool, int64_t batch, int64_t rows,
                   int64_t cols, const Start &start, const Matrices &to);

} // namespace honert

#endif // HONERT_EXEC_CPU_MATRICES_H
