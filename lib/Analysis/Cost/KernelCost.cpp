//===- KernelCost.cpp - Seconds that a kernel takes -----------------------===//

#include "hone/Analysis/Cost/KernelCost.h"

#include "hone/Analysis/Cost/GroupedTiles.h"
#include "hone/Analysis/Cost/LineWork.h"
#include "hone/Analysis/Fusion/ContractionGroups.h"

using namespace mlir;
using namespace hone;

/// Seconds that the arithmetic of `op` takes.
static double arithmeticSeconds(HoneOpInterface op,
                                const TargetDescription &target) {
  if (target.kind == TargetKind::CUDA)
    if (std::optional<LineWork> work = LineWork::of(op))
      return work->seconds(target);
  double flops = double(op.getCost().flops);
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (op->getNumOperands() > 0)
    element = getElementTypeOrSelf(op->getOperand(0).getType());
  if (op.getKernelFamily() == KernelFamily::attention) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    return flops / target.attentionFlopsPerSecond(element,
                                                  type.getShape().back(),
                                                  isa<AttentionBwdOp>(op));
  }
  bool isGrouped = op.getKernelFamily() == KernelFamily::groupedContraction;
  if (isGrouped && target.kind == TargetKind::CUDA &&
      isa<HoneDialect>(op->getDialect())) // ops on blocks become these later
    return groupedSeconds(op, target);
  if (op.getNumericClass() == NumericClass::contraction)
    return flops / target.contractionFlopsPerSecond(op);
  return flops / target.mapFlopsPerSecond();
}

/// Seconds that the arithmetic of a kernel or call takes.
static double allArithmeticSeconds(ArrayRef<Operation *> ops,
                                   const TargetDescription &target) {
  // A GPU multiplies matrices in units of their own, beside which the maps of
  // an epilogue run: what they cost is the call's slow-down.
  if (target.kind == TargetKind::CUDA)
    if (std::optional<ContractionForm> call = ContractionForm::read(ops))
      return arithmeticSeconds(call->dot, target) *
             (1 + call->slowdown(target));
  double seconds = 0;
  for (Operation *op : ops)
    if (auto hone = dyn_cast<HoneOpInterface>(op))
      seconds += arithmeticSeconds(hone, target);
  return seconds;
}

/// Bytes of an input of a launch that its ops read. `known` are those of ops
/// that were asked for: a norm reads thousands of inputs, and costs as much to
/// ask.
static int64_t readBytes(BlockArgument input,
                         DenseMap<Operation *, int64_t> &known) {
  int64_t whole = byteSize(input.getType()), parts = 0;
  for (Operation *user : input.getUsers()) {
    auto [entry, isNew] = known.try_emplace(user, 0);
    if (auto op = isNew ? dyn_cast<HoneOpInterface>(user) : nullptr)
      entry->second = op.getCost().bytesRead;
    int64_t part = entry->second;
    if (part == 0) // it is copied, or seen with another shape
      return whole;
    parts += part;
  }
  return std::min(whole, parts);
}

OpCost hone::launchCost(plan::LaunchOp launch) {
  OpCost cost;
  Block &body = launch.getBodyBlock();
  for (Operation &op : body.without_terminator())
    if (auto hone = dyn_cast<HoneOpInterface>(op))
      cost.flops += hone.getCost().flops;
  DenseMap<Operation *, int64_t> known;
  for (BlockArgument input : body.getArguments())
    cost.bytesRead += readBytes(input, known);
  for (Value made : body.getTerminator()->getOperands())
    cost.bytesWritten += byteSize(made.getType());
  return cost;
}

KernelTime hone::kernelTime(ArrayRef<Operation *> ops, int64_t bytes,
                            const TargetDescription &target) {
  KernelTime time;
  time.computing = allArithmeticSeconds(ops, target);
  time.moving = double(bytes) / target.bytesPerSecond();
  int64_t kernels = 1;
  if (target.kind == TargetKind::CUDA && ops.size() == 1)
    if (std::optional<LineWork> work = LineWork::of(ops.front()))
      kernels = work->kernels;
  time.launching = double(kernels) * target.launchSeconds();
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

double hone::kernelSeconds(FusedOp group, const TargetDescription &target) {
  SmallVector<Operation *> ops;
  for (Operation &op : group.getBodyBlock().without_terminator())
    ops.push_back(&op);
  return kernelSeconds(ops, group.getInputs(), group.getOutputs(), target);
}
