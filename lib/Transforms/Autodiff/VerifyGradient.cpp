//===- VerifyGradient.cpp - Border check after autodiff -------------------===//

#include "GradientContract.h"
#include "hone/IR/DroppedRows.h"
#include "hone/IR/IndexedOps.h"
#include "hone/Transforms/Passes.h"

namespace hone {
#define GEN_PASS_DEF_VERIFYGRADIENT
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// Only ops of the dialect that may be left after autodiff.
static LogicalResult verifyOps(func::FuncOp func, bool isEvaluate) {
  WalkResult walk = func.walk([&](Operation *op) -> WalkResult {
    if (op == func || isa<func::ReturnOp>(op))
      return WalkResult::advance();
    if (!isGraphOp(op))
      return op->emitOpError("is not an op of the hone dialect");
    if (isa<StopGradientOp, SelectModeOp, CustomGradientOp>(op))
      return op->emitOpError("is left in @")
             << func.getName() << ", autodiff consumes it";
    if (isEvaluate && isa<DropoutOp>(op))
      return op->emitOpError("is left in @evaluate, which drops nothing");
    if (auto attention = dyn_cast<AttentionOp>(op))
      if (isEvaluate && attention.getRng())
        return op->emitOpError("has dropout in @evaluate, which drops nothing");
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// A body, and a floating-point loss first.
static LogicalResult verifyLoss(func::FuncOp func) {
  if (!func.getBody().hasOneBlock())
    return func.emitError("has no body of one block");
  if (func.getNumResults() == 0 ||
      resultString(func, 0, attr::kind) != kind::loss)
    return func.emitError("does not return the loss first");
  auto type = dyn_cast<RankedTensorType>(func.getResultTypes()[0]);
  if (!type || !isa<FloatType>(type.getElementType()))
    return func.emitError("returns a loss of type ")
           << func.getResultTypes()[0] << ", expected a floating-point tensor";
  return success();
}

/// Results after the loss are the gradients of the requested arguments, in
/// order, then new values of buffers and checks of ids.
static LogicalResult verifyGradients(func::FuncOp func) {
  unsigned result = 1;
  for (unsigned index = 0; index != func.getNumArguments(); ++index) {
    if (!func.getArgAttr(index, attr::requiresGrad))
      continue;
    StringRef name = argString(func, index, attr::fqn);
    auto type = dyn_cast<RankedTensorType>(func.getArgumentTypes()[index]);
    if (!type || !isa<FloatType>(type.getElementType()))
      return func.emitError("argument '")
             << name << "' requires a gradient, but has type "
             << func.getArgumentTypes()[index];
    if (result == func.getNumResults())
      return func.emitError("returns no gradient of '")
             << name << "', expected one per argument that requires one";
    if (resultString(func, result, attr::kind) != kind::grad ||
        resultString(func, result, attr::fqn) != name)
      return func.emitError("result ")
             << result << " is " << resultString(func, result, attr::kind)
             << " '" << resultString(func, result, attr::fqn)
             << "', expected grad '" << name << "'";
    Type seen = func.getResultTypes()[result];
    Type expected = func.getArgumentTypes()[index];
    if (seen != expected)
      return func.emitError("gradient of '")
             << name << "' has type " << seen << ", expected " << expected;
    ++result;
  }
  unsigned gradients = result - 1;
  while (result != func.getNumResults() &&
         llvm::is_contained({kind::buffer, kind::idCheck, kind::dropped},
                            resultString(func, result, attr::kind)))
    ++result;
  if (result != func.getNumResults())
    return func.emitError("returns ")
           << func.getNumResults() << " results, expected the loss, "
           << gradients
           << " gradients, then buffers, checks of ids and dropped rows";
  return success();
}

LogicalResult hone::checkGradientContract(func::FuncOp func) {
  return success(succeeded(verifyLoss(func)) &&
                 succeeded(verifyGradients(func)));
}

namespace {
struct VerifyGradient : hone::impl::VerifyGradientBase<VerifyGradient> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (StringRef name : {"gradient", "evaluate"}) {
      auto func = getOperation().lookupSymbol<func::FuncOp>(name);
      if (!func) {
        getOperation().emitError("has no function @") << name;
        return signalPassFailure();
      }
      bool isEvaluate = name == "evaluate";
      if (failed(isEvaluate ? verifyLoss(func) : checkGradientContract(func)) ||
          failed(verifyOps(func, isEvaluate)))
        return signalPassFailure();
    }
  }
};
} // namespace
