//===- LowerToDevice.h - From the plan to kernels of a GPU ------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_LOWERTODEVICE_H
#define HONE_LIB_CODEGEN_GPU_LOWERTODEVICE_H

#include "hone/Plan/Plan.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone {

/// hone-lower-to-kernels for a GPU: the program of `module` becomes a
/// `gpu.module` of kernels and the description of their launches. Errors are
/// reported.
mlir::LogicalResult lowerToDevice(mlir::ModuleOp module);

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_LOWERTODEVICE_H
