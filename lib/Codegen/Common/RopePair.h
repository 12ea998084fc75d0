//===- RopePair.h - What a rotary embedding computes ------------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_COMMON_ROPEPAIR_H
#define HONE_LIB_CODEGEN_COMMON_ROPEPAIR_H

#include "hone/Plan/Plan.h"

#include <utility>

namespace hone {

/// The op of a launch of one `hone.rope` of inputs with contiguous rows;
/// another launch is an error at it.
mlir::FailureOr<RopeOp> readRope(plan::LaunchOp launch);

/// The pairs (x, y), scalars or vectors of what is computed with, turned by
/// `op`, given cosines c and sines s.
std::pair<mlir::Value, mlir::Value> turnPair(mlir::OpBuilder &builder,
                                             RopeOp op, mlir::Value x,
                                             mlir::Value y, mlir::Value c,
                                             mlir::Value s);

/// Lanes of a vector whose neighbours are pairs: those of the first and of the
/// second of each pair, and for each lane where it lies in all first, followed
/// by all second.
struct NeighbourLanes {
  explicit NeighbourLanes(int64_t pairs) {
    for (int64_t pair = 0; pair < pairs; ++pair) {
      even.push_back(2 * pair);
      odd.push_back(2 * pair + 1);
      joined.append({pair, pairs + pair});
    }
  }

  llvm::SmallVector<int64_t> even, odd, joined;
};

} // namespace hone

#endif // HONE_LIB_CODEGEN_COMMON_ROPEPAIR_H
