//===- GradientPath.cpp - What lies between parameters and loss -----------===//

#include "GradientPath.h"

#include "hone/IR/IndexedOps.h"

using namespace mlir;
using namespace hone;

DenseSet<Value> hone::findTrainedValues(func::FuncOp func) {
  auto isFloat = [](Value value) {
    return isa<FloatType>(getElementTypeOrSelf(value.getType()));
  };
  DenseSet<Value> trained;
  for (BlockArgument arg : func.getArguments())
    if (func.getArgAttr(arg.getArgNumber(), attr::requiresGrad) && isFloat(arg))
      trained.insert(arg);
  for (Operation &op : func.front()) {
    if (isa<StopGradientOp>(op) ||
        !llvm::any_of(op.getOperands(),
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
      for (Value operand : op.getOperands())
        if (trained.contains(operand))
          onPath.insert(operand);
  return onPath;
}

bool hone::returnsOneLoss(func::FuncOp func) {
  return func.getNumResults() == findIdChecks(func).size() + 1;
}
