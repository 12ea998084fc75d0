//===- Kernel.h - What an emitter returns -----------------------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_COMMON_KERNEL_H
#define HONE_LIB_CODEGEN_COMMON_KERNEL_H

#include "hone/Analysis/Layout/KernelLanes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace hone {

/// The tensors that one kernel serves, one after the other. Each is cut into
/// chunks of `chunk` elements, the last of which may be shorter; a chunk is a
/// work item.
struct TensorTable {
  struct Tensor {
    int64_t size; ///< elements
    /// Number that the kernel gets for this tensor.
    int64_t tag;
    /// The buffer of the launch for each buffer argument of the kernel.
    llvm::SmallVector<int32_t> buffers;
  };
  int64_t chunk = 0;
  llvm::SmallVector<Tensor> tensors;
  /// Ranges of elements may begin at multiples of this, which divides a chunk,
  /// and give the same results.
  int64_t slice = 0;

  /// Chunks of all tensors.
  int64_t items() const;
  /// Elements of the largest tensor.
  int64_t largest() const;
};

/// A function `(inputs..., outputs..., scratch..., lo, hi)` that computes work
/// items [lo, hi) of [0, items); results do not depend on how the items are
/// split. `grain` is the least number of items worth a thread.
///
/// With a table of tensors it is `(buffers of one tensor..., tag, lo, hi)`
/// instead, for the elements [lo, hi) of that tensor, where lo begins a slice:
/// the entry finds out which tensors the items belong to.
struct Kernel {
  mlir::func::FuncOp func;
  int64_t items;
  int64_t grain;
  TensorTable table = {};
};

/// Declares what the runtime calls for items of `kernel`,
/// `@<kernel>_entry(buffers, lo, hi)`; hone-bind-kernels defines it.
mlir::LLVM::LLVMFuncOp declareEntry(mlir::OpBuilder &builder,
                                    const Kernel &kernel);

/// Type of the argument for a buffer of `type`: the same, but with strides
/// spelled out where the buffer is empty. Row-major strides of an empty buffer
/// are zeros, with which MLIR 19 cannot lower a function.
mlir::MemRefType kernelArgumentType(mlir::MemRefType type);

} // namespace hone

#endif // HONE_LIB_CODEGEN_COMMON_KERNEL_H
