//===- GridKernel.h - What an emitter of device code returns ----*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_GRIDKERNEL_H
#define HONE_LIB_CODEGEN_GPU_GRIDKERNEL_H

#include "hone/IR/DeviceAttributes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace hone {

/// Lanes of a warp.
constexpr int64_t warpSize = 32;
/// Bytes of a thread's widest access of memory.
constexpr int64_t accessBytes = 16;

/// A kernel of a `gpu.module`, which takes the addresses of the launch's
/// inputs, outputs and scratch (docs/rationale/cuda-target.md), and the grid of
/// one dimension that it is launched with. Without blocks there is nothing to
/// do.
struct GridKernel {
  mlir::gpu::GPUFuncOp func;
  int64_t blocks;
  int64_t threads; ///< of a block, a multiple of warpSize
};

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_GRIDKERNEL_H
