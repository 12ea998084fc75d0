//===- Effects.h - What padding of a dimension changes ----------*- C++ -*-===//
//
// If the dimensions of one class grow by padding at their ends, which values
// hold zeros there, and where would the padding be seen? The padding pass puts
// masks there; its verifier finds none missing.
//
// Gradients need no analysis of their own: where every contraction and sum over
// the class reads zeros and every derivative at the padding is finite, the
// cotangent of every value is zero there, by induction from the loss backwards,
// which has no such dimension. Zero parameters then get zero gradients.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_PADDING_EFFECTS_H
#define HONE_ANALYSIS_PADDING_EFFECTS_H

#include "hone/Analysis/Padding/DimensionClasses.h"

#include <string>

namespace hone {

/// An operand that must hold `fill` at the padding of one of its dimensions.
struct PadMask {
  mlir::OpOperand *use;
  unsigned dim;
  double fill;
};

/// How the padding of one class is seen.
struct PaddingEffects {
  llvm::SmallVector<PadMask> masks;
  /// Row ops that must take the size as their `width`.
  llvm::SmallVector<WidthOpInterface> widths;
  /// Why the class cannot be padded, and where; empty: it can.
  std::string refusal;
  mlir::Operation *refuser = nullptr;
};

/// The effects of padding class `id` behind its first `size` elements. Masks
/// and widths for this size that are there already are not listed.
PaddingEffects findPaddingEffects(const DimensionClasses &classes, unsigned id,
                                  int64_t size);

} // namespace hone

#endif // HONE_ANALYSIS_PADDING_EFFECTS_H
