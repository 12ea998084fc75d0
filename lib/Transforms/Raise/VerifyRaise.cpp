//===- VerifyRaise.cpp - Border check after raising -----------------------===//

#include "Transforms/Autodiff/GradientPath.h"
#include "Transforms/Autodiff/VjpRules.h"
#include "hone/Transforms/Passes.h"

namespace hone {
#define GEN_PASS_DEF_VERIFYRAISE
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// Every op between a trained parameter and the loss has a VJP rule, for the
/// operands that lie on that path.
static LogicalResult verifyPath(func::FuncOp func) {
  Value loss = func.front().getTerminator()->getOperand(0);
  DenseSet<Value> onPath = findOnPath(func, loss, findTrainedValues(func));
  auto isOnPath = [&](Value value) { return value && onPath.contains(value); };
  for (Operation &op : func.front().without_terminator()) {
    if (!llvm::any_of(op.getResults(), isOnPath) ||
        !llvm::any_of(op.getOperands(), isOnPath))
      continue;
    if (!hasVjpRule(&op))
      return op.emitOpError("has no gradient, and lies between a parameter "
                            "that requires one and the loss");
    if (auto attention = dyn_cast<AttentionOp>(op))
      if (isOnPath(attention.getMask()))
        return op.emitOpError("has a mask that depends on a parameter that "
                              "requires a gradient");
    if (auto rope = dyn_cast<RopeOp>(op))
      if (isOnPath(rope.getCos()) || isOnPath(rope.getSin()))
        return op.emitOpError("has a table that depends on a parameter that "
                              "requires a gradient");
  }
  return success();
}

namespace {
struct VerifyRaise : hone::impl::VerifyRaiseBase<VerifyRaise> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto func = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!func) {
      getOperation().emitError("has no function @forward");
      return signalPassFailure();
    }
    if (!func.getBody().hasOneBlock() || !returnsOneLoss(func)) {
      func.emitError("is no function of one block that returns one loss");
      return signalPassFailure();
    }
    for (Operation &op : func.front().without_terminator())
      if (!isGraphOp(&op)) {
        op.emitOpError("is not an op of the hone dialect");
        return signalPassFailure();
      }
    if (failed(verifyPath(func)))
      signalPassFailure();
  }
};
} // namespace
