//===- ShapeChecks.h - What verifiers say about shapes ----------*- C++ -*-===//

#ifndef HONE_LIB_IR_SHAPECHECKS_H
#define HONE_LIB_IR_SHAPECHECKS_H

#include "hone/IR/Hone.h"

#include "llvm/ADT/SmallBitVector.h"

namespace hone {

/// Appends "[2, 16]".
inline mlir::InFlightDiagnostic &appendShape(mlir::InFlightDiagnostic &diag,
                                             llvm::ArrayRef<int64_t> shape) {
  diag << "[";
  llvm::interleaveComma(shape, diag);
  return diag << "]";
}

/// Fails with "<what> has shape [..], expected [..]" unless they are equal; a
/// null value, an absent operand, passes.
inline mlir::LogicalResult expectShape(mlir::Operation *op,
                                       llvm::StringRef what, mlir::Value value,
                                       llvm::ArrayRef<int64_t> expected) {
  if (!value || shapeOf(value) == expected)
    return mlir::success();
  mlir::InFlightDiagnostic diag = op->emitOpError() << what << " has shape ";
  appendShape(diag, shapeOf(value)) << ", expected ";
  return appendShape(diag, expected);
}

/// Fails with "<what> has type .., expected .." unless they are equal.
inline mlir::LogicalResult expectType(mlir::Operation *op, llvm::StringRef what,
                                      mlir::Value value, mlir::Type expected) {
  if (value.getType() == expected)
    return mlir::success();
  return op->emitOpError() << what << " has type " << value.getType()
                           << ", expected " << expected;
}

/// Fails with "<what> has element type .., expected .." unless they are equal.
inline mlir::LogicalResult expectElement(mlir::Operation *op,
                                         llvm::StringRef what,
                                         mlir::Value value,
                                         mlir::Type expected) {
  if (elementOf(value) == expected)
    return mlir::success();
  return op->emitOpError() << what << " has element type " << elementOf(value)
                           << ", expected " << expected;
}

/// Fails unless `dim` is a dimension of a tensor of rank `rank`.
inline mlir::LogicalResult expectDim(mlir::Operation *op, int64_t dim,
                                     size_t rank) {
  if (dim >= 0 && dim < int64_t(rank))
    return mlir::success();
  return op->emitOpError() << "dim is " << dim
                           << ", expected a dimension of a tensor of rank "
                           << rank;
}

/// Fails unless `dims` are distinct dimensions in [0, rank), increasing if
/// `sorted`.
inline mlir::LogicalResult expectDims(mlir::Operation *op, llvm::StringRef what,
                                      llvm::ArrayRef<int64_t> dims, size_t rank,
                                      bool sorted) {
  llvm::SmallBitVector seen(rank);
  int64_t last = -1;
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= int64_t(rank) || seen.test(dim) ||
        (sorted && dim <= last)) {
      mlir::InFlightDiagnostic diag = op->emitOpError() << what << " is ";
      appendShape(diag, dims) << ", expected distinct dimensions below " << rank
                              << (sorted ? " in increasing order" : "");
      return diag;
    }
    seen.set(dim);
    last = dim;
  }
  return mlir::success();
}

/// Fails unless 0 <= attr <= 1, or < 1.
inline mlir::LogicalResult expectFraction(mlir::Operation *op,
                                          llvm::StringRef what,
                                          const llvm::APFloat &attr,
                                          bool openAbove) {
  double value = attr.convertToDouble();
  if (value >= 0 && (openAbove ? value < 1 : value <= 1))
    return mlir::success();
  return op->emitOpError() << what << " is " << value
                           << ", expected 0 <= " << what
                           << (openAbove ? " < 1" : " <= 1");
}

/// Fails unless `tile` is one that codes of fp8 have scales of.
mlir::LogicalResult expectScaleTile(mlir::Operation *op,
                                    llvm::ArrayRef<int64_t> tile);
/// Fails unless `scales` has the type of scales of that layout.
mlir::LogicalResult expectScales(mlir::Operation *op, llvm::StringRef what,
                                 mlir::Value scales,
                                 const honert::ScaleLayout &layout);

/// Checks `origin` and `whole` of an op whose shapes and key are checked.
mlir::LogicalResult verifyRandomPart(RandomOpInterface op);

} // namespace hone

#endif // HONE_LIB_IR_SHAPECHECKS_H
