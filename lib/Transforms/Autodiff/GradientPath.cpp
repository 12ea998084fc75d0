//===- GradientPath.cpp - What lies between parameters and loss -----------===//

#include "GradientPath.h"

#include "hone/IR/DroppedRows.h"
#include "hone/IR/IndexedOps.h"

using namespace mlir;
using namespace hone;

/// The operands to which a gradient of the op's results flows.
static OperandRange differentiatedOperands(Operation *op) {
  OperandRange operands = op->getOperands();
  if (isa<StopGradientOp>(op))
    return operands.take_front(0);
  if (auto custom = dyn_cast<CustomGradientOp>(op))
    return custom.getInputs();
  return isa<SelectModeOp>(op) ? operands.take_front(1) : operands;
}

DenseSet<Value> hone::findTrainedValues(func::FuncOp func) {
  auto isFloat = [](Value value) {
    return isa<FloatType>(getElementTypeOrSelf(value.getType()));
  };
  DenseSet<Value> trained;
  for (BlockArgument arg : func.getArguments())
    if (func.getArgAttr(arg.getArgNumber(), attr::requiresGrad) && isFloat(arg))
      trained.insert(arg);
  for (Operation &op : func.front()) {
    if (!llvm::any_of(differentiatedOperands(&op),
                      [&](Value v) { return trained.contains(v); }))
      continue;
    for (Value result : op.getResults())
      if (isFloat(result))
        trained.insert(result);
  }
  return trained;
}

DenseSet<Value> hone::findOnPath(func::FuncOp func, Value loss,
                                 const DenseSet<Value> &trained) {
  DenseSet<Value> onPath;
  if (trained.contains(loss))
    onPath.insert(loss);
  for (Operation &op : llvm::reverse(func.front()))
    if (llvm::any_of(op.getResults(),
                     [&](Value v) { return onPath.contains(v); }))
      for (Value operand : differentiatedOperands(&op))
        if (trained.contains(operand))
          onPath.insert(operand);
  return onPath;
}

bool hone::returnsOneLoss(func::FuncOp func) {
  unsigned others = findResults(func, kind::buffer).size() +
                    findResults(func, kind::idCheck).size() +
                    findResults(func, kind::dropped).size();
  return func.getNumResults() == others + 1;
}
