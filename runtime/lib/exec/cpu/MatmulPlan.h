//===- MatmulPlan.h - How a matrix product is put to the library ----------===//
//
// The decision, as plain data: which operands oneDNN reads in place, which are
// copied, and where bias and addend enter. Matmul.cpp applies it.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_EXEC_CPU_MATMULPLAN_H
#define HONERT_EXEC_CPU_MATMULPLAN_H

#include "exec/cpu/Matrices.h"
#include "program/Program.h"

namespace honert {

struct MatmulPlan {
  int64_t batch, m, n, k;
  /// The product is computed as c^T = b^T a^T: `lhs` is the launch's b.
  bool swapped;
  /// Operands as the launch holds them, in the plan's order.
  MatrixStrides lhs, rhs, out;
  /// Copied into the workspace without gaps before (after) the library runs.
  bool packLhs, packRhs, packOut;
  /// The copies of operands are column-major where these are.
  bool keepsOrder;
  /// bias[n] enters inside the library; else, if there is one, it is written
  /// to the output first.
  bool biasInLibrary;
  /// The library adds to what the output holds.
  bool accumulate;
  /// What the output holds first: the addend, the bias, both, or zero.
  bool prefill;
  /// Types of what the library multiplies, and of the result.
  DType operand, result;
  /// The library's output is a copy in f32: what it adds to, or one call after
  /// another, would be rounded to the result's type in between.
  bool wideOut;

  /// Strides the library sees.
  MatrixStrides libraryLhs() const {
    return packLhs ? packedStrides(lhs, m, k) : lhs;
  }
  MatrixStrides libraryRhs() const {
    return packRhs ? packedStrides(rhs, k, n) : rhs;
  }
  MatrixStrides libraryOut() const {
    return packOut ? denseStrides(m, n) : out;
  }
  DType libraryResult() const { return wideOut ? DType::f32 : result; }
  /// Terms of a sum that one library call adds up. oneDNN 2.6 shares sums of
  /// 2048 terms or more over threads if the left operand is transposed, and
  /// the bits then depend on how many there are.
  int64_t sumLength() const;
  /// Rows and columns of output tiles, where calls run side by side.
  int64_t tileSize() const;
  /// Starting the threads would take about as long as the product.
  bool isSmall() const;
  /// Bytes of workspace for each copy, whole cache lines; 0: none.
  int64_t packedLhsBytes() const;
  int64_t packedRhsBytes() const;
  int64_t packedOutBytes() const;
  int64_t packedBytes() const {
    return packedLhsBytes() + packedRhsBytes() + packedOutBytes();
  }

private:
  MatrixStrides packedStrides(const MatrixStrides &strides, int64_t rows,
                              int64_t cols) const;
};

/// Which operands are copied.
enum class Packing {
  needed, ///< those whose layout no library knows
  gaps,   ///< those with gaps between rows too, in their order
  all     ///< every one, row-major: the form any library handles well
};
/// `multiplied`: what becomes of operands that are codes.
MatmulPlan planMatmul(const MatmulLaunch &launch,
                      Packing packing = Packing::needed,
                      DType multiplied = DType::f32);

} // namespace honert

#endif // HONERT_EXEC_CPU_MATMULPLAN_H
