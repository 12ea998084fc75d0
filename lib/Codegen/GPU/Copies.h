//===- Copies.h - Copies in wide accesses on a GPU --------------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_COPIES_H
#define HONE_LIB_CODEGEN_GPU_COPIES_H

#include "Builder.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// Elements that a thread moves at once, as bits.
struct CopyUnit {
  /// The most elements of `bytes` each, 16 bytes or less, of which each of
  /// `numbers` is a multiple, and that are aligned in the arena at `offsets`.
  static CopyUnit widest(int64_t bytes, llvm::ArrayRef<int64_t> numbers,
                         llvm::ArrayRef<int64_t> offsets);

  int64_t bytes; ///< of an element
  int64_t lanes;

  bool isWide() const { return bytes * lanes == accessBytes; }
  mlir::Type element(mlir::MLIRContext *context) const;
  mlir::Type type(mlir::MLIRContext *context) const;

  /// Loads (zeros where `condition`, unless null, does not hold) and stores the
  /// unit that begins at an element.
  mlir::Value load(DeviceBuilder &b, mlir::Value address, mlir::Value offset,
                   mlir::Value condition) const;
  void store(DeviceBuilder &b, mlir::Value unit, mlir::Value address,
             mlir::Value offset) const;
  /// The elements of a unit, and back.
  llvm::SmallVector<mlir::Value> split(DeviceBuilder &b,
                                       mlir::Value unit) const;
  mlir::Value join(DeviceBuilder &b, llvm::ArrayRef<mlir::Value> parts) const;
};

/// Where a unit of the result comes from: nowhere, if `condition` is not null
/// and false, which gives zeros.
struct CopySource {
  mlir::Value address, offset;
  mlir::Value condition = {};
};

/// Emits a kernel of the launch that writes its first output, which is
/// contiguous, unit by unit from what `sourceOf` gives for a unit's number.
/// `largest` is more than any offset into source or result.
GridKernel
emitUnitCopies(DeviceBuilder &b, llvm::StringRef name, plan::LaunchOp launch,
               CopyUnit unit, int64_t largest,
               llvm::function_ref<CopySource(mlir::gpu::GPUFuncOp func,
                                             mlir::Value number)>
                   sourceOf);

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_COPIES_H
