//===- StateCode.h - Optimizer state in codes of 8 bits ---------*- C++ -*-===//
//
// Dynamic tree quantization (Dettmers et al., "8-bit optimizers via block-wise
// quantization", ICLR 2022): the position of a code's first bit says the
// decade, the bits below divide it evenly. See hone.adamw_8bit.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_IR_STATECODE_H
#define HONE_IR_STATECODE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace hone {

/// Elements of a row that share a scale.
constexpr int64_t stateBlock = 256;
/// Blocks whose largest magnitude is below have scale 0: its reciprocal would
/// be infinite.
constexpr double smallestStateScale = 0x1p-126;

/// Blocks of rows of `width` elements, each.
inline int64_t stateBlocks(int64_t width) {
  return (width + stateBlock - 1) / stateBlock;
}
/// Shape of the scales of state of `shape`, which has rank 1 or more.
llvm::SmallVector<int64_t> stateScaleShape(llvm::ArrayRef<int64_t> shape);

/// The code of first moments, which have a sign, or of second, which have none.
struct StateCode {
  bool isSigned;

  static constexpr int decades = 7;
  /// Values in a decade, and the code of the first of them.
  int levels(int decade) const { return (isSigned ? 1 : 2) << decade; }
  int first(int decade) const { return levels(decade) - (isSigned ? 0 : 1); }
  /// The code of 1, the greatest.
  int top() const { return isSigned ? 128 : 255; }
  /// A code's value is `slope * code + offset` in the decade of its magnitude.
  double slope(int decade) const;
  double offset(int decade) const;
  /// From here on, up to the next one, magnitudes are nearest to values of this
  /// decade; the next after the last is that of 1.
  double threshold(int decade) const;

  /// The value of a code, and the code of a number divided by its scale.
  double decode(int8_t code) const;
  int8_t encode(double value) const;
};

constexpr StateCode firstMomentCode = {true}, secondMomentCode = {false};

} // namespace hone

#endif // HONE_IR_STATECODE_H
