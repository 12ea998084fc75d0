//===- Groups.h - Which ops share a kernel ----------------------*- C++ -*-===//
//
// The decision behind hone-fuse-groups, over one block of primitive ops. It
// reads IR and changes nothing.
//
// Anchors (contractions with their epilogue, attention, scatters, moves,
// multi-tensor ops) cut the graph into regions: the depth of an op is the
// largest number of anchors on a path to it, and no path between two ops of
// equal depth goes through an anchor. A region is what of one depth is
// connected by edges or by matrices that several ops read; its cheapest kernels
// are found by search (RowRegion.h, docs/rationale/fusion.md). Equal regions,
// such as those of equal layers, are searched once.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_FUSION_GROUPS_H
#define HONE_ANALYSIS_FUSION_GROUPS_H

#include "hone/Analysis/Fusion/ContractionGroups.h"
#include "hone/Analysis/Fusion/RowRegion.h"

#include <map>
#include <memory>

namespace hone {

/// Ops of one kernel or library call, in program order.
struct FusionGroup {
  KernelFamily family;
  llvm::SmallVector<mlir::Operation *> ops;
};

/// How the regions of a block were solved.
struct FusionCounts {
  int64_t regions = 0;  ///< with at least two ops
  int64_t searched = 0; ///< of those, the ones that differ
  int64_t optimal = 0;  ///< regions whose plan is the cheapest
  int64_t largest = 0;  ///< parts that one search saw
  int64_t cut = 0;      ///< regions of too many ops for one search
};

class FusionAnalysis {
public:
  /// Without `shares`, and in a mesh-invariant module, each row op has a kernel
  /// of its own, to measure what sharing saves.
  FusionAnalysis(mlir::Block &block, const TargetDescription &target,
                 bool shares = true);

  /// Groups in any order. Views (reshapes, slices read in
  /// place, concatenations written in place) are in none; a reshape may be in
  /// several.
  llvm::ArrayRef<FusionGroup> groups() const { return plan; }
  const FusionCounts &counts() const { return solved; }

  /// Why the ops of a group are together, what that saves, and what else comes
  /// nearest to joining and why it does not.
  std::string explain(const FusionGroup &group) const;

private:
  /// Where a group comes from: a contraction, a region, or neither.
  struct Origin {
    const ContractionGroup *contraction = nullptr;
    const RowRegion *region = nullptr;
    llvm::SmallVector<int> set; // numbers in the region
  };
  void takeScatters();
  void takeQuantisations();
  void takeOthers();
  void assignDepths();
  void formRegions();
  void solve(llvm::ArrayRef<mlir::Operation *> ops);
  void addAnchor(llvm::ArrayRef<mlir::Operation *> ops,
                 const ContractionGroup *contraction = nullptr);
  bool takesNoStrides(mlir::Operation *op) const;
  bool isViewOp(mlir::Operation *op) const;
  bool isAnchor(mlir::Operation *op) const { return anchorOf.contains(op); }

  // Explanations.
  std::string explainRows(const FusionGroup &group, const Origin &origin) const;
  std::string explainAnchor(const FusionGroup &group,
                            const Origin &origin) const;
  std::string nearestNotJoined(int group) const;
  std::string whyApart(int group, int other) const;
  mlir::Operation *anchorBetween(int group, int other) const;

  mlir::Block &block;
  const TargetDescription target;
  const bool shares;
  llvm::SmallVector<ContractionGroup> contractions;
  llvm::SmallVector<std::unique_ptr<RowRegion>> regions;
  llvm::SmallVector<mlir::Operation *> rowOps; // ops that regions are made of
  llvm::SmallVector<FusionGroup> plan;
  llvm::SmallVector<Origin> origins;                 // per group
  llvm::DenseMap<mlir::Operation *, int> groupIndex; // not of views
  llvm::DenseMap<mlir::Operation *, int> anchorOf;   // op -> group
  llvm::DenseMap<mlir::Operation *, int64_t> depths;
  std::map<llvm::SmallVector<uintptr_t>, RegionPlan> known;
  FusionCounts solved;
};

/// A value computed from narrow data alone by a few ops (splats, index
/// counters, repeated vectors and maps of such): recomputed wherever it is
/// read, never stored. One that could take more than `maxFreeOps` is stored.
bool isFreeValue(mlir::Operation *op);

/// Values of `block` that are stored for that reason alone.
int64_t countTooLongToFree(mlir::Block &block);

/// Ops that it takes to make a free value. Masks and position tables need some
/// ten; what needs more is stored.
constexpr int64_t maxFreeOps = 32;

/// Ops of a region that one search sees, and so of one kernel. The search takes
/// more than linear time; no fixture has a longer region.
constexpr int64_t maxRegionOps = 256;

} // namespace hone

#endif // HONE_ANALYSIS_FUSION_GROUPS_H
