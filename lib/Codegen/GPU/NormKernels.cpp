//===- NormKernels.cpp - The global norm on a GPU -------------------------===//

#include "NormKernels.h"

#include "Builder.h"
#include "Codegen/CPU/OptimizerKernels.h"
#include "Codegen/Common/ElementwiseArith.h"
#include "Items.h"
#include "Threads.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t normThreads = 256;
/// Joins the threads' sums, and lets the first of them do something with it.
static void finish(DeviceBuilder &b, Value sum, function_ref<void(Value)> use) {
  DeviceThreads::Partial partial = {ReduceKind::sum, sum};
  Value total = b.threads.reduce(partial, normThreads / warpSize).front();
  b.emitIf(b.less(b.threads.threadNumber(), 1), [&] { use(total); });
}

/// This thread's sum of squares of the `length` elements from `start` on:
/// vectors, then what is left of them.
static Value sumSquares(DeviceBuilder &b, Value input, Type element,
                        int64_t lanes, Value start, Value length) {
  Type compute = elementwise::computeType(element);
  auto memoryType = VectorType::get({lanes}, element);
  auto vectorType = VectorType::get({lanes}, compute);
  Value thread = b.threads.threadNumber();
  auto widen = [&](Value loaded) {
    return elementwise::convertFloat(b, b.getLoc(), loaded, compute);
  };
  Value rest = b.create<arith::RemUIOp>(length, b.index(lanes));
  Value whole = b.create<arith::SubIOp>(length, rest);
  Value zero = b.create<arith::ConstantOp>(b.getZeroAttr(vectorType));
  Value first = b.mul(thread, lanes);
  Value sums = b.sum(
      first, whole, normThreads * lanes, zero, [&](Value at, Value before) {
        Value x = widen(b.load(input, memoryType, b.add(start, at)));
        return b.create<math::FmaOp>(x, x, before).getResult();
      });
  Value sum = elementwise::reduceLanes(b, b.getLoc(), ReduceKind::sum, sums);
  return b.sum(b.add(whole, thread), length, normThreads, sum,
               [&](Value at, Value before) {
                 Value x = widen(b.load(input, element, b.add(start, at)));
                 return b.create<math::FmaOp>(x, x, before).getResult();
               });
}

FailureOr<GridKernel> hone::emitDeviceSquareSums(OpBuilder &builder,
                                                 StringRef name,
                                                 plan::LaunchOp launch,
                                                 FloatType element) {
  FailureOr<TensorTable> tensors = squareTable(launch, element);
  if (failed(tensors))
    return failure();
  SmallVector<int64_t> offsets = arenaOffsets(launch);
  OpBuilder::InsertionGuard guard(builder);
  DeviceBuilder b(builder, launch.getLoc());
  gpu::GPUFuncOp func = b.begin(name, /*addresses=*/1, normThreads);
  DeviceTable table(b, func, *tensors, normChunk, offsets);
  Value arena = func.getArgument(0), block = b.threads.blockNumber();
  Value tensor = table.findTensor(block);
  Value chunk = table.blockOfTensor(block, tensor);
  Value start = b.mul(chunk, normChunk);
  Value length = b.create<arith::MinUIOp>(
      b.create<arith::SubIOp>(table.size(tensor), start), b.index(normChunk));
  SmallVector<int64_t> starts; // of the inputs
  for (const TensorTable::Tensor &entry : tensors->tensors)
    starts.push_back(offsets[entry.buffers.front()]);
  int64_t lanes = DeviceBuilder::lanesOf(element, normChunk, starts);
  Value sum = sumSquares(b, table.address(arena, tensor, 0), element, lanes,
                         start, length);
  finish(b, sum, [&](Value total) {
    Value rounded =
        elementwise::convertFloat(b, b.getLoc(), total, b.getF32Type());
    b.store(rounded, table.address(arena, tensor, 1),
            b.add(table.tag(tensor), chunk));
  });
  if (lanes == DeviceBuilder::lanesOf(element, normChunk, {}) &&
      tensors->largest() >= lanes)
    markVectorised(func, /*accesses=*/1);
  return GridKernel{func, table.blocks(), normThreads};
}

FailureOr<GridKernel> hone::emitDeviceNormFinish(OpBuilder &builder,
                                                 StringRef name,
                                                 plan::LaunchOp launch) {
  if (launch.getScratch().size() != 1)
    return launch.emitOpError("has no scratch for its partial sums");
  OpBuilder::InsertionGuard guard(builder);
  DeviceBuilder b(builder, launch.getLoc());
  gpu::GPUFuncOp func = b.begin(name, /*addresses=*/1, normThreads);
  Value arena = func.getArgument(0);
  auto addressOf = [&](Value buffer) -> Value {
    Value offset =
        b.create<arith::ConstantIntOp>(plan::arenaOffset(buffer), 64);
    return b.create<LLVM::GEPOp>(arena.getType(), b.getI8Type(), arena,
                                 ArrayRef<LLVM::GEPArg>{offset});
  };
  Value result = addressOf(launch.getOutputs().front());
  Value parts = addressOf(launch.getScratch().front());
  int64_t count =
      cast<ShapedType>(launch.getScratch().front().getType()).getNumElements();
  Type f32 = b.getF32Type(), f64 = b.getF64Type();
  Value zero = b.create<arith::ConstantOp>(b.getF64FloatAttr(0));
  Value sum = b.sum(b.threads.threadNumber(), b.index(count), normThreads, zero,
                    [&](Value at, Value before) {
                      Value part = elementwise::convertFloat(
                          b, b.getLoc(), b.load(parts, f32, at), f64);
                      return b.create<arith::AddFOp>(before, part).getResult();
                    });
  Type element = getElementTypeOrSelf(launch.getOutputs().front().getType());
  finish(b, sum, [&](Value total) {
    Value norm = b.create<math::SqrtOp>(total);
    b.store(elementwise::convertFloat(b, b.getLoc(), norm, element), result,
            b.index(0));
  });
  return GridKernel{func, 1, normThreads};
}
