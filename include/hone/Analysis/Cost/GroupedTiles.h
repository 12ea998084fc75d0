//===- GroupedTiles.h - Tiles of products of groups of rows -----*- C++ -*-===//
//
// A GPU multiplies groups of rows by a kernel of Hone's own: a block computes a
// tile of the result with tensor cores. What tiles there are decides both the
// kernel (Codegen/GPU/GroupedKernels) and what it is expected to take.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_COST_GROUPEDTILES_H
#define HONE_ANALYSIS_COST_GROUPEDTILES_H

#include "hone/Analysis/Cost/TargetDescription.h"

#include <optional>

namespace hone {

/// The tiles of one op. The product of a group is [height, width] with sums of
/// `depth` terms; of what the ends decide, all rows are meant.
struct GroupedTiles {
  /// None where tensor cores do not compute the op: operands that they would
  /// round (f32, f64), an empty result, rows that no 32 bits count, and
  /// programs whose sums have the order of CPUs (mesh-invariant ones). The
  /// generic kernel does then.
  static std::optional<GroupedTiles> of(mlir::Operation *op);

  int64_t groups, rows;
  int64_t height, width, depth;
  bool sumsRows;                 ///< terms are the rows of a group
  int64_t tileRows, tileColumns; ///< of a block

  int64_t columnTiles() const {
    return llvm::divideCeil(uint64_t(width), uint64_t(tileColumns));
  }
  /// Where rows are terms, the tiles of a group's matrix. Else at most so many
  /// as groups and the rows behind the last of them need, however rows are
  /// divided among them.
  int64_t rowTiles() const;
  /// What is multiplied, zeros beside a tile's part of the result included,
  /// over what has to be, if the rows are shared evenly and a group ends in the
  /// middle of a tile.
  double paddedShare() const;
};

/// Whether kernels or libraries that multiply tiles take the types of a product
/// of groups: operands of f32, bf16 or f16, results of the same or of f32.
bool hasGroupedTypes(mlir::Operation *op);

/// Seconds of the arithmetic of a product of groups of rows on a GPU, by the
/// kernel that it has there.
double groupedSeconds(HoneOpInterface op, const TargetDescription &target);

} // namespace hone

#endif // HONE_ANALYSIS_COST_GROUPEDTILES_H
