//===- RankDifferences.h - How what ranks hold differs ----------*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_VERIFY_RANKDIFFERENCES_H
#define HONE_LIB_SHARDING_VERIFY_RANKDIFFERENCES_H

#include "hone/Sharding/IR/Sharding.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace hone::dist {

/// How the numbers that ranks hold in a value differ along an axis.
struct Difference {
  enum Kind {
    Parts,      ///< of one of `dims`
    Terms,      ///< combined by `combiner`: of a sum, of a maximum
    Logarithms, ///< of terms of a sum of exponentials: the log-sum-exp of a
                ///< part
    Roots,      ///< of terms of a sum of squares: the norm of a part
    Own,        ///< made of where a rank stands: perhaps parts or terms
    Other       ///< what is none of these, and is nothing that ranks exchange
  };
  Kind kind;
  llvm::SmallDenseSet<unsigned, 2> dims;
  mlir::Operation *begin; ///< the op, or for an argument the function, where it
                          ///< began
  ReduceKind combiner = ReduceKind::sum;
};

/// Nothing where ranks along the axis hold the same.
using Agreement = std::optional<Difference>;

/// By axis; ranks along others hold the same.
using Differences = llvm::SmallMapVector<unsigned, Difference, 4>;

/// What ranks hold in a value.
struct Held {
  Differences differences;
  /// The dimensions along which elements repeat one: ranks that agree on it
  /// hold parts of them too.
  llvm::SmallBitVector repeated;
  /// The axes along which values that are the same are terms too, combined by
  /// `combiner`: zeros, and what is reduced of repeated elements.
  llvm::SmallBitVector terms;
  ReduceKind combiner = ReduceKind::sum;

  const Difference *along(unsigned axis) const {
    auto entry = differences.find(axis);
    return entry == differences.end() ? nullptr : &entry->second;
  }
  bool isRepeated(unsigned dim) const {
    return dim < repeated.size() && repeated.test(dim);
  }
  bool areTerms(unsigned axis) const {
    return axis < terms.size() && terms.test(axis);
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
/// "sum", "maximum", ...
llvm::StringRef nounOf(ReduceKind kind);
/// "parts of dimension 0", "terms of a sum", ...
std::string describe(const Difference &own);
/// Whether ranks that hold `held` along an axis perhaps hold what is `wanted`.
bool isPerhaps(const Held &held, unsigned axis, const Agreement &wanted);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_VERIFY_RANKDIFFERENCES_H
