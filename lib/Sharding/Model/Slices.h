//===- Slices.h - Parts of a dimension, and parts side by side --*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_MODEL_SLICES_H
#define HONE_LIB_SHARDING_MODEL_SLICES_H

#include "hone/IR/Hone.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hone::dist {

/// The positions [begin, end) of dimension `dim`; `value` where these are all.
inline mlir::Value sliceOf(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                           int64_t dim, int64_t begin, int64_t end) {
  auto type = mlir::cast<mlir::RankedTensorType>(value.getType());
  if (end - begin == type.getDimSize(dim))
    return value;
  llvm::SmallVector<int64_t> shape(type.getShape()),
      limits = shape, starts(shape.size(), 0), strides(shape.size(), 1);
  starts[dim] = begin;
  limits[dim] = end;
  shape[dim] = end - begin;
  return b.create<SliceOp>(type.clone(shape), value, starts, limits, strides);
}

/// `parts` side by side along dimension `dim`; the only one as it is.
inline mlir::Value concatOf(mlir::ImplicitLocOpBuilder &b,
                            llvm::ArrayRef<mlir::Value> parts, int64_t dim) {
  if (parts.size() == 1)
    return parts.front();
  auto type = mlir::cast<mlir::RankedTensorType>(parts.front().getType());
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape[dim] = 0;
  for (mlir::Value part : parts)
    shape[dim] +=
        mlir::cast<mlir::RankedTensorType>(part.getType()).getDimSize(dim);
  return b.create<ConcatOp>(type.clone(shape), parts, dim);
}

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_MODEL_SLICES_H
