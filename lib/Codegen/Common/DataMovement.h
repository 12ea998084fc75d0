//===- DataMovement.h - Where moved elements come from ----------*- C++ -*-===//
//
// What the emitters of moves for a CPU and for a GPU have in common: every
// move is a set of runs, elements that are neighbours both before and after.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_COMMON_DATAMOVEMENT_H
#define HONE_LIB_CODEGEN_COMMON_DATAMOVEMENT_H

#include "hone/Plan/Plan.h"

#include <optional>

namespace hone {

/// The op of a launch that is one transpose, slice, pad or concat of contiguous
/// buffers with elements, and not of a scalar; otherwise null.
mlir::Operation *movedBy(plan::LaunchOp launch);

/// A dimension of the result (row-major, dense) and the distance of neighbours
/// along it in the source.
struct MoveDim {
  int64_t size, stride;
};

/// Elements of the result come from the source at `base` plus indices times
/// strides.
struct StridedMove {
  /// Without dimensions of size 1, and with neighbours merged where one stride
  /// walks both; at least one.
  llvm::SmallVector<MoveDim> dims;
  int64_t base;

  /// The dimension along which the source is contiguous.
  std::optional<unsigned> innerDim() const;
  llvm::SmallVector<int64_t> sizes() const;
};

/// The move of a transpose or slice.
StridedMove stridedMove(mlir::Operation *op);

/// Elements from one index to the next along each dimension of a dense tensor.
llvm::SmallVector<int64_t> denseStrides(llvm::ArrayRef<int64_t> shape);

} // namespace hone

#endif // HONE_LIB_CODEGEN_COMMON_DATAMOVEMENT_H
