//===- RopeKernels.cpp - Kernels of rotary embeddings ---------------------===//

#include "RopeKernels.h"

#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/KernelBuilder.h"
#include "Codegen/Common/RopePair.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

std::pair<Value, Value> hone::turnPair(OpBuilder &builder, RopeOp op, Value x,
                                       Value y, Value c, Value s) {
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  if (op.getInverse())
    s = b.create<arith::NegFOp>(s);
  Value ys = b.create<arith::NegFOp>(b.create<arith::MulFOp>(y, s));
  Value xs = b.create<arith::MulFOp>(x, s);
  return {b.create<math::FmaOp>(x, c, ys), b.create<math::FmaOp>(y, c, xs)};
}

namespace {
struct RopeEmitter : KernelBuilder {
  RopeEmitter(OpBuilder &builder, plan::LaunchOp launch, StringRef name,
              RopeOp op)
      : KernelBuilder(builder, name, launch), op(op),
        compute(elementwise::computeType(getElementTypeOrSelf(op))),
        input(argument(op.getInput())), cosines(argument(op.getCos())),
        sines(argument(op.getSin())),
        output(buffer(launch.getInputs().size())) {}

  Value argument(Value value) {
    return buffer(cast<BlockArgument>(value).getArgNumber());
  }
  Value add(Value lhs, int64_t rhs) {
    return create<arith::AddIOp>(lhs, index(rhs));
  }
  Value twice(Value value) { return create<arith::AddIOp>(value, value); }

  std::pair<Value, Value> rotate(Value x, Value y, Value c, Value s) {
    return turnPair(*this, op, x, y, c, s);
  }

  void rotateVectors(SmallVector<Value> at, Value position, int64_t half);
  void rotateElements(SmallVector<Value> at, Value position, int64_t half);
  Kernel emit();

  RopeOp op;
  Type compute;
  Value input, cosines, sines, output;
};
} // namespace

void RopeEmitter::rotateVectors(SmallVector<Value> at, Value position,
                                int64_t half) {
  SmallVector<int64_t> even, odd, low, high;
  for (int64_t lane = 0; lane < kernelLanes; ++lane) {
    even.push_back(2 * lane);
    odd.push_back(2 * lane + 1);
    int64_t pair = lane / 2 + (lane % 2) * kernelLanes;
    low.push_back(pair);
    high.push_back(pair + kernelLanes / 2);
  }
  bool interleaved = op.getStyle() == RopeStyle::interleaved;
  loop(index(0), index(half), kernelLanes, [&](Value j) {
    SmallVector<Value> first(at), second(at);
    first.push_back(interleaved ? twice(j) : j);
    second.push_back(add(first.back(), interleaved ? kernelLanes : half));
    Value x = loadVector(input, first, compute);
    Value y = loadVector(input, second, compute);
    Value c = loadVector(cosines, {position, j}, compute);
    Value s = loadVector(sines, {position, j}, compute);
    if (!interleaved) {
      auto [turnedX, turnedY] = rotate(x, y, c, s);
      storeVector(turnedX, output, first);
      storeVector(turnedY, output, second);
      return;
    }
    Value evens = create<vector::ShuffleOp>(x, y, even);
    Value odds = create<vector::ShuffleOp>(x, y, odd);
    auto [turnedX, turnedY] = rotate(evens, odds, c, s);
    storeVector(create<vector::ShuffleOp>(turnedX, turnedY, low), output,
                first);
    storeVector(create<vector::ShuffleOp>(turnedX, turnedY, high), output,
                second);
  });
}

void RopeEmitter::rotateElements(SmallVector<Value> at, Value position,
                                 int64_t half) {
  bool interleaved = op.getStyle() == RopeStyle::interleaved;
  auto load = [&](Value buffer, ValueRange indices) {
    return convertFloat(create<memref::LoadOp>(buffer, indices), compute);
  };
  auto store = [&](Value value, ValueRange indices) {
    Type element = cast<MemRefType>(output.getType()).getElementType();
    create<memref::StoreOp>(convertFloat(value, element), output, indices);
  };
  loop(index(0), index(half), 1, [&](Value j) {
    SmallVector<Value> first(at), second(at);
    first.push_back(interleaved ? twice(j) : j);
    second.push_back(add(first.back(), interleaved ? 1 : half));
    auto [x, y] =
        rotate(load(input, first), load(input, second),
               load(cosines, {position, j}), load(sines, {position, j}));
    store(x, first);
    store(y, second);
  });
}

Kernel RopeEmitter::emit() {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op.getType()).getShape(); // [B, T, H, D]
  ArrayRef<int64_t> rows = shape.drop_back();
  int64_t half = shape.back() / 2;
  loop(lo(), hi(), 1, [&](Value item) {
    SmallVector<Value> at = delinearize(item, rows);
    if (half % kernelLanes == 0)
      rotateVectors(at, at[1], half);
    else
      rotateElements(at, at[1], half);
  });
  return {func, ShapedType::getNumElements(rows),
          std::max<int64_t>(1, 4096 / std::max<int64_t>(1, half))};
}

/// Whether vectors can be loaded along the last dimension.
static bool hasContiguousRows(Type type) {
  auto [strides, offset] = getStridesAndOffset(cast<MemRefType>(type));
  return strides.empty() || strides.back() == 1;
}

FailureOr<RopeOp> hone::readRope(plan::LaunchOp launch) {
  Block &body = launch.getBodyBlock();
  auto op = dyn_cast<RopeOp>(body.front());
  bool isAlone =
      op && op->getNextNode() == body.getTerminator() &&
      llvm::equal(body.getTerminator()->getOperands(), op->getResults()) &&
      llvm::all_of(op->getOperands(), llvm::IsaPred<BlockArgument>);
  if (!isAlone || !llvm::all_of(launch->getOperandTypes(), hasContiguousRows))
    return launch.emitOpError("is no rope of inputs with contiguous rows");
  return op;
}

FailureOr<Kernel> hone::emitRope(OpBuilder &builder, StringRef name,
                                 plan::LaunchOp launch) {
  FailureOr<RopeOp> op = readRope(launch);
  if (failed(op))
    return failure();
  return RopeEmitter(builder, launch, name, *op).emit();
}
