//===- Regions.h - What runs in pieces together -----------------*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_OVERLAP_REGIONS_H
#define HONE_LIB_SHARDING_OVERLAP_REGIONS_H

#include "CutAnalysis.h"
#include "hone/Analysis/Cost/TargetDescription.h"

#include "llvm/ADT/SetVector.h"

#include <vector>

namespace hone::dist {

/// Ops that are split and stand between the same others, in order.
struct PieceRegion {
  llvm::SetVector<mlir::Operation *> ops;
  /// Ops between them that read what they compute, and go behind them.
  llvm::SmallVector<mlir::Operation *> later;
};

/// Groups the ops that are split: an op begins a new region if it reads what
/// was computed from a region by an op that is not split.
std::vector<PieceRegion> findRegions(mlir::Block &block,
                                     const CutAnalysis &analysis,
                                     const Mesh &mesh,
                                     const TargetDescription &target);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_OVERLAP_REGIONS_H
