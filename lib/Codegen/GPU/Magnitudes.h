//===- Magnitudes.h - The largest of bits of magnitudes on a GPU *- C++ -*-===//
//
// Bits of |x| as an i32 without sign are ordered as magnitudes are, NaN above
// all, so that the largest does not depend on an order.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_GPU_MAGNITUDES_H
#define HONE_LIB_CODEGEN_GPU_MAGNITUDES_H

#include "Builder.h"

namespace hone::magnitude {

inline mlir::Value larger(DeviceBuilder &b, mlir::Value x, mlir::Value y) {
  return b.create<mlir::arith::MaxUIOp>(x, y);
}

/// The largest of the lanes whose numbers differ in the bits of `distances`.
inline mlir::Value largestOfLanes(DeviceBuilder &b, mlir::Value bits,
                                  llvm::ArrayRef<int64_t> distances) {
  for (int64_t distance : distances) {
    auto other = b.create<mlir::gpu::ShuffleOp>(
        bits, b.i32(distance), b.i32(warpSize), mlir::gpu::ShuffleMode::XOR);
    bits = larger(b, bits, other.getShuffleResult());
  }
  return bits;
}

/// Raises the f32 in memory, which is 0 at first, to the largest magnitude that
/// lanes of the warp have, all of which are here. It is read before: few warps
/// find a larger one, and what another has raised meanwhile is only larger.
inline void raiseByWarp(DeviceBuilder &b, mlir::Value bits,
                        mlir::Value address) {
  bits = largestOfLanes(b, bits, {16, 8, 4, 2, 1});
  b.emitIf(b.equal(b.lane(), 0), [&] {
    mlir::Value before = b.create<mlir::LLVM::LoadOp>(
        b.getI32Type(), address, /*alignment=*/4, /*isVolatile=*/false,
        /*isNonTemporal=*/false, /*isInvariant=*/false,
        mlir::LLVM::AtomicOrdering::monotonic);
    b.emitIf(b.less(before, bits), [&] {
      b.create<mlir::LLVM::AtomicRMWOp>(mlir::LLVM::AtomicBinOp::umax, address,
                                        bits,
                                        mlir::LLVM::AtomicOrdering::monotonic);
    });
  });
}

} // namespace hone::magnitude

#endif // HONE_LIB_CODEGEN_GPU_MAGNITUDES_H
