//===- Reductions.h - Sums of columns and of lines on a GPU -----*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_REDUCTIONS_H
#define HONE_LIB_CODEGEN_GPU_REDUCTIONS_H

#include "Builder.h"
#include "hone/Plan/Plan.h"

#include <optional>

namespace hone {

/// The kernel of a launch of one reduction of contiguous buffers that leaves
/// the last dimension: a thread makes a vector of the result, and has the bits
/// of the CPU's. None for another launch.
std::optional<GridKernel> emitColumnReduction(DeviceBuilder &b,
                                              llvm::StringRef name,
                                              plan::LaunchOp launch);

/// The kernel of a launch of one cumsum of an input along a line that a thread
/// would walk for long: a warp loads 128 elements of a line at once and adds
/// them one after the other, as a CPU does. None for another launch.
std::optional<GridKernel>
emitRunningSums(DeviceBuilder &b, llvm::StringRef name, plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_REDUCTIONS_H
