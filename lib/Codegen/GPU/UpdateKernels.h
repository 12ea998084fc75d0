//===- UpdateKernels.h - Updates of parameters on a GPU ---------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_UPDATEKERNELS_H
#define HONE_LIB_CODEGEN_GPU_UPDATEKERNELS_H

#include "GridKernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// The kernel of a launch of updates (OptimizerKernels.h says of which), inside
/// the `gpu.module` at the builder. The argument is the address of the arena.
///
/// A block updates a run of elements of one tensor, and neighbouring threads
/// have neighbouring vectors: of 16 bytes where the widest elements are, of
/// less where a tensor begins elsewhere. What no vector holds at a tensor's end
/// is updated element by element. Every element has the bits of the CPU's.
/// Updates with state in codes have a thread per block of codes instead.
mlir::FailureOr<GridKernel> emitDeviceUpdates(mlir::OpBuilder &builder,
                                              llvm::StringRef name,
                                              plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_UPDATEKERNELS_H
