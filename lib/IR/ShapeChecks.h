//===- ShapeChecks.h - What verifiers say about shapes ----------*- C++ -*-===//

#ifndef HONE_LIB_IR_SHAPECHECKS_H
#define HONE_LIB_IR_SHAPECHECKS_H

#include "hone/IR/Hone.h"

namespace hone {

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

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
                                       llvm::ArrayRef<int64_t> wanted) {
  if (!value || shapeOf(value) == wanted)
    return mlir::success();
  mlir::InFlightDiagnostic diag = op->emitOpError() << what << " has shape ";
  appendShape(diag, shapeOf(value)) << ", expected ";
  return appendShape(diag, wanted);
}

} // namespace hone

#endif // HONE_LIB_IR_SHAPECHECKS_H
