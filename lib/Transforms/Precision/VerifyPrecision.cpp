//===- VerifyPrecision.cpp - Border check after the precision phase -------===//

#include "ElementTypes.h"
#include "QuantizedProducts.h"
#include "hone/Transforms/Passes.h"

namespace hone {
#define GEN_PASS_DEF_VERIFYPRECISION
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// Contractions that weights take part in read the low type, and ops that need
/// accuracy do not.
static LogicalResult verifyOp(Operation *op, FloatType low) {
  auto facts = cast<HoneOpInterface>(op);
  NumericClass numeric = facts.getNumericClass();
  for (OpOperand *operand : findTiedOperands(op)) {
    Type element = getElementTypeOrSelf(operand->get().getType());
    if (numeric == NumericClass::contraction && element.isF32())
      return op->emitOpError("reads f32 operand ")
             << operand->getOperandNumber() << ", expected " << low;
    if (numeric == NumericClass::accurate && element == low)
      return op->emitOpError("reads ")
             << low << " operand " << operand->getOperandNumber()
             << ", expected f32";
  }
  return success();
}

namespace {
struct VerifyPrecision : hone::impl::VerifyPrecisionBase<VerifyPrecision> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    auto forward = module.lookupSymbol<func::FuncOp>("forward");
    if (!forward)
      return module.emitError("has no function @forward");
    FailureOr<FloatType> low = lowTypeOf(getPrecision(module), &getContext());
    if (failed(low))
      return module.emitError("has hone.precision '")
             << getPrecision(module) << "', expected "
             << listPrecisionPolicies();
    if (failed(verifyMarks(forward,
                           findPrecisionPolicy(getPrecision(module))->codes)))
      return failure();
    if (!*low)
      return success();
    for (Type type : forward.getResultTypes())
      if (getElementTypeOrSelf(type) == *low)
        return forward.emitError("returns a loss of type ")
               << type << ", expected f32";
    DenseSet<Value> weighted = findWeighted(forward);
    for (Operation &op : forward.front().without_terminator())
      if (isa<HoneOpInterface>(op) &&
          llvm::any_of(op.getOperands(),
                       [&](Value v) { return weighted.contains(v); }) &&
          failed(verifyOp(&op, *low)))
        return failure();
    return success();
  }
};
} // namespace
