//===- GroupedTiles.cpp - Tiles of products of groups of rows -------------===//

#include "hone/Analysis/Cost/GroupedTiles.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace hone;

/// Tiles of 128, or of 64 where `expected` rows or columns fill no more.
static int64_t tileOf(int64_t expected) { return expected <= 64 ? 64 : 128; }

static bool hasTensorCores(Operation *op) {
  Type operand = getElementTypeOrSelf(op->getOperand(0));
  Type result = getElementTypeOrSelf(op->getResult(0));
  return (operand.isBF16() || operand.isF16()) &&
         (result == operand || result.isF32());
}

std::optional<GroupedTiles> GroupedTiles::of(Operation *op) {
  if (!isa<GroupedDotOp, GroupedDotBwdWeightOp>(op) || !hasTensorCores(op) ||
      isMeshInvariant(op->getParentOfType<ModuleOp>()))
    return std::nullopt;
  ArrayRef<int64_t> lhs = shapeOf(op->getOperand(0));
  ArrayRef<int64_t> result = shapeOf(op->getResult(0));
  GroupedTiles tiles;
  tiles.groups = shapeOf(op->getOperand(2))[0];
  tiles.rows = lhs[0];
  tiles.sumsRows = isa<GroupedDotBwdWeightOp>(op);
  tiles.height = tiles.sumsRows ? lhs[1] : lhs[0];
  tiles.width = result.back();
  tiles.depth = tiles.sumsRows ? lhs[0] : lhs[1];
  constexpr int64_t most = 1 << 30; // beside which tiles have room in 32 bits
  for (int64_t size :
       {tiles.groups, tiles.height, tiles.width, tiles.depth, tiles.rows})
    if (size == 0 || size >= most)
      return std::nullopt;
  tiles.tileRows =
      tileOf(tiles.sumsRows ? tiles.height : tiles.rows / tiles.groups);
  tiles.tileColumns = tileOf(tiles.width);
  return tiles;
}

int64_t GroupedTiles::rowTiles() const {
  int64_t tiles = llvm::divideCeil(uint64_t(height), uint64_t(tileRows));
  return sumsRows ? tiles : tiles + groups;
}

double GroupedTiles::paddedShare() const {
  double columns = double(columnTiles() * tileColumns) / double(width);
  // A group ends half a tile, or half a step of the sum, behind its last row.
  constexpr double step = 32;
  double shares = double(std::min(groups, rows));
  if (sumsRows)
    return columns * double(rowTiles() * tileRows) / double(height) *
           (1 + shares * step / 2 / double(rows));
  return columns * (1 + shares * double(tileRows) / 2 / double(rows));
}
