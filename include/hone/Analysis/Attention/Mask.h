//===- Mask.h - What a mask of attention depends on -------------*- C++ -*-===//
//
// Masks are written in many ways: triangles of ones, comparisons of positions,
// choices between 0 and -inf. This analysis evaluates an expression for each
// pair of a query t and a key s as far as it is a linear form in t and s, or
// one value where s <= t and one where s > t. Ids of documents depend on the
// data; those that a mask compares are found
// (docs/rationale/packed-documents.md).
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

/// The pairs of equal ids, and if `causal` of keys up to the query's position.
struct VisiblePairs {
  bool causal = false;
  mlir::Value ids;       ///< of integers
  int64_t position = -1; ///< the dimension of `ids` that counts positions
  int64_t batch = -1;    ///< that of the batch; -1: ids are for all rows
};

/// The pairs that `keep`, of i1 and dimensions [.., T, S], shows, or hides if
/// not `keepWhenTrue`; nothing unless it compares ids, and says no more.
std::optional<VisiblePairs> findVisiblePairs(mlir::Value keep,
                                             bool keepWhenTrue);
/// The pairs where `mask`, of floats, is 0; elsewhere it is `lowest` or less.
std::optional<VisiblePairs> findVisiblePairs(mlir::Value mask, double lowest);

/// Whether `mask`, of floats, is -inf for each key after its query, whatever it
/// is for others: a window of positions.
bool hidesLaterKeys(mlir::Value mask);

} // namespace hone

#endif // HONE_ANALYSIS_ATTENTION_MASK_H
