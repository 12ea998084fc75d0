//===- KernelCost.cpp - Seconds that a kernel takes -----------------------===//

#include "hone/Analysis/KernelCost.h"

using namespace mlir;
using namespace hone;

/// Seconds that the arithmetic of `op` takes.
static double arithmeticSeconds(HoneOpInterface op,
                                const TargetDescription &target) {
  double flops = double(op.getCost().flops);
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (op->getNumOperands() > 0)
    element = getElementTypeOrSelf(op->getOperand(0).getType());
  if (op.getKernelFamily() == KernelFamily::attention)
    return flops / target.attentionFlopsPerSecond(element);
  if (op.getNumericClass() == NumericClass::contraction)
    return flops / target.matmulFlopsPerSecond(element);
  return flops / target.mapFlopsPerSecond();
}

KernelTime hone::kernelTime(ArrayRef<Operation *> ops, int64_t bytes,
                            const TargetDescription &target) {
  KernelTime time;
  for (Operation *op : ops)
    if (auto hone = dyn_cast<HoneOpInterface>(op))
      time.computing += arithmeticSeconds(hone, target);
  time.moving = double(bytes) / target.bytesPerSecond();
  time.launching = target.launchSeconds();
  return time;
}

double hone::kernelSeconds(ArrayRef<Operation *> ops, ValueRange reads,
                           ValueRange writes, const TargetDescription &target) {
  int64_t bytes = 0;
  for (auto values : {reads, writes})
    for (Value value : values)
      bytes += byteSize(value.getType());
  return kernelTime(ops, bytes, target).seconds();
}

double hone::kernelSeconds(GroupOp group, const TargetDescription &target) {
  SmallVector<Operation *> ops;
  for (Operation &op : group.getBodyBlock().without_terminator())
    ops.push_back(&op);
  return kernelSeconds(ops, group.getInputs(), group.getOutputs(), target);
}
