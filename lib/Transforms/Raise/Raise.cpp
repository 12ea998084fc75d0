//===- Raise.cpp - Finds the named ops that a graph spells out ------------===//

#include "Patterns.h"
#include "hone/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

namespace hone {
#define GEN_PASS_DEF_RAISE
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

std::optional<double> hone::constantOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ReshapeOp, BroadcastOp, TransposeOp>(op))
      break;
    value = op->getOperand(0);
  }
  Attribute constant;
  if (!isa<FloatType>(getElementTypeOrSelf(value.getType())) ||
      !matchPattern(value, m_Constant(&constant)))
    return std::nullopt;
  return splatOf(constant);
}

bool hone::isNear(double number, double expected) {
  return std::abs(number - expected) <= 2e-6 * std::abs(expected);
}

Value hone::peelReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

Value hone::matchPerRow(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast || shapeOf(value).empty())
    return {};
  ArrayRef<int64_t> shape = shapeOf(value), dims = broadcast.getDims();
  int64_t last = shape.size() - 1;
  if (llvm::is_contained(dims, last))
    return {};
  for (int64_t dim = 0; dim != last; ++dim)
    if (shape[dim] != 1 && !llvm::is_contained(dims, dim))
      return {};
  return peelReshapes(broadcast.getOperand());
}

Value hone::matchPerColumn(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return {};
  int64_t last = shapeOf(value).size() - 1;
  ArrayRef<int64_t> dims = broadcast.getDims();
  if (dims.size() != 1 || dims.front() != last)
    return {};
  return broadcast.getOperand();
}

Value hone::matchRowMean(Value rows) {
  Operation *op = peelReshapes(rows).getDefiningOp();
  if (!isa_and_present<DivOp, MulOp>(op))
    return {};
  Value sum = op->getOperand(0);
  std::optional<double> number = constantOf(op->getOperand(1));
  if (!number && isa<MulOp>(op)) {
    sum = op->getOperand(1);
    number = constantOf(op->getOperand(0));
  }
  auto reduce = peelReshapes(sum).getDefiningOp<ReduceOp>();
  if (!number || !reduce || reduce.getKind() != ReduceKind::sum ||
      !reduce.isRowReduction())
    return {};
  double width = shapeOf(reduce.getOperand()).back();
  if (isa<DivOp>(op) ? *number != width : !isNear(*number, 1.0 / width))
    return {};
  return reduce.getOperand();
}

bool hone::dependsOnTrained(Value value) {
  SmallVector<Value> pending = {value};
  DenseSet<Value> seen;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (!seen.insert(next).second ||
        !isa<FloatType>(getElementTypeOrSelf(next.getType())))
      continue;
    if (auto arg = dyn_cast<BlockArgument>(next)) {
      auto func = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp());
      if (func && func.getArgAttr(arg.getArgNumber(), attr::requiresGrad))
        return true;
      continue;
    }
    if (!isa<StopGradientOp>(next.getDefiningOp()))
      llvm::append_range(pending, next.getDefiningOp()->getOperands());
  }
  return false;
}

namespace {
struct Raise : hone::impl::RaiseBase<Raise> {
  void runOnOperation() override {
    auto forward = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!forward) {
      getOperation().emitError("has no function @forward");
      return signalPassFailure();
    }
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    populateRaiseNormPatterns(patterns);
    populateRaiseGeluPatterns(patterns);
    populateRaiseRopePatterns(patterns);
    populateRaiseAttentionPatterns(patterns);
    populateRaiseConvolutionPatterns(patterns);
    populateRaiseLossPatterns(patterns);
    populateRaiseSoftmaxPatterns(patterns);
    // Operands in another order of dimensions are transposed; a transpose of
    // the transpose that was there cancels.
    TransposeOp::getCanonicalizationPatterns(patterns, context);
    ReshapeOp::getCanonicalizationPatterns(patterns, context);
    BroadcastOp::getCanonicalizationPatterns(patterns, context);
    if (failed(applyPatternsAndFoldGreedily(forward, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
