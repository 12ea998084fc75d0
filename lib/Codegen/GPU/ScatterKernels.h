//===- ScatterKernels.h - Sums of rows by id on a GPU -----------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_SCATTERKERNELS_H
#define HONE_LIB_CODEGEN_GPU_SCATTERKERNELS_H

#include "GridKernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// The kernels of a launch of one `hone.embedding_bwd`, or of that and a
/// `hone.add` of an input, on contiguous buffers. The launch has the scratch of
/// a TokenSort. First: tokens are sorted by their ids, a block per bucket.
/// Tokens whose id is no row are left out.
mlir::FailureOr<GridKernel> emitDeviceScatterSort(mlir::OpBuilder &builder,
                                                  llvm::StringRef name,
                                                  plan::LaunchOp launch);
/// Then: each row becomes the input's, or 0, plus the gradients of its tokens,
/// added in increasing order and in f32 (f64), and is rounded once. There are
/// no atomics on floats: two runs give the same bits, which are those of the
/// CPU.
mlir::FailureOr<GridKernel> emitDeviceScatterSums(mlir::OpBuilder &builder,
                                                  llvm::StringRef name,
                                                  plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_SCATTERKERNELS_H
