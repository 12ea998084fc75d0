//===- StepFlops.cpp - The arithmetic that a step is judged by ------------===//

#include "hone/Analysis/Cost/StepFlops.h"

#include "hone/IR/Hone.h"
#include "hone/Sharding/IR/Chunk.h"

using namespace mlir;
using namespace hone;

int64_t hone::timesPerStep(StringRef function, int64_t microBatches) {
  constexpr llvm::StringLiteral perMicroBatch[] = {
      "accumulate", "forward", "backward", "backward_input", "backward_weight"};
  if (llvm::is_contained(perMicroBatch, dist::functionWithoutChunk(function)))
    return microBatches;
  return function == "step" || function == "update" ? 1 : 0;
}

double hone::modelFlops(ModuleOp module, int64_t microBatches) {
  double flops = 0;
  for (auto function : module.getOps<func::FuncOp>()) {
    double times = double(timesPerStep(function.getName(), microBatches));
    if (times == 0)
      continue;
    function.walk([&](HoneOpInterface op) {
      if (op.getNumericClass() == NumericClass::contraction ||
          op.getKernelFamily() == KernelFamily::attention)
        flops += times * double(op.getCost().flops);
    });
  }
  return flops;
}
