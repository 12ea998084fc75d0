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

} // namespace hone::magnitude

#endif // HONE_LIB_CODEGEN_GPU_MAGNITUDES_H
