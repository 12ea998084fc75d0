//===- ForwardOps.cpp - The ops that a loss is made from ------------------===//

#include "hone/IR/ForwardOps.h"

using namespace mlir;
using namespace hone;

Value hone::findLoss(func::FuncOp func) {
  Operation *end = func.getBody().front().getTerminator();
  for (OpOperand &operand : end->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    StringRef kind = resultString(func, index, attr::kind);
    // The sum over micro-batches is state, named as what it sums. The update
    // of a stage brings that of the last to all.
    bool isSum = kind == kind::scalar &&
                 resultString(func, index, attr::fqn) == kind::loss &&
                 func.getName() != "update";
    if (kind == kind::loss || isSum)
      return operand.get();
  }
  return {};
}

llvm::DenseSet<Operation *> hone::forwardOps(func::FuncOp func) {
  llvm::DenseSet<Operation *> ops;
  SmallVector<Value> open;
  if (Value loss = findLoss(func))
    open.push_back(loss);
  for (Operation &op : func.front())
    if (auto ending = dyn_cast<HoneOpInterface>(op);
        ending && ending.endsForwardPart())
      llvm::append_range(open, op.getOperands());
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (op && ops.insert(op).second)
      llvm::append_range(open, op->getOperands());
  }
  return ops;
}
