//===- PlacementAnalysis.h - How ranks hold a value -------------*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_VERIFY_PLACEMENTANALYSIS_H
#define HONE_LIB_SHARDING_VERIFY_PLACEMENTANALYSIS_H

#include "hone/Sharding/IR/Sharding.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace hone::dist {

/// How ranks along an axis hold a value that they do not replicate.
struct Placement {
  enum Kind {
    Sharded,          ///< along one of `dims`
    Partial,          ///< combined by `combiner`: partial sums, maxima, minima
    PartialLogSumExp, ///< the log-sum-exp of a shard
    PartialNorm,      ///< the norm of a shard
    RankLocal,        ///< computed from the rank's position: perhaps shards or
                      ///< partial sums
    Unknown           ///< none of these: no collective takes it
  };
  Kind kind;
  llvm::SmallDenseSet<unsigned, 2> dims;
  mlir::Operation *begin; ///< the op, or for an argument the function, where it
                          ///< began
  ReduceKind combiner = ReduceKind::sum;
};

/// Nothing where ranks along the axis hold replicas.
using OptionalPlacement = std::optional<Placement>;

/// By axis; ranks along the others hold replicas.
using Placements = llvm::SmallMapVector<unsigned, Placement, 4>;

/// How ranks hold a value, along every axis.
struct ValuePlacement {
  Placements placements;
  /// The dimensions along which all elements are equal: replicas are shards of
  /// them too.
  llvm::SmallBitVector repeated;
  /// The axes along which replicas are partial too, combined by `combiner`:
  /// zeros, and reductions of equal elements.
  llvm::SmallBitVector alsoPartial;
  ReduceKind combiner = ReduceKind::sum;

  const Placement *along(unsigned axis) const {
    const auto *entry = placements.find(axis);
    return entry == placements.end() ? nullptr : &entry->second;
  }
  bool isRepeated(unsigned dim) const {
    return dim < repeated.size() && repeated.test(dim);
  }
  bool mayBePartial(unsigned axis) const {
    return axis < alsoPartial.size() && alsoPartial.test(axis);
  }
};

/// Of a value concatenated along a dimension: the placement of each piece.
struct Pieces {
  struct Piece {
    int64_t begin, end; ///< along `dim`
    ValuePlacement held;
  };
  unsigned dim;
  llvm::SmallVector<Piece, 0> all;
};

Placement shardedOn(unsigned dim);
/// Partial sums are no partial maxima.
Placement partialBy(ReduceKind kind);
/// The placements of a value with a sharding.
Placements placementsOf(ShardingAttr attr, const Mesh &mesh,
                        mlir::Operation *begin);
/// "sum", "maximum", ...
llvm::StringRef nounOf(ReduceKind kind);
/// "shards of dimension 0", "partial sums", ...
std::string describe(const Placement &own);
/// Whether the placement of a value along an axis may be `expected`.
bool mayBe(const ValuePlacement &value, unsigned axis,
           const OptionalPlacement &expected);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_VERIFY_PLACEMENTANALYSIS_H
