//===- JoinPads.cpp - Sums of disjoint padded tensors ---------------------===//

#include "hone/Transforms/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace hone {
#define GEN_PASS_DEF_JOINPADS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// The only dimension that `pad` widens, without interior padding.
static std::optional<int64_t> paddedDim(PadOp pad) {
  std::optional<int64_t> dim;
  for (int64_t index : llvm::seq<int64_t>(0, pad.getLow().size())) {
    if (pad.getInterior()[index] != 0)
      return std::nullopt;
    if (pad.getLow()[index] == 0 && pad.getHigh()[index] == 0)
      continue;
    if (dim)
      return std::nullopt;
    dim = index;
  }
  return dim;
}

/// Collects the pads that a tree of single-reader additions sums.
static bool collectPads(Value value, bool isRoot,
                        SmallVectorImpl<PadOp> &pads) {
  if (!isRoot && !value.hasOneUse())
    return false;
  if (auto pad = value.getDefiningOp<PadOp>()) {
    pads.push_back(pad);
    return true;
  }
  auto add = value.getDefiningOp<AddOp>();
  return add && collectPads(add.getLhs(), false, pads) &&
         collectPads(add.getRhs(), false, pads);
}

namespace {
struct JoinPaddedSum : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<PadOp> pads;
    if (!collectPads(op.getResult(), /*isRoot=*/true, pads))
      return rewriter.notifyMatchFailure(
          op, "not a sum of padded tensors read only here");
    std::optional<int64_t> dim = paddedDim(pads.front());
    if (!dim ||
        llvm::any_of(pads, [&](PadOp pad) { return paddedDim(pad) != dim; }))
      return rewriter.notifyMatchFailure(
          op, "the parts are not padded along one common dimension");
    llvm::sort(pads, [&](PadOp a, PadOp b) {
      return a.getLow()[*dim] < b.getLow()[*dim];
    });
    int64_t end = 0;
    SmallVector<Value> parts;
    for (PadOp pad : pads) {
      if (pad.getLow()[*dim] != end)
        return rewriter.notifyMatchFailure(op, "the parts overlap or leave "
                                               "a gap");
      auto type = cast<RankedTensorType>(pad.getOperand().getType());
      end += type.getDimSize(*dim);
      parts.push_back(pad.getOperand());
    }
    if (end != cast<RankedTensorType>(op.getType()).getDimSize(*dim))
      return rewriter.notifyMatchFailure(op, "the parts leave a gap at the "
                                             "end");
    rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), parts, *dim);
    return success();
  }
};

struct JoinPads : hone::impl::JoinPadsBase<JoinPads> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<JoinPaddedSum>(&getContext());
    // From the last addition of a sum upwards: top-down would try its parts.
    GreedyRewriteConfig config;
    config.useTopDownTraversal = false;
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns),
                                            config)))
      signalPassFailure();
  }
};
} // namespace
