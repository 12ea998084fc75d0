//===- Items.h - Kernels of work items on a GPU -----------------*- C++ -*-===//
//
// A kernel that computes work items in any order (Kernel.h) runs on a GPU as it
// is: a thread per item. One that serves a table of tensors gets a thread per
// slice of a tensor, and the table as constants beside it.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_GPU_ITEMS_H
#define HONE_LIB_CODEGEN_GPU_ITEMS_H

#include "Codegen/Common/Kernel.h"
#include "GridKernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// Turns `kernel`, a function inside a `gpu.module`, into a kernel of the same
/// name, which takes its place. The arguments are its buffers.
GridKernel emitItems(mlir::OpBuilder &builder, Kernel kernel);

/// The same for a kernel with a table: the argument is the address of the
/// arena, in which buffer `i` of the launch lies at `offsets[i]`.
GridKernel emitTableItems(mlir::OpBuilder &builder, Kernel kernel,
                          llvm::ArrayRef<int64_t> offsets);

/// The same for a kernel whose [lo, hi) the `threads` of a block compute
/// together, and whose buffers are addresses: a block has a chunk of a tensor.
GridKernel emitTableBlocks(mlir::OpBuilder &builder, Kernel kernel,
                           llvm::ArrayRef<int64_t> offsets, int64_t threads);

/// Where the blocks of a kernel find the tensor that they serve.
class DeviceTable {
public:
  /// Puts the table beside `func`; a block serves `perBlock` elements of one
  /// tensor. `offsets` as above.
  DeviceTable(mlir::OpBuilder &builder, mlir::gpu::GPUFuncOp func,
              const TensorTable &table, int64_t perBlock,
              llvm::ArrayRef<int64_t> offsets);

  /// Blocks of all tensors.
  int64_t blocks() const { return firsts.back(); }
  /// Number of the tensor that `block` (an index) serves.
  mlir::Value findTensor(mlir::Value block);
  /// The block's number among those of its tensor.
  mlir::Value blockOfTensor(mlir::Value block, mlir::Value tensor);
  /// Elements of a tensor, and the number its kernel gets, as indices.
  mlir::Value size(mlir::Value tensor);
  mlir::Value tag(mlir::Value tensor);
  /// The address of one of its buffers, by the number of the kernel's argument.
  mlir::Value address(mlir::Value arena, mlir::Value tensor, int64_t argument);

private:
  mlir::Value element(mlir::Value array, mlir::Value number);
  mlir::Value array(llvm::StringRef name, llvm::ArrayRef<int64_t> values);

  mlir::OpBuilder &builder;
  mlir::gpu::GPUFuncOp func;
  mlir::Location loc;
  int64_t arguments; ///< buffers of a tensor
  llvm::SmallVector<int64_t> firsts;
  mlir::Value firstArray, sizeArray, tagArray, offsetArray;
};

/// Where the buffers of a launch lie in the arena, in order.
llvm::SmallVector<int64_t> arenaOffsets(plan::LaunchOp launch);

/// The memory at `address` as a buffer of static shape.
mlir::Value bufferAt(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value address, mlir::MemRefType type);

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_ITEMS_H
