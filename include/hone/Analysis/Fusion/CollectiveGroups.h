//===- CollectiveGroups.h - Collectives among groups ------------*- C++ -*-===//

#ifndef HONE_ANALYSIS_FUSION_COLLECTIVEGROUPS_H
#define HONE_ANALYSIS_FUSION_COLLECTIVEGROUPS_H

#include "hone/IR/Hone.h"

namespace hone {

/// The op of dialect `dist` that a group of family `collective` holds; null for
/// other ops.
mlir::Operation *collectiveIn(mlir::Operation *group);

/// Whether a group waits for a collective that has begun.
bool endsCollective(FusedOp group);

/// Of a collective that only begins (`async`), the group that waits for it;
/// null where it is done at once.
FusedOp waitFor(FusedOp begin);

/// Results of collectives that are there early at a time: the one that is read
/// and the next.
constexpr int mostEarlyResults = 2;

/// Bytes of the largest result of a collective in `func`; 0 without one.
int64_t largestCollectiveResult(mlir::func::FuncOp func);

} // namespace hone

#endif // HONE_ANALYSIS_FUSION_COLLECTIVEGROUPS_H
