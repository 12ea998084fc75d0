//===- WidenGradients.cpp - Gradients that are rounded once ---------------===//

#include "Transforms/Precision/ElementTypes.h"
#include "hone/Transforms/Passes.h"

namespace hone {
#define GEN_PASS_DEF_WIDENGRADIENTS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static unsigned widthOf(Value value) {
  return getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
}

static bool isWidening(CastOp cast) {
  auto isFloat = [](Value value) {
    return isa<FloatType>(getElementTypeOrSelf(value.getType()));
  };
  return isFloat(cast.getOperand()) && isFloat(cast.getResult()) &&
         widthOf(cast.getResult()) > widthOf(cast.getOperand());
}

/// Sums and what ends a step take a wide value as it is; a kernel of another
/// reader would rather read half the bytes and widen them itself.
static bool takesWide(Operation *reader) {
  if (isa<AddOp, func::ReturnOp>(reader))
    return true;
  auto facts = dyn_cast<HoneOpInterface>(reader);
  return facts && facts.getKernelFamily() == KernelFamily::multiTensor;
}

/// The sum that `value` is, behind moves, if nothing else reads any of them.
static Operation *findSum(Value value) {
  while (Operation *producer = value.getDefiningOp()) {
    if (!value.hasOneUse())
      return nullptr;
    if (isa<DotGeneralOp, ReduceOp>(producer))
      return producer;
    if (!isMover(producer))
      return nullptr;
    value = producer->getOperand(0);
  }
  return nullptr;
}

static void setElement(Value value, Type element) {
  value.setType(cast<RankedTensorType>(value.getType()).clone(element));
}

/// Gives the sum behind a widening cast, and the moves between, the wide type.
static void widenSum(Operation *sum, CastOp cast) {
  Type element = getElementTypeOrSelf(cast.getType());
  if (auto reduce = dyn_cast<ReduceOp>(sum)) {
    // What a reduction reads has the type of its result.
    OpBuilder builder(sum);
    Value operand = reduce.getOperand();
    Type wide = mlir::cast<RankedTensorType>(operand.getType()).clone(element);
    reduce.getOperandMutable().assign(
        builder.create<CastOp>(sum->getLoc(), wide, operand));
  }
  for (Operation *op = cast.getOperand().getDefiningOp();;
       op = op->getOperand(0).getDefiningOp()) {
    setElement(op->getResult(0), element);
    if (op == sum)
      break;
  }
  cast.replaceAllUsesWith(cast.getOperand());
  cast.erase();
}

namespace {
struct WidenGradients : hone::impl::WidenGradientsBase<WidenGradients> {
  void runOnOperation() override {
    for (auto cast : llvm::make_early_inc_range(
             getOperation().getBody().getOps<CastOp>())) {
      Operation *sum = isWidening(cast) ? findSum(cast.getOperand()) : nullptr;
      if (!sum)
        continue;
      auto reduce = dyn_cast<ReduceOp>(sum);
      bool needed = reduce ? reduce.getKind() == ReduceKind::sum
                           : llvm::all_of(cast->getUsers(), takesWide);
      if (needed)
        widenSum(sum, cast);
    }
  }
};
} // namespace
