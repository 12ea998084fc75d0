//===- CollectiveGroups.h - Collectives among groups ------------*- C++ -*-===//

#ifndef HONE_ANALYSIS_FUSION_COLLECTIVEGROUPS_H
#define HONE_ANALYSIS_FUSION_COLLECTIVEGROUPS_H

#include "hone/IR/Hone.h"

namespace hone {

/// The op of dialect `dist` that a group of family `collective` holds; null for
/// other ops.
mlir::Operation *exchangeIn(mlir::Operation *group);

/// Whether a group waits for a collective that has begun.
bool endsCollective(GroupOp group);

/// Of a collective that only begins (`async`), the group that waits for it;
/// null where it is done at once.
GroupOp waitFor(GroupOp begin);

} // namespace hone

#endif // HONE_ANALYSIS_FUSION_COLLECTIVEGROUPS_H
