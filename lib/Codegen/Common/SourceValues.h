//===- SourceValues.h - Numbers that codes of fp8 are made of ---*- C++ -*-===//
//
// The matrix that a kernel makes codes of, where it is no input: what
// elementwise ops, rotations of heads, and vectors repeated along rows or
// columns make of inputs, in parts side by side. What emitters share, whatever
// the target: which ops these are, and a vector of a row of any of their
// values. A target says how it reads inputs, and where pairs of rotations lie.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_COMMON_SOURCEVALUES_H
#define HONE_LIB_CODEGEN_COMMON_SOURCEVALUES_H

#include "hone/Plan/Plan.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hone {

/// The parts of a matrix, side by side.
llvm::SmallVector<mlir::Value> partsOf(mlir::Value matrix);
int64_t widthOf(mlir::Value part);

/// Reports, at the launch, an op that makes the parts and is not computed.
mlir::LogicalResult checkSourceOps(plan::LaunchOp launch,
                                   llvm::ArrayRef<mlir::Value> parts);

class SourceValues {
protected:
  /// Where a vector of elements is computed, and what is known of them.
  struct Place {
    mlir::Value row, col; ///< of the first, in the part that has them
    llvm::DenseMap<mlir::Value, mlir::Value> known;
  };

  SourceValues(mlir::ImplicitLocOpBuilder &builder, int64_t lanes)
      : builder(builder), vectorLanes(lanes) {}
  ~SourceValues() = default;

  // Memory: what a target does in its own way. Results are as they are
  // computed with.

  /// A vector of a row of an input matrix.
  virtual mlir::Value loadInput(mlir::BlockArgument input, Place &at) = 0;
  /// A vector of an input that has an element per column.
  virtual mlir::Value loadColumns(mlir::BlockArgument input, Place &at) = 0;
  /// The element of the row, of an input that has one per row.
  virtual mlir::Value loadRowScalar(mlir::BlockArgument input, Place &at) = 0;
  /// A vector of a row of heads of an input, turned.
  virtual mlir::Value computeRotation(RopeOp op, Place &at) = 0;

  /// A vector of a row of `value`, made once per place.
  mlir::Value compute(mlir::Value value, Place &at);

private:
  mlir::Value repeat(mlir::Value scalar);
  mlir::Value computeBroadcast(BroadcastOp op, Place &at);
  mlir::Value computeOp(mlir::Operation *op, Place &at);

  mlir::ImplicitLocOpBuilder &builder;
  const int64_t vectorLanes;
};

} // namespace hone

#endif // HONE_LIB_CODEGEN_COMMON_SOURCEVALUES_H
