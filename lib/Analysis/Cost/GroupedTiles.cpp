//===- GroupedTiles.cpp - Tiles of products of groups of rows -------------===//

#include "hone/Analysis/Cost/GroupedTiles.h"

#include "hone/Analysis/Cost/CodeProducts.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace hone;

bool hone::hasGroupedTypes(Operation *op) {
  Type operand = getElementTypeOrSelf(op->getOperand(0));
  Type result = getElementTypeOrSelf(op->getResult(0));
  return isa<Float32Type, BFloat16Type, Float16Type>(operand) &&
         (result == operand || result.isF32());
}

/// Tiles of 128, or of 64 where `expected` rows or columns fill no more.
static int64_t tileOf(int64_t expected) { return expected <= 64 ? 64 : 128; }

static bool hasTensorCores(Operation *op) {
  return hasGroupedTypes(op) &&
         !getElementTypeOrSelf(op->getOperand(0)).isF32();
}

std::optional<GroupedTiles> GroupedTiles::of(Operation *op) {
  if (!isa<GroupedDotOp, GroupedDotBwdWeightOp>(op) || !hasTensorCores(op) ||
      isMeshInvariant(op))
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
  for (int64_t size : {tiles.groups, tiles.height, tiles.width, tiles.depth,
                       tiles.rows, tiles.rows + 128 * tiles.groups})
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

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

/// What mma.sync reaches at most of the peak of an architecture. Hopper: 62.9 %
/// on average, as published (arXiv 2402.13499), since its peak needs wgmma.
/// Blackwell of data centers, whose peak needs tcgen05: the rate of Hopper, an
/// assumption. The others have no faster instruction.
static double instructionShare(int arch) {
  if (arch == 90)
    return 0.63;
  return arch >= 100 && arch < 120 ? 0.28 : 1;
}

/// What the kernel reaches of that: 337 to 367 TFLOP/s on an H100
/// (docs/benchmarks/gpu). A step of 64 products has 150 instructions, so that
/// they, copies and loads from shared memory all find slots; but two blocks of
/// a multiprocessor hide little else.
constexpr double kernelShare = 0.56;

/// Instructions for a term of the generic kernel, two loads and conversions,
/// product, sum and addresses, over those of an operation on elements: an
/// assumption.
constexpr double genericInstructions = 5;

double hone::groupedSeconds(HoneOpInterface op,
                            const TargetDescription &target) {
  double flops = double(op.getCost().flops);
  std::optional<GroupedTiles> tiles = GroupedTiles::of(op);
  if (!tiles)
    return flops * genericInstructions / target.mapFlopsPerSecond();
  const DeviceFigures &device = target.device();
  int arch = numberOfArch(target.arch.empty() ? device.arch : target.arch);
  double reached = device.narrowPeak * instructionShare(arch) * kernelShare;
  return flops * tiles->paddedShare() / std::min(reached, device.narrow);
}
