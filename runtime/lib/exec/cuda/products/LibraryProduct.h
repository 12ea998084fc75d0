//===- LibraryProduct.h - A matrix product as cuBLASLt is asked for it ----===//
//
// The library's matrices are column-major: one stride, between columns. A
// row-major result c[m,n] is its D[n,m] = B^T A^T, so it is asked for the
// operands in the other order. What it cannot express is an error here, before
// anything runs. Plain data; MatmulDescriptors.cpp makes descriptors of it.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_EXEC_CUDA_PRODUCTS_LIBRARYPRODUCT_H
#define HONERT_EXEC_CUDA_PRODUCTS_LIBRARYPRODUCT_H

#include "program/Program.h"

#include <optional>

namespace honert {

/// A column-major matrix in memory: element (row, col) of matrix i lies at
/// i * batchStride + col * stride + row.
struct LibraryMatrix {
  DType dtype;
  int64_t rows, cols, stride, batchStride;
  /// Of an operand: it is multiplied transposed.
  bool isTransposed;
  /// Bytes from the start of the arena, or of the vector of ones.
  int64_t offset;
};

/// Of an operand that holds codes: how many share a scale, and where scales lie
/// in the arena (base/ScaleLayout.h; of the operand as [outer, terms], whatever
/// is transposed).
struct LibraryScales {
  ScaleMode mode;
  int64_t offset;
};

/// D[rows, cols] = op(A) op(B) (+ C), and what its epilogue adds to that.
struct LibraryProduct {
  int64_t batch;
  LibraryMatrix a, b, c, d;
  bool accumulate; ///< C counts
  int epilogue;    ///< CUBLASLT_EPILOGUE_...
  /// The bias, or the sums that the epilogue writes, of D's type; -1: none.
  int64_t vector;
  int64_t aux, auxStride; ///< offset -1: none
  /// b is a vector of ones in the workspace.
  bool bIsOnes;
  /// Multiprocessors of the GPU that it may use; 0: all.
  int64_t processors;
  /// Both operands are codes, or neither.
  std::optional<LibraryScales> aScales, bScales;
  /// Sums of codes may stay in the multiplying unit, which keeps some 14 bits.
  bool isFast;

  /// Whether the vector, or aux, is read: the other epilogues write them.
  bool readsVector() const;
  bool readsAux() const;

  /// "bf16 32x8x64 NT ..., epilogue 4": equal for products that one way of
  /// computing serves, alignment apart.
  std::string text() const;
};

/// The largest power of two, 16 at most, that divides the addresses and the
/// distances of rows and matrices of operands, addend and result, in bytes.
int64_t operandAlignment(const MatmulLaunch &launch);

/// How the library computes `launch`, sums included if `withSums`.
Status planProduct(const std::string &name, const MatmulLaunch &launch,
                   bool withSums, LibraryProduct &product);

/// The product with a vector of ones that adds the bias of `launch` to its
/// result, to run after `product`, which is without: another rounding, and
/// another pass over the result.
LibraryProduct planBias(const MatmulLaunch &launch,
                        const LibraryProduct &product);

/// The product with a vector of ones that sums what `launch`, which
/// planProduct() takes, wants summed: in f32, to run after it.
LibraryProduct planSums(const MatmulLaunch &launch);

} // namespace honert

#endif // HONERT_EXEC_CUDA_PRODUCTS_LIBRARYPRODUCT_H
