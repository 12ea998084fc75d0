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

} // namespace hone

#endif // HONE_LIB_CODEGEN_COMMON_ROPEPAIR_H
