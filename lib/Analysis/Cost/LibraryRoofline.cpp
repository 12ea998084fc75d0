//===- LibraryRoofline.cpp - The time of a step made of library calls -----===//

#include "hone/Analysis/Cost/LibraryRoofline.h"

#include "hone/Analysis/Recompute/ForwardPart.h"
#include "hone/Sharding/IR/Chunk.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Passes over memory
//===----------------------------------------------------------------------===//

/// Bytes of `value` where a kernel leaves it: as the casts that make or read it
/// say, since they are part of the kernels around them.
static int64_t storedBytes(Value value) {
  int64_t bytes = byteSize(value.getType());
  if (auto cast = value.getDefiningOp<CastOp>())
    bytes = std::min(bytes, byteSize(cast.getOperand().getType()));
  int64_t read = 0;
  for (Operation *reader : value.getUsers()) {
    bool narrows = isa<CastOp>(reader);
    Type type = narrows ? reader->getResult(0).getType() : value.getType();
    read = std::max(read, byteSize(type));
  }
  return value.use_empty() ? bytes : std::min(bytes, read);
}

/// Bytes of all tensors that are more than a scalar.
static int64_t tensorBytes(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values)
    if (cast<RankedTensorType>(value.getType()).getRank() != 0)
      bytes += byteSize(value.getType());
  return bytes;
}

/// The residual and a branch are read, their sum and its norm written.
static int64_t normBytes(Value input, Value result) {
  return 2 * storedBytes(input) + 2 * storedBytes(result);
}

/// The gradient of the norm, its input and the gradient of the residual are
/// read, the sum of gradients written.
static int64_t normBwdBytes(Value grad, Value input, Value result) {
  return storedBytes(grad) + storedBytes(input) + 2 * storedBytes(result);
}

/// Whether a product reads `value`, possibly cast or in another shape.
static bool isReadByProduct(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *reader) {
    if (isa<CastOp, ReshapeOp>(reader))
      return isReadByProduct(reader->getResult(0));
    return isa<DotGeneralOp>(reader);
  });
}

/// A product of two activations for a projection to read, in the forward part:
/// no library has it as an epilogue.
static bool isGate(Operation *op, const ForwardPart &forward) {
  auto makes = [](Value value) {
    Operation *maker = value.getDefiningOp();
    return maker && !isa<ConstantOp, BroadcastOp>(maker);
  };
  return isa<MulOp>(op) && forward.contains(op) &&
         llvm::all_of(op->getOperands(), makes) &&
         isReadByProduct(op->getResult(0));
}

/// Bytes that the kernel of a norm, a loss, a rotation or a gate moves.
static int64_t rowBytes(Operation *op, const ForwardPart &forward) {
  // Gate and what it gates read, the result written; backward also the
  // gradient read and two written.
  if (isGate(op, forward))
    return 8 * storedBytes(op->getResult(0));
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case<LayerNormOp, RmsNormOp>([](auto norm) {
        return normBytes(norm.getInput(), norm.getResult());
      })
      .Case<LayerNormBwdOp, RmsNormBwdOp>([](auto norm) {
        return normBwdBytes(norm.getGrad(), norm.getInput(), norm.getResult());
      })
      // One kernel makes the loss and its gradient.
      .Case([](CrossEntropyBwdOp loss) {
        return storedBytes(loss.getLogits()) + storedBytes(loss.getResult());
      })
      .Case([](RopeOp rope) {
        return storedBytes(rope.getInput()) + storedBytes(rope.getResult());
      })
      .Case<SoftmaxOp, SoftmaxBwdOp>([](auto softmax) {
        return tensorBytes(softmax->getOperands()) +
               tensorBytes(softmax->getResults());
      })
      .Default([](Operation *) { return 0; });
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

/// Adds what `op` takes, run `times` per step.
static void addOp(HoneOpInterface op, const ForwardPart &forward, double times,
                  const TargetDescription &target, LibraryRoofline &limit) {
  if (op->getNumOperands() == 0)
    return;
  Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  double flops = times * double(op.getCost().flops);
  if (op.getKernelFamily() == KernelFamily::attention) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    limit.attention +=
        flops / target.attentionFlopsPerSecond(element, type.getShape().back(),
                                               isa<AttentionBwdOp>(op));
  } else if (op.getNumericClass() == NumericClass::contraction) {
    limit.products += flops / target.contractionFlopsPerSecond(op);
  } else if (op.getKernelFamily() == KernelFamily::multiTensor) {
    limit.updates +=
        times *
        double(tensorBytes(op->getOperands()) + tensorBytes(op->getResults())) /
        target.bytesPerSecond();
  } else {
    limit.rows +=
        times * double(rowBytes(op, forward)) / target.bytesPerSecond();
  }
}

LibraryRoofline hone::findLibraryRoofline(ModuleOp module, int64_t microBatches,
                                          const TargetDescription &target) {
  LibraryRoofline limit;
  for (auto function : module.getOps<func::FuncOp>()) {
    StringRef name = dist::functionWithoutChunk(function.getName());
    bool isPart = name == "step" || name == "accumulate" || name == "update";
    if (!isPart)
      continue;
    ForwardPart forward(function);
    double times = name == "accumulate" ? double(microBatches) : 1.0;
    for (auto op : function.getBody().front().getOps<HoneOpInterface>())
      addOp(op, forward, times, target, limit);
  }
  return limit;
}
