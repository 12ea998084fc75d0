//===- SimplifyContractions.cpp - Repeated operands, multiplied once ------===//

#include "DimGroups.h"
#include "IndexedProduct.h"
#include "hone/Transforms/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace hone {
#define GEN_PASS_DEF_SIMPLIFYCONTRACTIONS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// Where each index of `to` is in `from`.
static SmallVector<int64_t> permutationBetween(ArrayRef<int64_t> from,
                                               ArrayRef<int64_t> to) {
  return llvm::map_to_vector(to, [&](int64_t index) -> int64_t {
    return llvm::find(from, index) - from.begin();
  });
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// `factor` without the indices that its values repeat along, but for those
/// that are summed; false: it repeats along none.
static bool dropRepeated(OpBuilder &b, ProductOperand &factor,
                         ArrayRef<int64_t> result) {
  auto broadcast = factor.value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return false;
  SmallVector<int64_t> kept, shape, dims;
  for (auto [dim, index] : llvm::enumerate(factor.indices)) {
    bool repeats = !llvm::is_contained(broadcast.getDims(), int64_t(dim));
    if (repeats && llvm::is_contained(result, index))
      continue;
    if (!repeats)
      dims.push_back(kept.size());
    kept.push_back(index);
    shape.push_back(shapeOf(broadcast)[dim]);
  }
  if (kept.size() == factor.indices.size())
    return false;
  factor.indices = kept;
  factor.value = broadcast.getOperand();
  if (dims.size() != kept.size())
    factor.value = b.create<BroadcastOp>(
        broadcast.getLoc(), withShape(broadcast, shape), factor.value, dims);
  return true;
}

namespace {
/// A factor that repeats along an index of the result is multiplied once: the
/// index stays with the other factor, or the result repeats along it.
struct MultiplyRepeatedOnce : OpRewritePattern<DotGeneralOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotGeneralOp op,
                                PatternRewriter &rewriter) const override {
    IndexedProduct product(op);
    bool lhs = dropRepeated(rewriter, product.lhs, product.result);
    bool rhs = dropRepeated(rewriter, product.rhs, product.result);
    if (!lhs && !rhs)
      return rewriter.notifyMatchFailure(op, "no factor repeats along an index "
                                             "of the result");
    SmallVector<int64_t> target = product.result, dims;
    llvm::erase_if(product.result, [&](int64_t index) {
      return !product.lhs.has(index) && !product.rhs.has(index);
    });
    for (auto [dim, index] : llvm::enumerate(target))
      if (llvm::is_contained(product.result, index))
        dims.push_back(dim);
    // In the order of factors that needs no transpose, if one does.
    SmallVector<int64_t> order = product.builtOrder();
    if (order != product.result) {
      std::swap(product.lhs, product.rhs);
      if (product.builtOrder() == product.result)
        order = product.result;
      else
        std::swap(product.lhs, product.rhs);
    }
    Value value = product.build(rewriter, op);
    if (order != product.result)
      value = rewriter.create<TransposeOp>(
          op.getLoc(), value, permutationBetween(order, product.result));
    if (dims.size() != target.size())
      value =
          rewriter.create<BroadcastOp>(op.getLoc(), op.getType(), value, dims);
    rewriter.replaceOp(op, value);
    return success();
  }
};

/// A transposed factor is read as it is, where its free dimensions keep their
/// order.
struct ReadTransposedFactor : OpRewritePattern<DotGeneralOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotGeneralOp op,
                                PatternRewriter &rewriter) const override {
    IndexedProduct product(op);
    bool changed = false;
    for (ProductOperand *factor : {&product.lhs, &product.rhs})
      if (auto transpose = factor->value.getDefiningOp<TransposeOp>())
        changed |= product.readSource(*factor, transpose.getOperand(),
                                      transpose.getPermutation());
    if (!changed)
      return rewriter.notifyMatchFailure(op, "no factor is a transpose whose "
                                             "free dimensions keep their "
                                             "order");
    rewriter.replaceOp(op, product.build(rewriter, op));
    return success();
  }
};

/// A transpose that puts the free dimensions of a batched product's right
/// factor before those of the left one: the factors change places.
struct SwapFactors : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto dot = op.getOperand().getDefiningOp<DotGeneralOp>();
    if (!dot || !dot->hasOneUse() || dot.getLhsBatch().empty())
      return rewriter.notifyMatchFailure(op, "not of a batched product that "
                                             "nothing else reads");
    IndexedProduct product(dot);
    SmallVector<int64_t> target = llvm::map_to_vector(
        op.getPermutation(), [&](int64_t dim) { return product.result[dim]; });
    product.result = target;
    std::swap(product.lhs, product.rhs);
    if (product.builtOrder() != target)
      return rewriter.notifyMatchFailure(op, "the order is not that of swapped "
                                             "factors");
    rewriter.setInsertionPoint(dot);
    rewriter.replaceOp(op, product.build(rewriter, dot));
    return success();
  }
};

/// reshape(broadcast(x)) -> broadcast(reshape(x)), where the reshape keeps the
/// dimensions along which x repeats apart from others.
struct ReshapeBeforeBroadcast : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto broadcast = op.getOperand().getDefiningOp<BroadcastOp>();
    if (!broadcast)
      return rewriter.notifyMatchFailure(op, "not of a broadcast");
    auto groups = groupDims(shapeOf(broadcast), shapeOf(op));
    if (!groups)
      return rewriter.notifyMatchFailure(op, "a shape without elements");
    auto repeats = [&](int64_t dim) {
      return !llvm::is_contained(broadcast.getDims(), dim);
    };
    SmallVector<int64_t> shape, dims;
    for (const DimGroup &group : *groups) {
      bool isRepeated = llvm::any_of(group.from, repeats);
      if (isRepeated && !llvm::all_of(group.from, repeats))
        return rewriter.notifyMatchFailure(op, "joins repeated dimensions with "
                                               "others");
      if (!isRepeated)
        for (int64_t dim : group.to) {
          shape.push_back(shapeOf(op)[dim]);
          dims.push_back(dim);
        }
    }
    Value value = broadcast.getOperand();
    if (shapeOf(value) != ArrayRef<int64_t>(shape))
      value = rewriter.create<ReshapeOp>(op.getLoc(), withShape(value, shape),
                                         value);
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), value, dims);
    return success();
  }
};

struct SimplifyContractions
    : hone::impl::SimplifyContractionsBase<SimplifyContractions> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns.add<MultiplyRepeatedOnce, ReadTransposedFactor, SwapFactors,
                 ReshapeBeforeBroadcast>(context);
    TransposeOp::getCanonicalizationPatterns(patterns, context);
    BroadcastOp::getCanonicalizationPatterns(patterns, context);
    if (failed(
            applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
