//===- BufferPurpose.cpp - What the memory of a value is for --------------===//

#include "hone/Analysis/Memory/BufferPurpose.h"

#include "hone/Analysis/Layout/Views.h"

using namespace mlir;
using namespace hone;

/// Whether `op` goes over many tensors: the norm of all gradients, or updates.
/// An optimizer that is written in primitives is behind the norm too.
static bool readsGradients(Operation &op) {
  auto fact = dyn_cast<HoneOpInterface>(op);
  return fact && fact.getKernelFamily() == KernelFamily::multiTensor;
}

BufferPurposes::BufferPurposes(func::FuncOp func) : forward(func) {
  Block &block = func.getBody().front();
  for (Operation &op : block)
    if (readsGradients(op))
      for (Value operand : op.getOperands())
        if (cast<RankedTensorType>(operand.getType()).getRank() != 0)
          addGradient(operand);
  for (OpOperand &operand : block.getTerminator()->getOpOperands())
    if (resultString(func, operand.getOperandNumber(), attr::kind) ==
        kind::grad)
      addGradient(operand.get());
}

/// State is no gradient: its memory is the argument's.
void BufferPurposes::addGradient(Value value) {
  if (isa<BlockArgument>(value) || !gradients.insert(value).second)
    return;
  Operation *op = value.getDefiningOp();
  if (isStorageView(op))
    for (Value operand : op->getOperands())
      addGradient(operand);
  // A sum in parts: each is written over the one before it.
  if (auto group = dyn_cast<FusedOp>(op))
    for (AliasPair pair : group.getReusableOperands())
      if (Value operand = group.getOperand(pair.operand);
          group.getResult(pair.result) == value &&
          operand.getType() == value.getType() && operand.hasOneUse())
        addGradient(operand);
}

plan::Purpose BufferPurposes::of(Value value) const {
  if (gradients.contains(value))
    return plan::Purpose::gradients;
  return forward.isReadAfter(value) ? plan::Purpose::activations
                                    : plan::Purpose::temporaries;
}
