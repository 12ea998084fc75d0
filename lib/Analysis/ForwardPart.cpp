//===- ForwardPart.cpp - What the loss of a step is made from -------------===//

#include "hone/Analysis/ForwardPart.h"

#include "hone/Analysis/Views.h"

using namespace mlir;
using namespace hone;

Value hone::findLoss(func::FuncOp func) {
  Operation *end = func.getBody().front().getTerminator();
  for (OpOperand &operand : end->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    StringRef kind = resultString(func, index, attr::kind);
    // The sum over micro-batches is state, named as what it sums.
    bool isSum = kind == kind::scalar &&
                 resultString(func, index, attr::fqn) == kind::loss;
    if (kind == kind::loss || isSum)
      return operand.get();
  }
  return {};
}

ForwardPart::ForwardPart(func::FuncOp func) {
  Value loss = findLoss(func);
  if (!loss)
    return;
  SmallVector<Value> open = {loss};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (op && ops.insert(op).second)
      llvm::append_range(open, op->getOperands());
  }
}

bool ForwardPart::isReadAfter(Value value) const {
  if (!contains(value.getDefiningOp()))
    return false;
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (user->hasTrait<OpTrait::IsTerminator>())
      return false;
    if (!contains(user))
      return true;
    return isStorageView(user) && isReadAfter(user->getResult(0));
  });
}
