//===- DeviceBuilder.h - Code of one thread of a GPU ------------*- C++ -*-===//

#ifndef HONE_LIB_CONVERSION_DEVICEBUILDER_H
#define HONE_LIB_CONVERSION_DEVICEBUILDER_H

#include "DeviceThreads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hone {

/// Builder inside a kernel whose arguments are addresses. Offsets are numbers
/// of elements, as indices.
struct DeviceBuilder : mlir::ImplicitLocOpBuilder {
  DeviceBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : ImplicitLocOpBuilder(loc, builder), threads(*this, loc) {}

  /// Starts a kernel of so many addresses.
  mlir::gpu::GPUFuncOp begin(llvm::StringRef name, int64_t addresses,
                             int64_t blockThreads);

  mlir::Value index(int64_t value) {
    return create<mlir::arith::ConstantIndexOp>(value);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return create<mlir::arith::AddIOp>(a, b);
  }
  mlir::Value mul(mlir::Value a, int64_t b) {
    return create<mlir::arith::MulIOp>(a, index(b));
  }
  mlir::Value less(mlir::Value a, int64_t b) {
    return create<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::ult, a,
                                       index(b));
  }
  /// Number of this thread in its warp, and among those of all blocks.
  mlir::Value lane();
  mlir::Value globalThread(int64_t blockThreads);

  /// Elements of the widest vector of 16 bytes or less that divides `size`, and
  /// is aligned at these offsets in the arena.
  static int64_t lanesOf(mlir::Type element, int64_t size,
                         llvm::ArrayRef<int64_t> offsets);
  /// A scalar or vector in memory, aligned to its size.
  mlir::Value load(mlir::Value address, mlir::Type type, mlir::Value offset);
  /// The same where `condition` holds, else zeros.
  mlir::Value loadIf(mlir::Value condition, mlir::Value address,
                     mlir::Type type, mlir::Value offset);
  void store(mlir::Value value, mlir::Value address, mlir::Value offset);

  void emitIf(mlir::Value condition, llvm::function_ref<void()> emit);
  /// What `next` makes of `start`, for every `step`th number of [from, to).
  mlir::Value
  sum(mlir::Value from, mlir::Value to, int64_t step, mlir::Value start,
      llvm::function_ref<mlir::Value(mlir::Value at, mlir::Value before)> next);

  DeviceThreads threads;

private:
  mlir::Value place(mlir::Value address, mlir::Type type, mlir::Value offset);
};

} // namespace hone

#endif // HONE_LIB_CONVERSION_DEVICEBUILDER_H
