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

double hone::kernelSeconds(ArrayRef<Operation *> ops, ValueRange reads,
                           ValueRange writes, const TargetDescription &target) {
  double computing = 0;
  for (Operation *op : ops)
    if (auto hone = dyn_cast<HoneOpInterface>(op))
      computing += arithmeticSeconds(hone, target);
  int64_t bytes = 0;
  for (auto values : {reads, writes})
    for (Value value : values)
      bytes += byteSize(value.getType());
  return std::max(computing, double(bytes) / target.bytesPerSecond()) +
         target.launchSeconds();
}
