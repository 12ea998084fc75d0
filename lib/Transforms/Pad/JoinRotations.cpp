//===- JoinRotations.cpp - One rotation for parts of one projection -------===//

#include "hone/Analysis/Layout/Views.h"
#include "hone/Transforms/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace hone {
#define GEN_PASS_DEF_JOINROTATIONS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The slice that `rope` rotates, cut into heads behind it and read by nothing
/// else: columns [start, limit) of the last dimension.
static SliceOp rotatedSlice(RopeOp rope) {
  auto heads = rope.getInput().getDefiningOp<ReshapeOp>();
  if (!heads || !heads->hasOneUse())
    return {};
  auto slice = heads.getOperand().getDefiningOp<SliceOp>();
  if (!slice || !slice->hasOneUse() || typeOf(slice).getRank() != 3)
    return {};
  // [B, T, H * D] of [B, T, W], as [B, T, H, D].
  ArrayRef<int64_t> part = typeOf(slice).getShape(),
                    whole = typeOf(slice.getOperand()).getShape();
  bool isPart =
      part.drop_back() == whole.drop_back() &&
      llvm::all_of(slice.getStrides(), [](int64_t s) { return s == 1; });
  bool isHeads = typeOf(heads).getShape().take_front(2) == part.take_front(2);
  return isPart && isHeads ? slice : SliceOp();
}

static int64_t start(SliceOp slice) { return slice.getStarts().back(); }
static int64_t limit(SliceOp slice) { return slice.getLimits().back(); }

namespace {
/// rope(slice a), rope(slice b) -> slices of rope(slice a|b).
struct JoinAdjacent : OpRewritePattern<RopeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RopeOp op,
                                PatternRewriter &rewriter) const override {
    SliceOp first = rotatedSlice(op);
    if (!first)
      return rewriter.notifyMatchFailure(op, "rotates no part of a projection");
    for (Operation *user : first.getOperand().getUsers()) {
      auto second = dyn_cast<SliceOp>(user);
      if (!second || !second->hasOneUse() || start(second) != limit(first))
        continue;
      auto heads = dyn_cast<ReshapeOp>(*second->user_begin());
      auto other = heads && heads->hasOneUse()
                       ? dyn_cast<RopeOp>(*heads->user_begin())
                       : RopeOp();
      if (other && rotatedSlice(other) == second && areAlike(op, other) &&
          op->getBlock() == other->getBlock()) {
        join(op, other, first, second, rewriter);
        return success();
      }
    }
    return rewriter.notifyMatchFailure(op, "no neighbour turns alike");
  }

private:
  static bool areAlike(RopeOp a, RopeOp b) {
    return a.getStyle() == b.getStyle() && a.getInverse() == b.getInverse() &&
           a.getCos() == b.getCos() && a.getSin() == b.getSin() &&
           typeOf(a).getShape().back() == typeOf(b).getShape().back() &&
           isReadInPlace(a.getResult()) && isReadInPlace(b.getResult());
  }

  static void join(RopeOp op, RopeOp other, SliceOp first, SliceOp second,
                   PatternRewriter &rewriter) {
    // Behind both tables and the projection, before either reader.
    rewriter.setInsertionPoint(op->isBeforeInBlock(other) ? op : other);
    Location loc = rewriter.getFusedLoc({op.getLoc(), other.getLoc()});
    Type element = typeOf(op).getElementType();
    auto shaped = [&](ArrayRef<int64_t> shape) {
      return RankedTensorType::get(shape, element);
    };
    SmallVector<int64_t> flat(typeOf(first).getShape());
    flat.back() += typeOf(second).getShape().back();
    SmallVector<int64_t> headed(typeOf(op).getShape());
    headed[2] += typeOf(other).getShape()[2];

    SmallVector<int64_t> limits(first.getLimits());
    limits.back() = limit(second);
    Value part =
        rewriter.create<SliceOp>(loc, shaped(flat), first.getOperand(),
                                 first.getStarts(), limits, first.getStrides());
    Value heads = rewriter.create<ReshapeOp>(loc, shaped(headed), part);
    Value turned =
        rewriter.create<RopeOp>(loc, shaped(headed), op.getStyle(), heads,
                                op.getCos(), op.getSin(), op.getInverse());
    Value columns = rewriter.create<ReshapeOp>(loc, shaped(flat), turned);
    int64_t middle = limit(first) - start(first);
    auto cut = [&](RopeOp rope, int64_t from, int64_t to) -> Value {
      SmallVector<int64_t> starts(3, 0), ends(flat), steps(3, 1);
      starts.back() = from;
      ends.back() = to;
      SmallVector<int64_t> shape(flat);
      shape.back() = to - from;
      Value own = rewriter.create<SliceOp>(rope.getLoc(), shaped(shape),
                                           columns, starts, ends, steps);
      return rewriter.create<ReshapeOp>(rope.getLoc(), rope.getType(), own);
    };
    Value own = cut(op, 0, middle);
    Value its = cut(other, middle, flat.back());
    rewriter.replaceOp(op, own);
    rewriter.replaceOp(other, its);
  }
};

struct JoinRotations : hone::impl::JoinRotationsBase<JoinRotations> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<JoinAdjacent>(&getContext());
    if (failed(
            applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
