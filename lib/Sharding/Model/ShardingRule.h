//===- ShardingRule.h - How a split op divides its tensors ------*- C++ -*-===//
//
// An op is split along its factors (HoneOpInterface::getDimensionMapping): each
// rank runs the iterations of its part of them. This is what relates that to
// the shardings of operands and results.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_SHARDING_MODEL_SHARDINGRULE_H
#define HONE_LIB_SHARDING_MODEL_SHARDINGRULE_H

#include "hone/Sharding/IR/Sharding.h"

namespace hone::dist {

/// How each factor of an op is divided.
using FactorShards = llvm::SmallVector<DimShards>;

class ShardingRule {
public:
  /// The rule of `op` as it is; reported where it has none.
  static mlir::FailureOr<ShardingRule> of(mlir::Operation *op);
  /// The rule of `op` as partition may split it: it tells ops where their runs
  /// begin. In a mesh-invariant module only independent iterations can be
  /// sharded: partial sums round differently than the full sum.
  static mlir::FailureOr<ShardingRule> forPartsOf(mlir::Operation *op);

  llvm::ArrayRef<Factor> factors() const { return mapping.factors; }
  /// Whether the op counts positions along a factor from the first one, so that
  /// a part must be told where its runs begin.
  bool isCounted(unsigned factor) const { return counted == int(factor); }
  unsigned numTensors() const { return shapes.size(); }
  unsigned numOperands() const { return operands; }
  /// Operands, then results.
  llvm::ArrayRef<int64_t> shapeOf(unsigned tensor) const {
    return shapes[tensor];
  }
  const TensorFactors &factorsOf(unsigned tensor) const {
    return tensor < operands ? mapping.operands[tensor]
                             : mapping.results[tensor - operands];
  }
  /// How parts along factors that are reduced combine.
  ReduceKind combiner() const { return mapping.combiner; }
  /// Whether every factor is independent, and none is merged or cut: what the
  /// tensors have in common flows through.
  bool isPassThrough() const;
  /// Whether a dimension keeps copies along some of `axes` where they divide
  /// its factor, as key heads do that are fewer than the ranks.
  bool keepsCopies(unsigned tensor, unsigned dim, llvm::ArrayRef<unsigned> axes,
                   const Mesh &mesh) const;
  /// Whether ranks may share the iterations of a factor.
  bool canSplit(unsigned factor) const {
    FactorKind kind = mapping.factors[factor].kind;
    return kind == FactorKind::Parallel ||
           (!isMeshInvariant && kind != FactorKind::Replicate);
  }

  /// `shards` with the cuts that the pieces of `factor` ask for.
  DimShards closed(unsigned factor, DimShards shards) const;
  /// The factors of a dimension that is divided by `shards`, one of which is
  /// divided; nothing where no division of a factor gives that.
  std::optional<std::pair<unsigned, DimShards>>
  factorDivided(unsigned tensor, unsigned dim, const DimShards &shards,
                const Mesh &mesh) const;
  /// How dimension `dim` is divided where factors are; nothing where parts
  /// would be uneven or belong to no sharding.
  std::optional<DimShards> dimDivided(unsigned tensor, unsigned dim,
                                      llvm::ArrayRef<DimShards> factors,
                                      const Mesh &mesh) const;
  /// The sharding of a tensor, of results with the axes along which they are
  /// partial.
  std::optional<Sharding> shardingOf(unsigned tensor,
                                     llvm::ArrayRef<DimShards> factors,
                                     const Mesh &mesh) const;

private:
  bool canCut(llvm::ArrayRef<DimShards> factors, const Mesh &mesh) const;
  bool isOfRing(const DimShards &positions, const Mesh &mesh) const;

  DimensionMapping mapping;
  bool isMeshInvariant = false;
  /// Which factors have no cuts where they are divided: parts are runs.
  llvm::SmallVector<bool> needsRuns;
  int counted = -1; ///< the factor of isCounted; none in a rule of `of`
  /// The factor of positions that only a ring along `ringAxes` may divide; -1:
  /// the op is no attention in a ring.
  int ringFactor = -1;
  mlir::ArrayAttr ringAxes;
  /// Which factors number random elements that are drawn run by run.
  llvm::SmallVector<bool> isDrawn;
  unsigned operands = 0;
  llvm::SmallVector<llvm::SmallVector<int64_t>> shapes;
};

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_MODEL_SHARDINGRULE_H
