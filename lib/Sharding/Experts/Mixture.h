//===- Mixture.h - The ops of a mixture of experts --------------*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_EXPERTS_MIXTURE_H
#define HONE_LIB_SHARDING_EXPERTS_MIXTURE_H

#include "RoutingAnalysis.h"

#include "llvm/ADT/SetVector.h"

#include <variant>

namespace hone::dist {

/// The rows of one routing in the order of experts, from where they are picked
/// to where the results of a token are added:
///
///   rows = embedding(tokens, slots / k)         a row for each slot
///   ...                                         row by row: products, maps
///   out = embedding(rows, places)               back in the order of slots
///   sum = reduce(reshape(out, [T, k, H]), 1)    perhaps with casts between
struct Mixture {
  mlir::Value ids; ///< [R], the expert of each slot
  int64_t experts;
  int64_t slotsPerToken;
  /// Those that make rows in the order of experts, in their order.
  llvm::SetVector<mlir::Operation *> ops;
  /// From the embedding by places to the sum.
  llvm::SmallVector<mlir::Operation *> tail;

  int64_t slots() const { return shapeOf(ids)[0]; }
  /// The tables that rows are picked from: of tokens, or of slots.
  bool isSource(mlir::Operation *op) const {
    auto pick = mlir::dyn_cast<EmbeddingOp>(op);
    return pick && !ops.contains(pick.getTable().getDefiningOp());
  }
};

/// What keeps a product of groups from being part of a mixture.
struct MixtureProblem {
  mlir::Operation *op;
  std::string expected; ///< "rows picked by ..."
};

/// The mixture that `product` belongs to.
std::variant<Mixture, MixtureProblem>
findMixture(GroupedDotOp product, const RoutingAnalysis &routing);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_EXPERTS_MIXTURE_H
