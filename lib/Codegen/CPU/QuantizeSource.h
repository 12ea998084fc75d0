//===- QuantizeSource.h - Numbers that codes are made of --------*- C++ -*-===//
//
// The matrix that a kernel makes codes of, where it is no input: squares of it
// are computed into memory on the stack.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_CPU_QUANTIZESOURCE_H
#define HONE_LIB_CODEGEN_CPU_QUANTIZESOURCE_H

#include "Codegen/Common/KernelBuilder.h"
#include "Codegen/Common/SourceValues.h"

namespace hone {

/// Rows and columns of a square. Every tile that codes have scales of lies in
/// one, and so do vectors of parts.
constexpr int64_t codesSide = 128;

class MatrixSource : SourceValues {
public:
  MatrixSource(KernelBuilder &b, plan::LaunchOp launch, mlir::Value matrix)
      : SourceValues(b, kernelLanes), b(b), launch(launch), matrix(matrix) {}

  /// Reports, at the launch, an op that is not computed.
  static mlir::LogicalResult check(plan::LaunchOp launch, mlir::Value matrix);

  /// Writes the matrix from row `row` up to row `end`, and the square's columns
  /// from `col` on, to `square`.
  void store(mlir::Value square, mlir::Value row, mlir::Value end,
             mlir::Value col);

private:
  mlir::Value bufferOf(mlir::Value argument);
  mlir::Value loadInput(mlir::BlockArgument input, Place &at) override;
  mlir::Value loadColumns(mlir::BlockArgument input, Place &at) override;
  mlir::Value loadRowScalar(mlir::BlockArgument input, Place &at) override;
  mlir::Value computeRotation(RopeOp op, Place &at) override;
  mlir::Value turnHalves(RopeOp op, mlir::Value own, mlir::Value inHead,
                         mlir::Value position, Place &at);
  mlir::Value turnPairs(RopeOp op, mlir::Value own, mlir::Value inHead,
                        mlir::Value position);
  void storePart(mlir::Value part, int64_t first, mlir::Value square,
                 mlir::Value row, mlir::Value end, mlir::Value col);

  KernelBuilder &b;
  plan::LaunchOp launch;
  mlir::Value matrix; ///< in the launch's body
};

} // namespace hone

#endif // HONE_LIB_CODEGEN_CPU_QUANTIZESOURCE_H
