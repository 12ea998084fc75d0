//===- NormKernels.cpp - Kernels of the global norm -----------------------===//

#include "OptimizerKernels.h"

#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/KernelBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

/// Vectors that one step of a loop works on, to keep their latencies apart.
static constexpr int64_t unroll = 4;
static constexpr int64_t blockElements = unroll * kernelLanes;

/// A sum of all lanes, in an order of its own but always the same.
static Value sumLanes(KernelBuilder &b, Value vector) {
  return b.create<vector::ReductionOp>(vector::CombiningKind::ADD, vector,
                                       arith::FastMathFlags::reassoc);
}

/// Emits the sum of squares of the `length` elements of `from` after `start`.
static Value emitSquareSum(KernelBuilder &b, Value from, Value start,
                           Value length, Type compute) {
  auto vectorType = VectorType::get({kernelLanes}, compute);
  auto addSquares = [&](Value sum, Value offset, Value mask) -> Value {
    Value at = b.create<arith::AddIOp>(start, offset);
    Value x = b.loadVector(from, at, compute, mask);
    return b.create<math::FmaOp>(x, x, sum);
  };
  auto whole = [&](int64_t of) -> Value {
    Value rest = b.create<arith::RemUIOp>(length, b.index(of));
    return b.create<arith::SubIOp>(length, rest);
  };
  Value blocks = whole(blockElements), vectors = whole(kernelLanes);
  SmallVector<Value> zeros(unroll, b.constant(vectorType, 0.0));
  SmallVector<Value> sums = b.loop(
      b.index(0), blocks, blockElements, zeros,
      [&](Value at, ValueRange carried) {
        SmallVector<Value> next;
        for (auto [part, sum] : llvm::enumerate(carried))
          next.push_back(addSquares(
              sum, b.create<arith::AddIOp>(at, b.index(part * kernelLanes)),
              {}));
        return next;
      });
  Value sum =
      b.create<arith::AddFOp>(b.create<arith::AddFOp>(sums[0], sums[1]),
                              b.create<arith::AddFOp>(sums[2], sums[3]));
  sum = b.loop(blocks, vectors, kernelLanes, sum,
               [&](Value at, ValueRange carried) -> SmallVector<Value> {
                 return {addSquares(carried[0], at, {})};
               })[0];
  Value mask = b.maskOfFirst(Value(b.create<arith::SubIOp>(length, vectors)));
  return sumLanes(b, addSquares(sum, vectors, mask));
}

FailureOr<TensorTable> hone::squareTable(plan::LaunchOp launch,
                                         FloatType element) {
  auto norm = dyn_cast<GlobalNormOp>(launch.getBodyBlock().front());
  if (!norm || launch.getScratch().size() != 1 ||
      !llvm::all_of(norm.getInputs(), llvm::IsaPred<BlockArgument>) ||
      !llvm::all_of(launch->getOperandTypes(), isContiguous))
    return launch.emitOpError("is no norm of contiguous inputs with a scratch");
  int32_t scratch = launch.getInputs().size() + launch.getOutputs().size();
  TensorTable table{normChunk, {}, normChunk};
  int64_t partials = 0;
  for (Value input : norm.getInputs()) { // one may come twice
    auto type = cast<ShapedType>(input.getType());
    int32_t number = cast<BlockArgument>(input).getArgNumber();
    if (type.getElementType() == element)
      table.tensors.push_back(
          {type.getNumElements(), partials, {number, scratch}});
    partials += normPartials(type);
  }
  return table;
}

FailureOr<Kernel> hone::emitSquareSums(OpBuilder &builder, StringRef name,
                                       plan::LaunchOp launch,
                                       FloatType element) {
  FailureOr<TensorTable> table = squareTable(launch, element);
  if (failed(table))
    return failure();
  int64_t largest = 0;
  for (const TensorTable::Tensor &tensor : table->tensors)
    largest = std::max(largest, tensor.size);
  KernelBuilder b(builder, launch.getLoc(), name,
                  {tensorInTurn(element, largest),
                   launch.getScratch().front().getType(),
                   builder.getIndexType()});
  Value from = b.buffer(0), sums = b.buffer(1), first = b.buffer(2);
  b.loop(b.lo(), b.hi(), normChunk, [&](Value start) {
    Value length = b.create<arith::MinSIOp>(
        b.create<arith::SubIOp>(b.hi(), start), b.index(normChunk));
    Value sum = emitSquareSum(b, from, start, length,
                              elementwise::computeType(element));
    Value chunk = b.create<arith::DivUIOp>(start, b.index(normChunk));
    b.create<memref::StoreOp>(
        b.convertFloat(sum, b.getF32Type()), sums,
        ValueRange(b.create<arith::AddIOp>(first, chunk)));
  });
  return Kernel{b.func, table->items(), 4, *table};
}

FailureOr<Kernel> hone::emitNormFinish(OpBuilder &builder, StringRef name,
                                       plan::LaunchOp launch) {
  if (launch.getScratch().size() != 1)
    return launch.emitOpError("has no scratch for its partial sums");
  Type f64 = builder.getF64Type();
  KernelBuilder b(builder, launch.getLoc(), name,
                  {launch.getScratch().front().getType(),
                   launch.getOutputs().front().getType(),
                   builder.getIndexType()});
  Value sums = b.buffer(0), result = b.buffer(1);
  int64_t partials = cast<ShapedType>(sums.getType()).getNumElements();
  b.loop(b.lo(), b.hi(), 1, [&](Value) {
    Value sum = b.loop(b.index(0), b.index(partials), 1, b.constant(f64, 0.0),
                       [&](Value at, ValueRange carried) -> SmallVector<Value> {
                         Value part = b.create<memref::LoadOp>(sums, at);
                         return {b.create<arith::AddFOp>(
                             carried[0], b.convertFloat(part, f64))};
                       })[0];
    Value norm = b.create<math::SqrtOp>(sum);
    b.create<memref::StoreOp>(
        b.convertFloat(norm, getElementTypeOrSelf(result)), result,
        ValueRange());
  });
  // Of all buffers it sees two only.
  int32_t output = launch.getInputs().size();
  return Kernel{b.func, 1, 1, {1, {{1, 0, {output + 1, output}}}, 1}};
}
