//===- GroupedOps.cpp - Verifiers and facts of products of groups ---------===//

#include "ShapeChecks.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace hone;

static LogicalResult expectRank(Operation *op, StringRef what, Value value,
                                size_t rank) {
  if (shapeOf(value).size() == rank)
    return success();
  return op->emitOpError() << what << " has rank " << shapeOf(value).size()
                           << ", expected " << rank;
}

LogicalResult GroupedDotOp::verify() {
  if (failed(expectRank(*this, "input", getInput(), 2)) ||   // grouped_dot_c1
      failed(expectRank(*this, "weight", getWeight(), 3)) || // grouped_dot_c1
      failed(expectRank(*this, "ends", getEnds(), 1)) ||     // grouped_dot_c1
      failed(expectRank(*this, "result", getResult(), 2)))   // grouped_dot_c1
    return failure();
  if (getContract() != 1 && getContract() != 2) // grouped_dot_c2
    return emitOpError() << "contract is " << int64_t(getContract())
                         << ", expected 1 or 2";
  ArrayRef<int64_t> input = shapeOf(getInput()), weight = shapeOf(getWeight());
  if (weight[getContract()] != input[1]) // grouped_dot_c2
    return emitOpError() << "dimension " << getContract()
                         << " of weight has size " << weight[getContract()]
                         << ", expected " << input[1] << ", the width of input";
  if (failed(expectShape(*this, "ends", getEnds(), weight[0])) || // _c3
      failed(expectShape(*this, "result", getResult(),
                         {input[0], weight[3 - getContract()]}))) // _c4
    return failure();
  return expectElement(*this, "weight", getWeight(),
                       elementOf(getInput())); // grouped_dot_c5
}

OpCost GroupedDotOp::getCost() {
  OpCost cost = hone::detail::elementwiseCost(*this, 0);
  cost.flops =
      2 * cast<ShapedType>(getType()).getNumElements() * shapeOf(getInput())[1];
  return cost;
}

/// Rows and groups stay whole: their bounds are places among all rows.
DimensionMapping GroupedDotOp::getDimensionMapping() {
  DimensionMapping mapping;
  int64_t width = shapeOf(getInput())[1], made = shapeOf(getResult())[1];
  mapping.factors = {{width, FactorKind::Reduce}, {made, FactorKind::Parallel}};
  TensorFactors weight(3, -1);
  weight[getContract()] = 0;
  weight[3 - getContract()] = 1;
  mapping.operands = {{-1, 0}, weight, {-1}};
  mapping.results = {{-1, 1}};
  return mapping;
}

namespace {
/// A product with transposed matrices contracts their other dimension.
struct FoldTranspose : OpRewritePattern<GroupedDotOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GroupedDotOp op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getWeight().getDefiningOp<TransposeOp>();
    if (!transpose ||
        transpose.getPermutation() != ArrayRef<int64_t>({0, 2, 1}))
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.getWeightMutable().assign(transpose.getOperand());
      op.setContract(3 - op.getContract());
    });
    return success();
  }
};
} // namespace

void GroupedDotOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                               MLIRContext *context) {
  patterns.add<FoldTranspose>(context);
}

LogicalResult GroupedDotBwdWeightOp::verify() {
  if (failed(expectRank(*this, "lhs", getLhs(), 2)) || // _c1
      failed(expectRank(*this, "rhs", getRhs(), 2)) ||
      failed(expectRank(*this, "ends", getEnds(), 1)))
    return failure();
  ArrayRef<int64_t> lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs());
  if (lhs[0] != rhs[0]) // grouped_dot_bwd_weight_c1
    return emitOpError() << "rhs has " << rhs[0] << " rows, expected " << lhs[0]
                         << ", those of lhs";
  if (failed(expectShape(*this, "result", getResult(),
                         {shapeOf(getEnds())[0], lhs[1], rhs[1]})))
    return failure(); // grouped_dot_bwd_weight_c2
  return expectElement(*this, "rhs", getRhs(),
                       elementOf(getLhs())); // grouped_dot_bwd_weight_c3
}

OpCost GroupedDotBwdWeightOp::getCost() {
  OpCost cost = hone::detail::elementwiseCost(*this, 0);
  cost.flops = 2 * cast<ShapedType>(getLhs().getType()).getNumElements() *
               shapeOf(getRhs())[1];
  return cost;
}

DimensionMapping GroupedDotBwdWeightOp::getDimensionMapping() {
  DimensionMapping mapping;
  mapping.factors = {{shapeOf(getLhs())[1], FactorKind::Parallel},
                     {shapeOf(getRhs())[1], FactorKind::Parallel}};
  mapping.operands = {{-1, 0}, {-1, 1}, {-1}};
  mapping.results = {{-1, 0, 1}};
  return mapping;
}
