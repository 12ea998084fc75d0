//===- Builder.h - Code of one thread of a GPU ------------------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_BUILDER_H
#define HONE_LIB_CODEGEN_GPU_BUILDER_H

#include "Threads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hone {

/// States that the kernel has at least so many accesses of 16 bytes.
void markVectorised(mlir::gpu::GPUFuncOp func, int64_t accesses);

/// Builder inside a kernel whose arguments are addresses. Offsets are numbers
/// of elements, as indices or integers without sign.
struct DeviceBuilder : mlir::ImplicitLocOpBuilder {
  DeviceBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : ImplicitLocOpBuilder(loc, builder), threads(*this, loc) {}

  /// Starts a kernel of so many addresses.
  mlir::gpu::GPUFuncOp begin(llvm::StringRef name, int64_t addresses,
                             int64_t blockThreads);

  mlir::Value index(int64_t value) {
    return create<mlir::arith::ConstantIndexOp>(value);
  }
  mlir::Value i32(int64_t value) {
    return create<mlir::arith::ConstantOp>(getI32IntegerAttr(int32_t(value)));
  }
  /// A number without sign as an index.
  mlir::Value asIndex(mlir::Value number) {
    return create<mlir::arith::IndexCastUIOp>(getIndexType(), number);
  }
  /// `value` as a constant of the type of `like`.
  mlir::Value number(mlir::Value like, int64_t value) {
    return create<mlir::arith::ConstantOp>(
        getIntegerAttr(like.getType(), value));
  }
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return create<mlir::arith::AddIOp>(a, b);
  }
  mlir::Value add(mlir::Value a, int64_t b) {
    return b == 0 ? a : add(a, number(a, b));
  }
  mlir::Value mul(mlir::Value a, int64_t b) {
    return b == 1 ? a : create<mlir::arith::MulIOp>(a, number(a, b));
  }
  mlir::Value less(mlir::Value a, mlir::Value b) {
    return create<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::ult, a, b);
  }
  mlir::Value less(mlir::Value a, int64_t b) { return less(a, number(a, b)); }
  mlir::Value equal(mlir::Value a, mlir::Value b) {
    return create<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::eq, a, b);
  }
  mlir::Value equal(mlir::Value a, int64_t b) { return equal(a, number(a, b)); }
  mlir::Value both(mlir::Value a, mlir::Value b) {
    return create<mlir::arith::AndIOp>(a, b);
  }
  /// Indices of element `linear` of a row-major shape; sizes of 1 give 0.
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value linear,
                                             llvm::ArrayRef<int64_t> shape);
  /// base + the sum of indices times strides.
  mlir::Value linearize(llvm::ArrayRef<mlir::Value> at,
                        llvm::ArrayRef<int64_t> strides, int64_t base = 0);
  /// Number of this thread in its warp, and among those of all blocks.
  mlir::Value lane();
  mlir::Value globalThread(int64_t blockThreads);
  /// Numbers of this thread and block: of 32 bits, whose arithmetic is cheaper,
  /// where `largest` fits.
  mlir::Value threadFor(int64_t largest);
  mlir::Value blockFor(int64_t largest);

  /// Elements of the widest vector of 16 bytes or less that divides `size`, and
  /// is aligned at these offsets in the arena.
  static int64_t lanesOf(mlir::Type element, int64_t size,
                         llvm::ArrayRef<int64_t> offsets);
  /// The address of the element at an offset: of `type`, or of its elements.
  mlir::Value place(mlir::Value address, mlir::Type type, mlir::Value offset);
  /// A scalar or vector in memory, aligned to its size up to 16 bytes.
  mlir::Value load(mlir::Value address, mlir::Type type);
  mlir::Value load(mlir::Value address, mlir::Type type, mlir::Value offset) {
    return load(place(address, type, offset), type);
  }
  /// The same where `condition` holds, else zeros.
  mlir::Value loadIf(mlir::Value condition, mlir::Value address,
                     mlir::Type type);
  mlir::Value loadIf(mlir::Value condition, mlir::Value address,
                     mlir::Type type, mlir::Value offset) {
    return loadIf(condition, place(address, type, offset), type);
  }
  void store(mlir::Value value, mlir::Value address);
  void store(mlir::Value value, mlir::Value address, mlir::Value offset) {
    store(value, place(address, value.getType(), offset));
  }

  void emitIf(mlir::Value condition, llvm::function_ref<void()> emit);
  void loop(mlir::Value from, mlir::Value to, int64_t step,
            llvm::function_ref<void(mlir::Value at)> body);
  /// The bits of the warp's lanes, all of which come here: an i32.
  mlir::Value ballot(mlir::Value bit);
  /// What `next` makes of `start`, for every `step`th number of [from, to).
  mlir::Value
  sum(mlir::Value from, mlir::Value to, int64_t step, mlir::Value start,
      llvm::function_ref<mlir::Value(mlir::Value at, mlir::Value before)> next);

  DeviceThreads threads;
};

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_BUILDER_H
