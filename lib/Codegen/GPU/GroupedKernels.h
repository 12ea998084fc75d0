//===- GroupedKernels.h - Products of groups of rows on a GPU ---*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_GROUPEDKERNELS_H
#define HONE_LIB_CODEGEN_GPU_GROUPEDKERNELS_H

#include "GridKernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// Emits the kernel of a launch of one product of groups: with tensor cores
/// where GroupedTiles has tiles for it, else the generic one, a thread for each
/// element.
mlir::FailureOr<GridKernel> emitDeviceGrouped(mlir::OpBuilder &builder,
                                              llvm::StringRef name,
                                              plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_GROUPEDKERNELS_H
