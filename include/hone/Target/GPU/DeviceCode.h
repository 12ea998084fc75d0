//===- DeviceCode.h - Code for a GPU ----------------------------*- C++ -*-===//
//
// From the llvm and nvvm dialects to PTX, which drivers of any later GPU
// compile. No toolkit and no GPU take part.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGET_GPU_DEVICECODE_H
#define HONE_TARGET_GPU_DEVICECODE_H

#include "hone/IR/DeviceAttributes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace hone {

/// A GPU, and the architecture that its PTX is written for: the newest one
/// known here that is not newer than the GPU.
struct DeviceTarget {
  int64_t arch;         ///< of the GPU: 80, 90, 100, ...
  std::string chip;     ///< of the PTX, as LLVM names it: "sm_80", "sm_90"
  std::string features; ///< version of PTX: "+ptx78"
};

/// The GPU of architecture `arch`, "sm_80" to "sm_121"; an unknown one is an
/// error that lists those which are accepted.
llvm::Expected<DeviceTarget> selectDevice(llvm::StringRef arch);

/// Code generator for `device`: without contraction of multiplications and
/// additions, as on the CPU.
std::unique_ptr<llvm::TargetMachine>
createDeviceMachine(const DeviceTarget &device);

/// LLVM IR of a lowered module (hone-lower-device-code), optimised: what PTX is
/// made from, and the emulation. Kernels keep their names; an error if one is
/// no name in PTX, if one has more than 48 KiB of shared memory or 1024 threads
/// in a block, or if a function is called that is not there.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateDevice(mlir::gpu::GPUModuleOp module, const DeviceTarget &device,
                llvm::LLVMContext &context);

/// A kernel in LLVM IR.
struct DeviceKernel {
  llvm::Function *function;
  int64_t maxThreads; ///< of a block; 0: not stated
};

/// The kernels of a translated module, in order.
llvm::SmallVector<DeviceKernel> getKernels(const llvm::Module &module);

/// PTX of a translated module, which stays as it is. An error if it calls
/// anything that is not in it, or if a kernel has fewer accesses of 16 bytes to
/// global memory than its `attr::vectorised` says.
llvm::Expected<std::string> emitPtx(llvm::Module &module,
                                    const DeviceTarget &device);

} // namespace hone

#endif // HONE_TARGET_GPU_DEVICECODE_H
