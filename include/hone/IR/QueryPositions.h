//===- QueryPositions.h - Where queries of attention stand ------*- C++ -*-===//
//
// Attention counts the positions of its queries from the first one. If ranks
// divide them, each is told where its runs begin: an operand of `mask`
// (docs/rationale/context-parallel.md).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_IR_QUERYPOSITIONS_H
#define HONE_IR_QUERYPOSITIONS_H

#include "hone/IR/Hone.h"

#include <optional>

namespace hone {

/// Of the operands of `mask`, the positions among the keys at which runs of
/// queries begin, tensor<Rxi64>; null: query 0 is at key 0.
mlir::Value firstPositions(mlir::ValueRange masks);

/// Runs of queries of an attention with these operands of `mask`.
int64_t countRuns(mlir::ValueRange masks);

/// A factor of which every iteration counts its position from the first one.
struct CountedFactor {
  unsigned factor;
  FactorKind kind; ///< once the op is told where the runs of a part begin
};
/// The counted factor of `op`; none where it is told already, or counts none.
std::optional<CountedFactor> countedFactorOf(mlir::Operation *op);

} // namespace hone

#endif // HONE_IR_QUERYPOSITIONS_H
