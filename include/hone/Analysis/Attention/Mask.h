//===- Mask.h - What a mask of attention depends on -------------*- C++ -*-===//
//
// Masks are written in many ways: triangles of ones, comparisons of positions,
// choices between 0 and -inf. This analysis evaluates an expression for each
// pair of a query t and a key s as far as it is a linear form in t and s, or
// one value where s <= t and one where s > t.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_ATTENTION_MASK_H
#define HONE_ANALYSIS_ATTENTION_MASK_H

#include "hone/IR/Hone.h"

#include <optional>

namespace hone {

/// A value per pair: `key * s + query * t + offset`, or, with `isSplit`, `upTo`
/// where s <= t and `after` where s > t. Truth is 1 and 0.
struct PairValue {
  bool isSplit = false;
  int64_t query = 0, key = 0;
  double offset = 0.0;
  double upTo = 0.0, after = 0.0;

  static PairValue split(double upTo, double after);
  bool isConstant() const;
};

/// How `value`, of dimensions [.., T, S], depends on the pair; nothing when it
/// is of neither form, or depends on other dimensions.
std::optional<PairValue> evaluatePairs(mlir::Value value);

} // namespace hone

#endif // HONE_ANALYSIS_ATTENTION_MASK_H
