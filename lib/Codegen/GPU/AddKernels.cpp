//===- AddKernels.cpp - Additions of many tensors on a GPU ----------------===//

#include "AddKernels.h"

#include "Builder.h"
#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/KernelBuilder.h"
#include "Items.h"

using namespace mlir;
using namespace hone;

/// Threads of a block, and vectors of each.
static constexpr int64_t addThreads = 128, threadVectors = 8;

/// Operands and result of each addition of `element`s.
static FailureOr<TensorTable> addTable(plan::LaunchOp launch, Type element) {
  TensorTable table;
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
  SmallVector<int64_t> offsets = arenaOffsets(launch), starts;
  for (const TensorTable::Tensor &tensor : tensors->tensors)
    for (int32_t buffer : tensor.buffers)
      starts.push_back(offsets[buffer]);
  int64_t lanes = DeviceBuilder::lanesOf(element, /*size=*/0, starts);
  int64_t chunk = addThreads * lanes * threadVectors;
  OpBuilder::InsertionGuard guard(builder);
  DeviceBuilder b(builder, launch.getLoc());
  gpu::GPUFuncOp func = b.begin(name, /*addresses=*/1, addThreads);
  DeviceTable table(b, func, *tensors, chunk, offsets);
  Value arena = func.getArgument(0), block = b.threads.blockNumber();
  Value tensor = table.findTensor(block), thread = b.threads.threadNumber();
  SmallVector<Value> addresses;
  for (int64_t argument : {0, 1, 2})
    addresses.push_back(table.address(arena, tensor, argument));
  auto addAt = [&](Value at, Type type) {
    SmallVector<Value> terms;
    for (Value address : ArrayRef(addresses).drop_back())
      terms.push_back(elementwise::fromMemory(
          b, b.getLoc(), b.load(address, type, at), element));
    Value sum = elementwise::combine(b, b.getLoc(), ReduceKind::sum, terms[0],
                                     terms[1]);
    b.store(elementwise::toMemory(b, b.getLoc(), sum, element), addresses[2],
            at);
  };
  Value lo = b.mul(table.blockOfTensor(block, tensor), chunk);
  Value hi = b.create<arith::MinUIOp>(b.add(lo, chunk), table.size(tensor));
  Value count = b.create<arith::SubIOp>(hi, lo);
  Value rest = b.create<arith::RemUIOp>(count, b.index(lanes));
  Value whole = b.create<arith::SubIOp>(hi, rest);
  b.loop(b.add(lo, b.mul(thread, lanes)), whole, addThreads * lanes,
         [&](Value at) { addAt(at, VectorType::get({lanes}, element)); });
  // Fewer elements than a vector has.
  if (llvm::any_of(tensors->tensors, [&](const TensorTable::Tensor &entry) {
        return entry.size % lanes != 0;
      }))
    b.loop(b.add(whole, thread), hi, addThreads,
           [&](Value at) { addAt(at, element); });
  if (lanes * elementByteWidth(element) == accessBytes &&
      tensors->largest() >= lanes)
    markVectorised(func, /*accesses=*/3);
  return GridKernel{func, table.blocks(), addThreads};
}
