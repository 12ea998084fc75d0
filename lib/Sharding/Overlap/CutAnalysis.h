//===- CutAnalysis.h - What can run in pieces -------------------*- C++ -*-===//
//
// The decision behind dist-split-for-overlap. It reads IR and changes nothing.
//
// The pieces of a value are the shards of one dimension along an axis all of
// whose coordinates are on this rank, so the algebra of shardings tells which
// ops can run in pieces, and what their pieces are.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_SHARDING_OVERLAP_CUTANALYSIS_H
#define HONE_LIB_SHARDING_OVERLAP_CUTANALYSIS_H

#include "hone/Sharding/IR/Sharding.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace hone::dist {

/// The pieces of a value: the shards of one dimension.
struct Cut {
  unsigned dim;
  DimShards shards;
  bool operator==(const Cut &other) const {
    return dim == other.dim && shards == other.shards;
  }
};

/// The cuts of an op's operands and results: nothing of a tensor that all
/// pieces read as a whole.
using OpCuts = llvm::SmallVector<std::optional<Cut>>;

/// Finds the ops that can be split, and how, from the collectives on.
class CutAnalysis {
public:
  CutAnalysis(mlir::Block &block, const Mesh &mesh, int64_t pieces,
              int64_t bytes, llvm::ArrayRef<llvm::StringRef> axes)
      : mesh(mesh), virtualMesh({{"piece", pieces, ""}}), pieces(pieces),
        bytes(bytes), axes(axes) {
    leaveHeads(block);
    for (mlir::Operation &op : block)
      seed(op);
  }

  /// The cuts of an op that is split; null for one that is not.
  const OpCuts *cutsOf(mlir::Operation *op) const {
    auto found = ops.find(op);
    return found == ops.end() ? nullptr : &found->second;
  }
  const Mesh &getVirtualMesh() const { return virtualMesh; }
  /// Whether `op` sums over a dimension that all of its operands with it are
  /// split along, so that the order of the pieces does not matter to it.
  /// `split` has the ops that are.
  bool sumsPieces(mlir::Operation *op,
                  const llvm::SmallPtrSetImpl<mlir::Operation *> &split) const;

private:
  void leaveHeads(mlir::Block &block);
  void seed(mlir::Operation &op);
  bool isCollective(mlir::Operation *op) const;
  std::optional<Cut> firstCut(CollectiveOpInterface op) const;
  bool agrees(mlir::Value value, const std::optional<Cut> &own) const;
  void visit(mlir::Operation *op, unsigned tensor, const Cut &cut);
  std::optional<OpCuts> cutsFrom(mlir::Operation *op, unsigned tensor,
                                 const Cut &cut) const;
  std::optional<OpCuts> cutsOfCollective(CollectiveOpInterface op,
                                         unsigned tensor, Cut cut) const;
  std::optional<Cut> cutOf(mlir::Value value, const Sharding &sharding) const;
  bool divides(mlir::Value value, const Cut &cut) const {
    return dividesEvenly(
        cut.shards,
        mlir::cast<mlir::RankedTensorType>(value.getType()).getDimSize(cut.dim),
        virtualMesh);
  }

  const Mesh &mesh;
  Mesh virtualMesh; ///< one axis: the number of the piece
  int64_t pieces, bytes;
  llvm::ArrayRef<llvm::StringRef> axes;
  llvm::DenseMap<mlir::Operation *, OpCuts> ops;
  llvm::SmallPtrSet<mlir::Operation *, 8>
      heads; ///< products and losses of heads
  llvm::DenseMap<mlir::Value, Cut> cuts;
  llvm::SmallVector<mlir::Value>
      open; ///< values whose makers and readers are not seen yet
};

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_OVERLAP_CUTANALYSIS_H
