//===- Masks.h - Elements that padding hides --------------------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_COMMON_MASKS_H
#define HONE_LIB_TRANSFORMS_COMMON_MASKS_H

#include "hone/IR/Hone.h"

namespace hone {

/// i1 in the shape of `like`: the index along `dim` is below `size`.
mlir::Value isAmongFirst(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::RankedTensorType like, int64_t dim,
                         int64_t size);

/// `value` where the index along `dim` is below `size`, `fill` elsewhere.
mlir::Value keepFirst(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, int64_t dim, int64_t size,
                      double fill);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_COMMON_MASKS_H
