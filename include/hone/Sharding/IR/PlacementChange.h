//===- PlacementChange.h - What a collective does to a placement ----------===//
//
// The answers of PlacementOpInterface: how ranks along some axes of the mesh
// hold a tensor before an op between ranks, and after it.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_SHARDING_IR_PLACEMENTCHANGE_H
#define HONE_SHARDING_IR_PLACEMENTCHANGE_H

#include "hone/IR/Hone.h"

namespace hone::dist {

/// How the ranks along axes of the mesh hold a tensor.
struct AxisPlacement {
  enum Kind {
    Replicated, ///< all hold the tensor
    Partial,    ///< the tensor is what `combiner` makes of all of theirs
    Sharded,    ///< each holds its shard of dimension `dim`: see `#dist.dim`
    RankLocal   ///< each holds numbers of its own
  };
  Kind kind = Replicated;
  ReduceKind combiner = ReduceKind::sum;
  unsigned dim = 0;
  /// Positions of the global dimension; storage of the op's attribute.
  llvm::ArrayRef<int64_t> cuts;
  bool snake = false;

  static AxisPlacement replicated() { return {}; }
  static AxisPlacement partial(ReduceKind combiner) {
    return {Partial, combiner, 0, {}, false};
  }
  static AxisPlacement sharded(unsigned dim, llvm::ArrayRef<int64_t> cuts,
                               bool snake) {
    return {Sharded, ReduceKind::sum, dim, cuts, snake};
  }
  static AxisPlacement rankLocal() {
    return {RankLocal, ReduceKind::sum, 0, {}, false};
  }

  bool isSharded() const { return kind == Sharded; }
};

/// Along `axes`, names of the mesh's, operands are held as `consumed` and
/// results as `produced`.
struct PlacementChange {
  mlir::ArrayAttr axes;
  AxisPlacement consumed, produced;
};

} // namespace hone::dist

#endif // HONE_SHARDING_IR_PLACEMENTCHANGE_H
