//===- SelectionKernels.h - Orders and placed elements ----------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_SELECTIONKERNELS_H
#define HONE_LIB_CODEGEN_GPU_SELECTIONKERNELS_H

#include "GridKernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// One of the kernels of a launch of family line, by what it does; "" is the
/// last.
struct LineStage {
  llvm::StringRef name;
  mlir::FailureOr<GridKernel> (*emit)(mlir::OpBuilder &, llvm::StringRef,
                                      plan::LaunchOp);
};

/// The kernels of a launch of family line, in order. The results have the bits
/// that a CPU's have.
///
/// - An argsort, topk or put_along of lines that have a LineSort, whose scratch
///   the launch has: emitLineTiles, then emitLineRanks if there are several
///   tiles; of a put_along emitSortedPuts besides.
/// - Of shorter lines: emitShortOrder, emitShortPuts.
/// - An update_slice: emitReplacedElements.
mlir::FailureOr<llvm::SmallVector<LineStage, 3>>
lineStages(plan::LaunchOp launch);

/// A block sorts a tile of a line, by key and place, in shared memory.
mlir::FailureOr<GridKernel> emitLineTiles(mlir::OpBuilder &builder,
                                          llvm::StringRef name,
                                          plan::LaunchOp launch);
/// An element of a tile comes behind those that come before it in all tiles of
/// its line: warps share these.
mlir::FailureOr<GridKernel> emitLineRanks(mlir::OpBuilder &builder,
                                          llvm::StringRef name,
                                          plan::LaunchOp launch);
/// The updates of a place are neighbours among the sorted ids. A thread
/// combines them in their order. Where a place has many, a block does: of a sum
/// of floats, whose order counts, a warp whose lanes load them.
mlir::FailureOr<GridKernel> emitSortedPuts(mlir::OpBuilder &builder,
                                           llvm::StringRef name,
                                           plan::LaunchOp launch);
/// A thread per element passes over its line, of a put_along one per element of
/// the result.
mlir::FailureOr<GridKernel> emitShortOrder(mlir::OpBuilder &builder,
                                           llvm::StringRef name,
                                           plan::LaunchOp launch);
mlir::FailureOr<GridKernel> emitShortPuts(mlir::OpBuilder &builder,
                                          llvm::StringRef name,
                                          plan::LaunchOp launch);
/// A thread per element of an update_slice's update.
mlir::FailureOr<GridKernel> emitReplacedElements(mlir::OpBuilder &builder,
                                                 llvm::StringRef name,
                                                 plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_SELECTIONKERNELS_H
