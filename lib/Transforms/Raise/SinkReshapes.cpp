//===- SinkReshapes.cpp - Flattened rows, flattened later -----------------===//

#include "hone/Transforms/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace hone {
#define GEN_PASS_DEF_SINKRESHAPES
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// The leading dimensions of `shape` that hold `rows` elements, if more than
/// one does and the others hold the rest.
static std::optional<ArrayRef<int64_t>> splitRows(ArrayRef<int64_t> shape,
                                                  int64_t rows) {
  int64_t held = 1;
  for (size_t count = 0; count < shape.size(); ++count) {
    if (held == rows && count > 1)
      return shape.take_front(count);
    held *= shape[count];
  }
  return std::nullopt;
}

/// Made by a contraction or a map behind one: what an epilogue may follow.
static bool isComputed(Value value) {
  Operation *producer = value.getDefiningOp();
  return producer && (isa<DotGeneralOp>(producer) ||
                      producer->hasTrait<OpTrait::Elementwise>());
}

namespace {
/// dot(reshape(x), w) -> reshape(dot(x, w)).
struct SinkBelowContraction : OpRewritePattern<DotGeneralOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotGeneralOp op,
                                PatternRewriter &rewriter) const override {
    auto reshape = op.getLhs().getDefiningOp<ReshapeOp>();
    ArrayRef<int64_t> flat = shapeOf(op.getLhs());
    if (!reshape || flat.size() != 2 || !op.getLhsBatch().empty() ||
        op.getLhsContract() != ArrayRef<int64_t>{1})
      return rewriter.notifyMatchFailure(op, "the left side is no matrix of "
                                             "reshaped rows");
    auto rows = splitRows(shapeOf(reshape.getOperand()), flat[0]);
    if (!rows)
      return rewriter.notifyMatchFailure(op, "no dimensions make the rows");
    SmallVector<int64_t> shape(*rows);
    int64_t last = shape.size();
    shape.push_back(flat[1]);
    Value lhs = reshape.getOperand();
    if (shapeOf(lhs) != ArrayRef<int64_t>(shape))
      lhs = rewriter.create<ReshapeOp>(reshape.getLoc(), withShape(lhs, shape),
                                       lhs);
    shape.pop_back();
    llvm::append_range(shape, shapeOf(op.getResult()).drop_front());
    auto dot = rewriter.create<DotGeneralOp>(
        op.getLoc(), withShape(op.getResult(), shape), lhs, op.getRhs(),
        op.getLhsBatch(), op.getRhsBatch(), ArrayRef<int64_t>{last},
        op.getRhsContract());
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), dot);
    return success();
  }
};

/// f(reshape(x), broadcast(b), ...) -> reshape(f(x, broadcast(b), ...)) for an
/// elementwise f, where the reshape leaves the last dimension alone and b runs
/// along it.
struct SinkBelowMap : OpTraitRewritePattern<OpTrait::Elementwise> {
  using OpTraitRewritePattern::OpTraitRewritePattern;
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<HoneDialect>(op->getDialect()))
      return rewriter.notifyMatchFailure(op, "no op of the dialect");
    ReshapeOp reshape;
    for (Value operand : op->getOperands())
      if (auto candidate = operand.getDefiningOp<ReshapeOp>();
          candidate && candidate->hasOneUse() &&
          isComputed(candidate.getOperand()))
        reshape = candidate;
    if (!reshape || shapeOf(reshape.getOperand()).empty() ||
        shapeOf(reshape.getResult()).empty() ||
        shapeOf(reshape.getOperand()).back() !=
            shapeOf(reshape.getResult()).back())
      return rewriter.notifyMatchFailure(op, "no operand is a product whose "
                                             "rows were flattened");
    ArrayRef<int64_t> shape = shapeOf(reshape.getOperand());
    int64_t last = shapeOf(reshape.getResult()).size() - 1;
    if (int64_t(shape.size()) <= last + 1)
      return rewriter.notifyMatchFailure(op, "rows are not merged");
    auto isMovable = [&](Value operand) {
      if (operand == reshape.getResult())
        return true;
      auto broadcast = operand.getDefiningOp<BroadcastOp>();
      return broadcast && broadcast.getDims() == ArrayRef<int64_t>{last};
    };
    if (!llvm::all_of(op->getOperands(), isMovable))
      return rewriter.notifyMatchFailure(op, "an operand has rows of its own");
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (operand == reshape.getResult()) {
        operands.push_back(reshape.getOperand());
        continue;
      }
      Value vector = operand.getDefiningOp<BroadcastOp>().getOperand();
      int64_t dim = shape.size() - 1;
      operands.push_back(rewriter.create<BroadcastOp>(
          operand.getLoc(), withShape(operand, shape), vector,
          rewriter.getDenseI64ArrayAttr(dim)));
    }
    Operation *moved =
        rewriter.create(op->getLoc(), op->getName().getIdentifier(), operands,
                        withShape(op->getResult(0), shape), op->getAttrs());
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op->getResult(0).getType(),
                                           moved->getResult(0));
    return success();
  }
};

struct SinkReshapes : hone::impl::SinkReshapesBase<SinkReshapes> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SinkBelowContraction, SinkBelowMap>(&getContext());
    if (failed(
            applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
