//===- GatheredCodes.cpp - Ranks gather codes of weights ------------------===//
//
// Where no tile crosses the border of a shard, codes and scales of the weight
// are those of the shards, one after another. One scale of all is that of the
// largest magnitude of all shards.
//
// A block of 128 x 128 has one scale, which holds for both orientations, as one
// scale of all does: codes of the transposed weight are the codes, transposed.
// MX has scales of rows, so each orientation has codes of its own.
//
//===----------------------------------------------------------------------===//

#include "GatheredCodes.h"

#include "hone/IR/Fp8.h"
#include "hone/IR/Hone.h"
#include "hone/Sharding/IR/Dist.h"

#include "llvm/Support/MathExtras.h"

#include <optional>

using namespace mlir;
using namespace hone;
using honert::ScaleLayout;
using honert::ScaleTile;

/// Whether the working copy of a weight is gathered to make codes of it.
static bool isOfCodes(func::FuncOp func, dist::AllGatherOp gather) {
  auto copy = dyn_cast<BlockArgument>(gather.getOperand());
  return copy &&
         argString(func, copy.getArgNumber(), attr::kind) ==
             kind::workingCopy &&
         llvm::any_of(gather->getUsers(),
                      [](Operation *user) { return isa<QuantizeOp>(user); });
}

/// The ops that make codes of what `gather` yields, in program order.
static SmallVector<QuantizeOp> quantizersOf(dist::AllGatherOp gather) {
  SmallVector<QuantizeOp> found;
  for (Operation *user : gather->getUsers())
    if (auto quantize = dyn_cast<QuantizeOp>(user))
      found.push_back(quantize);
  return {found.rbegin(), found.rend()};
}

/// Whether `op` finds the largest magnitude of what `gather` yields, for codes
/// of that alone.
static bool isAmaxOfCodes(Operation *op, dist::AllGatherOp gather) {
  return isa<AmaxOp>(op) && llvm::all_of(op->getUsers(), [&](Operation *user) {
           auto quantize = dyn_cast<QuantizeOp>(user);
           return quantize && quantize.getOperand() == gather.getResult();
         });
}

/// Why the numbers of a weight are gathered, and not its codes.
static std::optional<StringRef> whyNumbers(dist::AllGatherOp gather) {
  for (Operation *user : gather->getUsers())
    if (!isa<QuantizeOp>(user) && !isAmaxOfCodes(user, gather))
      return "not only products of codes read it";
  SmallVector<QuantizeOp> quantizers = quantizersOf(gather);
  auto formatOf = [](QuantizeOp quantize) {
    return getElementTypeOrSelf(quantize.getCodes().getType());
  };
  if (llvm::any_of(quantizers, [&](QuantizeOp each) {
        return formatOf(each) != formatOf(quantizers.front()) ||
               each.getTile() != quantizers.front().getTile();
      }))
    return "products read codes of two formats";
  auto shard = cast<RankedTensorType>(gather.getOperand().getType());
  if (shard.getRank() != 2 || gather.getDim() != 0 ||
      !gather.getCuts().empty() || gather.getSnake() || gather.getAsync())
    return "ranks do not have whole rows of it, one after another";
  ScaleTile tile = quantizers.front().getScaleLayout().tile;
  if (tile == ScaleTile::row128)
    return "its scales are of 128 of a row";
  // A tile, or the rows that scales of MX lie in groups of.
  static_assert(sizeOf(ScaleTile::block128).rows == ScaleLayout::groupHeight);
  if (tile != ScaleTile::tensor &&
      shard.getDimSize(0) % ScaleLayout::groupHeight != 0)
    return "the rows of a rank are no multiple of 128";
  return std::nullopt;
}

static int64_t ranksOf(dist::AllGatherOp gather) {
  return cast<RankedTensorType>(gather.getType()).getDimSize(0) /
         cast<RankedTensorType>(gather.getOperand().getType()).getDimSize(0);
}

/// The same gather of rows that belong to those of `gather`.
static Value gatherLike(OpBuilder &builder, dist::AllGatherOp gather,
                        Value shard) {
  auto type = cast<RankedTensorType>(shard.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] *= ranksOf(gather);
  return builder.create<dist::AllGatherOp>(
      gather.getLoc(), type.clone(shape), shard, 0, gather.getAxes(),
      gather.getCuts(), gather.getSnake(), gather.getAgain());
}

static Value reshape(OpBuilder &builder, Location loc, Value value,
                     ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  return builder.create<ReshapeOp>(loc, type.clone(shape), value);
}

/// The matrices of ranks beside each other: the columns of one follow those of
/// the rank before.
static Value gatherColumns(OpBuilder &builder, dist::AllGatherOp gather,
                           Value shard) {
  Location loc = gather.getLoc();
  auto type = cast<RankedTensorType>(shard.getType());
  int64_t ranks = ranksOf(gather), rows = type.getDimSize(0),
          columns = type.getDimSize(1);
  Value all = reshape(builder, loc, gatherLike(builder, gather, shard),
                      {ranks, rows, columns});
  all = builder.create<TransposeOp>(loc, all, ArrayRef<int64_t>{1, 0, 2});
  return reshape(builder, loc, all, {rows, ranks * columns});
}

static Value transpose(OpBuilder &builder, Location loc, Value matrix) {
  return builder.create<TransposeOp>(loc, matrix, ArrayRef<int64_t>{1, 0});
}

/// Scales of blocks of the transpose. `codes`: layout of the transposed codes.
static Value transposeScales(OpBuilder &builder, Location loc, Value scales,
                             ScaleLayout codes) {
  int64_t rows = codes.tileRows(), columns = codes.tileColumns();
  auto type = cast<RankedTensorType>(scales.getType());
  if (type.getDimSize(1) != rows) // without those of no tile
    scales = builder.create<SliceOp>(
        loc, type.clone({columns, rows}), scales, ArrayRef<int64_t>{0, 0},
        ArrayRef<int64_t>{columns, rows}, ArrayRef<int64_t>{1, 1});
  Value turned = transpose(builder, loc, scales);
  int64_t added = codes.shape()[1] - columns;
  if (added == 0)
    return turned;
  return builder.create<PadOp>(
      loc, type.clone(codes.shape()), turned, ArrayRef<int64_t>{0, 0},
      ArrayRef<int64_t>{0, added}, ArrayRef<int64_t>{0, 0});
}

/// The largest magnitude of the weight that `gather` yields.
static Value amaxOfShards(OpBuilder &builder, dist::AllGatherOp gather) {
  Location loc = gather.getLoc();
  Value own = builder.create<AmaxOp>(loc, gather.getOperand());
  return builder.create<dist::AllReduceOp>(loc, ReduceKind::max, own,
                                           gather.getAxes());
}

/// Codes of this rank's shard, like those that `quantize` makes of all.
static QuantizeOp quantizeShard(OpBuilder &builder, dist::AllGatherOp gather,
                                QuantizeOp quantize, bool transposed) {
  ScaleTile tile = quantize.getScaleLayout().tile;
  Value amax;
  if (tile == ScaleTile::tensor)
    amax = amaxOfShards(builder, gather);
  return builder.create<QuantizeOp>(
      quantize.getLoc(), gather.getOperand(), amax, tile,
      getElementTypeOrSelf(quantize.getCodes().getType()), transposed);
}

/// Gathers codes that hold for both orientations, and makes of them what
/// `gather` was read for.
static void replaceByShared(dist::AllGatherOp gather) {
  OpBuilder builder(gather);
  SmallVector<QuantizeOp> quantizers = quantizersOf(gather);
  QuantizeOp own = quantizeShard(builder, gather, quantizers.front(),
                                 /*transposed=*/false);
  bool hasBlocks = own.getScaleLayout().tile == ScaleTile::block128;
  Value codes = gatherLike(builder, gather, own.getCodes());
  Value scales = own.getScales();
  if (hasBlocks)
    scales = gatherLike(builder, gather, scales);
  for (QuantizeOp quantize : quantizers) {
    builder.setInsertionPoint(quantize);
    Location loc = quantize.getLoc();
    Value made[] = {codes, scales};
    if (quantize.getTransposed())
      made[0] = transpose(builder, loc, codes);
    if (quantize.getTransposed() && hasBlocks)
      made[1] =
          transposeScales(builder, loc, scales, quantize.getScaleLayout());
    quantize.replaceAllUsesWith(ValueRange(made));
    quantize.erase();
  }
}

/// Gathers codes of an orientation each where they are read.
static void replaceByOriented(dist::AllGatherOp gather) {
  OpBuilder builder(gather);
  for (QuantizeOp quantize : quantizersOf(gather)) {
    builder.setInsertionPoint(quantize);
    bool transposed = quantize.getTransposed();
    QuantizeOp own = quantizeShard(builder, gather, quantize, transposed);
    Value codes = own.getCodes(), scales = own.getScales();
    if (transposed) {
      ScaleLayout layout = own.getScaleLayout();
      int64_t groups = layout.groupRows();
      Location loc = own.getLoc();
      codes = gatherColumns(builder, gather, codes);
      scales = gatherColumns(
          builder, gather,
          reshape(builder, loc, scales, {groups, layout.size() / groups}));
      scales = reshape(builder, loc, scales, quantize.getScaleLayout().shape());
    } else {
      codes = gatherLike(builder, gather, codes);
      scales = gatherLike(builder, gather, scales);
    }
    quantize.replaceAllUsesWith(ValueRange{codes, scales});
    quantize.erase();
  }
}

/// Gathers codes of the shards, and drops `gather` and what it was read for.
static void replace(dist::AllGatherOp gather) {
  ScaleTile tile = quantizersOf(gather).front().getScaleLayout().tile;
  if (tile == ScaleTile::row32)
    replaceByOriented(gather);
  else
    replaceByShared(gather);
  for (Operation *amax : llvm::make_early_inc_range(gather->getUsers()))
    amax->erase();
  gather.erase();
}

void hone::gatherCodes(func::FuncOp func, bool report) {
  SmallVector<dist::AllGatherOp> gathers(
      func.front().getOps<dist::AllGatherOp>());
  for (dist::AllGatherOp gather : gathers) {
    if (!isOfCodes(func, gather))
      continue;
    std::optional<StringRef> reason = whyNumbers(gather);
    if (!reason)
      replace(gather);
    else if (report)
      gather.emitRemark("numbers of '")
          << argString(func,
                       cast<BlockArgument>(gather.getOperand()).getArgNumber(),
                       attr::fqn)
          << "' are gathered, not codes: " << *reason;
  }
}
