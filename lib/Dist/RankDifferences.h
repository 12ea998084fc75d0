//===- RankDifferences.h - How what ranks hold differs ----------*- C++ -*-===//

#ifndef HONE_LIB_DIST_RANKDIFFERENCES_H
#define HONE_LIB_DIST_RANKDIFFERENCES_H

#include "hone/Dist/Sharding.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace hone::dist {

/// How the numbers that ranks hold in a value differ along an axis.
struct Difference {
  enum Kind {
    Parts, ///< of one of `dims`
    Terms, ///< of a sum
    Other  ///< numbers of a rank's own: where it stands, its largest logit
  };
  Kind kind;
  llvm::SmallDenseSet<unsigned, 2> dims;
  mlir::Operation *begin; ///< the op, or for an argument the function, where it
                          ///< began
  /// Whether `dims` went through a reshape: it may have put one that was
  /// divided into parts of one element beside them.
  bool isMoved = false;
};

/// Nothing where ranks along the axis hold the same.
using Agreement = std::optional<Difference>;

/// By axis; ranks along others hold the same.
using Differences = llvm::SmallMapVector<unsigned, Difference, 4>;

/// What ranks hold in a value.
struct Held {
  Differences differences;
  /// The axes along which values that are the same are perhaps parts or terms:
  /// of what repeats one number, as constants and broadcasts do.
  llvm::SmallBitVector uniform;

  const Difference *along(unsigned axis) const {
    auto entry = differences.find(axis);
    return entry == differences.end() ? nullptr : &entry->second;
  }
  bool isUniform(unsigned axis) const {
    return axis < uniform.size() && uniform.test(axis);
  }
};

/// Of a value that is joined along a dimension: what is held of each piece.
struct Pieces {
  struct Piece {
    int64_t begin, end; ///< along `dim`
    Held held;
  };
  unsigned dim;
  llvm::SmallVector<Piece, 0> all;
};

Difference partsOf(unsigned dim);
/// What ranks combine: terms of a sum are of no maximum.
Difference combinedBy(ReduceKind kind);
/// What a sharding says of a value that has it.
Differences differencesOf(ShardingAttr attr, const Mesh &mesh,
                          mlir::Operation *begin);
/// "parts of dimension 0", "terms of a sum", ...
std::string describe(const Difference &own);
/// Whether ranks that differ so are perhaps as `wanted`.
bool isPerhaps(const Difference &own, const Agreement &wanted);

} // namespace hone::dist

#endif // HONE_LIB_DIST_RANKDIFFERENCES_H
