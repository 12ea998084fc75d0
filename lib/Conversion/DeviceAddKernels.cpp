//===- DeviceAddKernels.cpp - Additions of many tensors on a GPU ----------===//

#include "hone/Conversion/DeviceAddKernels.h"

#include "DeviceBuilder.h"
#include "KernelBuilder.h"
#include "PointOps.h"
#include "hone/Conversion/DeviceItems.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t addThreads = 256;

/// Operands and result of each addition of `element`s.
static FailureOr<TensorTable> addTable(plan::LaunchOp launch, Type element) {
  TensorTable table{addThreads, {}, /*slice=*/1};
  Operation *yield = launch.getBodyBlock().getTerminator();
  for (Operation &op : launch.getBodyBlock().without_terminator()) {
    auto add = dyn_cast<AddOp>(op);
    auto output = llvm::find(yield->getOperands(), op.getResult(0));
    if (!add || output == yield->getOperands().end() ||
        !llvm::all_of(op.getOperands(), llvm::IsaPred<BlockArgument>) ||
        !llvm::all_of(launch->getOperandTypes(), isContiguous))
      return launch.emitOpError(
          "is no group of additions of contiguous inputs");
    auto type = cast<ShapedType>(add.getType());
    if (type.getElementType() != element)
      continue;
    auto inputNumber = [](Value value) {
      return int32_t(cast<BlockArgument>(value).getArgNumber());
    };
    table.tensors.push_back(
        {type.getNumElements(),
         /*tag=*/0,
         {inputNumber(add.getLhs()), inputNumber(add.getRhs()),
          int32_t(launch.getInputs().size() +
                  std::distance(yield->operand_begin(), output))}});
  }
  return table;
}

FailureOr<GridKernel> hone::emitDeviceAdds(OpBuilder &builder, StringRef name,
                                           plan::LaunchOp launch,
                                           Type element) {
  FailureOr<TensorTable> tensors = addTable(launch, element);
  if (failed(tensors))
    return failure();
  SmallVector<int64_t> offsets = arenaOffsets(launch);
  OpBuilder::InsertionGuard guard(builder);
  DeviceBuilder b(builder, launch.getLoc());
  gpu::GPUFuncOp func = b.begin(name, /*addresses=*/1, addThreads);
  DeviceTable table(b, func, *tensors, addThreads, offsets);
  Value arena = func.getArgument(0), block = b.threads.blockNumber();
  Value tensor = table.findTensor(block);
  Value at = b.add(b.mul(table.blockOfTensor(block, tensor), addThreads),
                   b.threads.threadNumber());
  Value exists = b.create<arith::CmpIOp>(arith::CmpIPredicate::ult, at,
                                         table.size(tensor));
  b.emitIf(exists, [&] {
    SmallVector<Value> terms;
    for (int64_t argument : {0, 1})
      terms.push_back(pointops::fromMemory(
          b, b.getLoc(),
          b.load(table.address(arena, tensor, argument), element, at),
          element));
    Value sum =
        pointops::combine(b, b.getLoc(), ReduceKind::sum, terms[0], terms[1]);
    b.store(pointops::toMemory(b, b.getLoc(), sum, element),
            table.address(arena, tensor, 2), at);
  });
  return GridKernel{func, table.blocks(), addThreads};
}
