//===- BufferUpdates.cpp - New values of buffers --------------------------===//

#include "BufferUpdates.h"

using namespace mlir;
using namespace hone;

void hone::updateBias(StepFunction &step, BlockArgument bias, Value counted,
                      BlockArgument counts, double rate) {
  ImplicitLocOpBuilder &b = step.builder;
  auto type = cast<RankedTensorType>(bias.getType());
  auto integers = cast<RankedTensorType>(counted.getType());
  auto splat = [&](RankedTensorType type, Attribute value) -> Value {
    return b.create<ConstantOp>(DenseElementsAttr::get(type, value));
  };
  // In integers, mean and count are equal exactly where they should be.
  Value sum =
      b.create<ReduceOp>(ReduceKind::sum, counted, ArrayRef<int64_t>{0});
  Value size = splat(integers, b.getI64IntegerAttr(integers.getDimSize(0)));
  Value share = b.create<MulOp>(counted, size);
  Value total = b.create<BroadcastOp>(integers, sum, ArrayRef<int64_t>());
  Value sign = b.create<SignOp>(b.create<SubOp>(total, share));
  Value direction = b.create<CastOp>(type, sign);
  Value change = b.create<MulOp>(
      direction, splat(type, b.getFloatAttr(type.getElementType(), rate)));
  step.addUpdate(b.create<AddOp>(bias, change), bias);
  step.addUpdate(splat(integers, b.getI64IntegerAttr(0)), counts);
}

void hone::updateBuffers(func::FuncOp gradient, ArrayRef<Value> results,
                         ArrayRef<BlockArgument> buffers,
                         ArrayRef<SelectionBias> biases, StepFunction &step) {
  llvm::StringMap<BlockArgument> byName;
  for (unsigned index = 0, next = 0; index != gradient.getNumArguments();
       ++index)
    if (argString(gradient, index, attr::kind) == kind::buffer)
      byName[argString(gradient, index, attr::fqn)] = buffers[next++];
  for (unsigned index : findResults(gradient, kind::buffer)) {
    StringRef name = resultString(gradient, index, attr::fqn);
    const SelectionBias *bias =
        llvm::find_if(biases, [&](const SelectionBias &bias) {
          return argString(gradient, bias.counts, attr::fqn) == name;
        });
    if (bias == biases.end())
      step.addUpdate(results[index], byName[name]);
    else
      updateBias(step, byName[argString(gradient, bias->bias, attr::fqn)],
                 results[index], byName[name], bias->rate);
  }
}
