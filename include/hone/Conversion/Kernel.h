//===- Kernel.h - What an emitter returns -----------------------*- C++ -*-===//

#ifndef HONE_CONVERSION_KERNEL_H
#define HONE_CONVERSION_KERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hone {

/// Elements of the vectors that CPU kernels are written on. It is part of the
/// meaning of a sum (docs/design.md, Kernels), not of the machine.
constexpr int64_t kernelLanes = 16;

/// A function `(inputs..., outputs..., scratch..., lo, hi)` that computes work
/// items [lo, hi) of [0, items); results do not depend on how the items are
/// split. `grain` is the least number of items worth a thread.
struct Kernel {
  mlir::func::FuncOp func;
  int64_t items;
  int64_t grain;
};

/// Type of the argument for a buffer of `type`: the same, but with strides
/// spelled out where the buffer is empty. Row-major strides of an empty buffer
/// are zeros, with which MLIR 19 cannot lower a function.
mlir::MemRefType kernelArgumentType(mlir::MemRefType type);

} // namespace hone

#endif // HONE_CONVERSION_KERNEL_H
