//===- GatheredCodes.cpp - Ranks gather codes of weights ------------------===//
//
// A block of 128 x 128 has one scale, which holds for both orientations. Where
// no block crosses the border of a shard, codes and scales of the weight are
// those of the shards, one after another. Codes of the transposed weight are
// the codes, transposed.
//
//===----------------------------------------------------------------------===//

#include "GatheredCodes.h"

#include "hone/IR/Fp8.h"
#include "hone/IR/Hone.h"
#include "hone/Sharding/IR/Dist.h"

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

/// Why the numbers of a weight are gathered, and not its codes.
static std::optional<StringRef> whyNumbers(dist::AllGatherOp gather) {
  auto shard = cast<RankedTensorType>(gather.getOperand().getType());
  Type code;
  for (Operation *user : gather->getUsers()) {
    auto quantize = dyn_cast<QuantizeOp>(user);
    if (!quantize)
      return "not only products of codes read it";
    if (quantize.getScaleLayout().tile != ScaleTile::block128)
      return "its scales are not of blocks of 128 x 128";
    Type other = getElementTypeOrSelf(quantize.getCodes().getType());
    if (code && code != other)
      return "products read codes of two formats";
    code = other;
  }
  if (shard.getRank() != 2 || gather.getDim() != 0 ||
      !gather.getCuts().empty() || gather.getSnake() || gather.getAsync())
    return "ranks do not have whole rows of it, one after another";
  if (shard.getDimSize(0) % sizeOf(ScaleTile::block128).rows != 0)
    return "the rows of a rank are no multiple of 128";
  return std::nullopt;
}

/// The same gather of rows that belong to those of `gather`.
static Value gatherLike(OpBuilder &builder, dist::AllGatherOp gather,
                        Value shard) {
  auto type = cast<RankedTensorType>(shard.getType());
  int64_t ranks =
      cast<RankedTensorType>(gather.getType()).getDimSize(0) /
      cast<RankedTensorType>(gather.getOperand().getType()).getDimSize(0);
  SmallVector<int64_t> shape(type.getShape());
  shape[0] *= ranks;
  return builder.create<dist::AllGatherOp>(
      gather.getLoc(), type.clone(shape), shard, 0, gather.getAxes(),
      gather.getCuts(), gather.getSnake(), gather.getAgain());
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

/// Gathers codes of the shards, and makes of them what `gather` was read for.
static void replace(dist::AllGatherOp gather) {
  OpBuilder builder(gather);
  auto first = cast<QuantizeOp>(*gather->user_begin());
  auto own = builder.create<QuantizeOp>(
      first.getLoc(), gather.getOperand(), Value(), ScaleTile::block128,
      getElementTypeOrSelf(first.getCodes().getType()), /*transposed=*/false);
  Value codes = gatherLike(builder, gather, own.getCodes());
  Value scales = gatherLike(builder, gather, own.getScales());
  for (Operation *user : llvm::make_early_inc_range(
           llvm::reverse(llvm::to_vector(gather->getUsers())))) {
    auto quantize = cast<QuantizeOp>(user);
    builder.setInsertionPoint(quantize);
    Location loc = quantize.getLoc();
    Value made[] = {codes, scales};
    if (quantize.getTransposed()) {
      made[0] = transpose(builder, loc, codes);
      made[1] =
          transposeScales(builder, loc, scales, quantize.getScaleLayout());
    }
    quantize.replaceAllUsesWith(ValueRange(made));
    quantize.erase();
  }
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
