//===- WindowTaps.h - Taps of windows, in vectors of channels ---*- C++ -*-===//
//
// Kernels over windows whose lanes are channels: an item is one position of
// the spatial dimensions that a loop goes over, and kernelLanes channels. The
// taps that exist at a position are a range per dimension, so that no tap
// costs a comparison, except where positions of the tensor that is read lie
// apart (`gap`).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_CPU_WINDOWTAPS_H
#define HONE_LIB_CODEGEN_CPU_WINDOWTAPS_H

#include "Codegen/Common/KernelBuilder.h"
#include "hone/IR/OpFacts.h"

namespace hone {

/// One spatial dimension of a window: tap k at position `at` reads position
/// `(at * step + k * dilation - low) / gap` of another tensor, if that is
/// whole and one of its `size` positions.
struct TapDim {
  int64_t taps, step, dilation, low, gap, size;

  /// What tap `k` reads at `at`, if it reads anything.
  std::optional<int64_t> read(int64_t at, int64_t k) const;
};

using TapDims = llvm::SmallVector<TapDim, 3>;

/// Positions of the output read an input of `sizes`.
TapDims tapsOfInput(const Window &window, llvm::ArrayRef<int64_t> sizes);
/// Positions of the input read an output of `sizes`; tap k is the window's last
/// but k.
TapDims tapsOfOutput(const Window &window, llvm::ArrayRef<int64_t> sizes);

/// Channels of one item: where they begin and which of them exist.
struct ChannelVector {
  mlir::Value first;
  mlir::Value mask; ///< null: all
};
ChannelVector channelVector(KernelBuilder &b, mlir::Value number,
                            int64_t channels);

/// A nest of loops over the taps of `dims` at a position, which count up or
/// `down`: the body receives the number of the tap, row-major over all `dims`,
/// that of the position it reads, row-major over their sizes, and the carried
/// values.
using TapBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::Value tap, mlir::Value read, mlir::ValueRange carried)>;
llvm::SmallVector<mlir::Value> loopOverTaps(KernelBuilder &b,
                                            llvm::ArrayRef<TapDim> dims,
                                            llvm::ArrayRef<mlir::Value> at,
                                            mlir::ValueRange carried,
                                            TapBody body, bool down = false);

/// `x * scale + offset`, without what is neutral.
mlir::Value affine(KernelBuilder &b, mlir::Value x, int64_t scale,
                   int64_t offset = 0);

/// Whether a launch is one op of its inputs, with contiguous buffers of
/// elements that a kernel of vectors computes in f32.
bool isVectorLaunch(plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_CPU_WINDOWTAPS_H
