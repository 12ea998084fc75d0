//===- FusionGroups.h - Which ops share a kernel ----------------*- C++ -*-===//
//
// The decision behind hone-fuse-groups, over one block of primitive ops. It
// reads IR and changes nothing.
//
// Anchors (contractions with their epilogue, attention, gathers, moves,
// multi-tensor ops) cut the graph into regions: the depth of an op is the
// largest number of anchors on a path to it, and no path between two ops of
// equal depth goes through an anchor. Inside a region, ops join greedily along
// edges and shared operands where one row space holds them (RowSpace.h) and no
// cycle arises (docs/rationale/fusion.md).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_FUSIONGROUPS_H
#define HONE_ANALYSIS_FUSIONGROUPS_H

#include "hone/IR/Hone.h"

namespace hone {

/// Ops of one kernel or library call, in program order.
struct FusionGroup {
  KernelFamily family;
  llvm::SmallVector<mlir::Operation *> ops;
};

/// Groups of the block, in an order in which they can run. Views (reshapes,
/// slices read with strides, concatenations written in place) are in none.
llvm::SmallVector<FusionGroup> planFusion(mlir::Block &block);

/// A value computed from narrow data alone by a few ops (splats, index
/// counters, repeated vectors and maps of such): recomputed wherever it is
/// read, never stored.
bool isFreeValue(mlir::Operation *op);

} // namespace hone

#endif // HONE_ANALYSIS_FUSIONGROUPS_H
