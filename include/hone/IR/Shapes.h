//===- Shapes.h - Shapes of values ------------------------------*- C++ -*-===//

#ifndef HONE_IR_SHAPES_H
#define HONE_IR_SHAPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace hone {

/// The shape of a tensor, vector or memref.
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return mlir::cast<mlir::ShapedType>(value.getType()).getShape();
}

/// The type of its elements.
inline mlir::Type elementOf(mlir::Value value) {
  return mlir::getElementTypeOrSelf(value.getType());
}

/// The type of a tensor of `shape` with elements like those of `value`.
inline mlir::RankedTensorType withShape(mlir::Value value,
                                        llvm::ArrayRef<int64_t> shape) {
  return mlir::RankedTensorType::get(
      shape, mlir::getElementTypeOrSelf(value.getType()));
}

} // namespace hone

#endif // HONE_IR_SHAPES_H
