//===- PoolKernels.cpp - Maxima over windows ------------------------------===//

#include "PoolKernels.h"

#include "WindowTaps.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

/// Vector operations worth a thread.
static constexpr int64_t grainOperations = 1024;

namespace {
class PoolEmitter : KernelBuilder {
public:
  /// `dims` leads from positions of a tensor of `shape` to what they read.
  PoolEmitter(OpBuilder &builder, StringRef name, plan::LaunchOp launch,
              TapDims dims, ArrayRef<int64_t> shape)
      : KernelBuilder(builder, name, launch), dims(dims), shape(shape),
        channels(shape.back()) {
    for (const TapDim &dim : dims) {
      taps *= dim.taps;
      readSize *= dim.size;
    }
    floats = VectorType::get({kernelLanes}, getF32Type());
    integers = VectorType::get({kernelLanes}, getI32Type());
  }

  /// The maximum of the taps' elements, and which tap has it.
  Kernel maximum();
  /// The sum of the elements whose tap is the one that reads them, the first
  /// tap first.
  Kernel gradient();

private:
  /// An item: the sums or maxima of some channels at one position.
  Kernel forItems(function_ref<void(ArrayRef<Value> at, Value start)> body);
  Value startOf(Value image, Value position);
  Value number(Value tap) {
    return create<arith::IndexCastOp>(getI32Type(), tap);
  }
  Value splat(Value scalar) {
    return create<vector::BroadcastOp>(integers, scalar);
  }

  TapDims dims;
  ArrayRef<int64_t> shape;
  int64_t channels, taps = 1, readSize = 1;
  VectorType floats, integers;
  ChannelVector channel; // of the item
};
} // namespace

Kernel PoolEmitter::forItems(
    function_ref<void(ArrayRef<Value> at, Value start)> body) {
  SmallVector<int64_t> items(shape);
  items.back() = llvm::divideCeil(channels, kernelLanes);
  loop(lo(), hi(), 1, [&](Value item) {
    SmallVector<Value> at = delinearize(item, items);
    channel = channelVector(*this, at.pop_back_val(), channels);
    Value position = create<arith::DivUIOp>(item, index(items.back()));
    body(at, create<arith::AddIOp>(affine(*this, position, channels),
                                   channel.first));
  });
  return {func, ShapedType::getNumElements(items),
          std::max<int64_t>(1, grainOperations / taps)};
}

/// Where the item's channels of a position of the tensor that is read begin.
Value PoolEmitter::startOf(Value image, Value position) {
  Value row = create<arith::AddIOp>(affine(*this, image, readSize), position);
  return create<arith::AddIOp>(affine(*this, row, channels), channel.first);
}

Kernel PoolEmitter::maximum() {
  Value source = flat(buffer(0)), best = flat(buffer(1)),
        tapOf = flat(buffer(2));
  return forItems([&](ArrayRef<Value> at, Value start) {
    SmallVector<Value> none = {constant(floats, 0), integer(integers, -1)};
    SmallVector<Value> found = loopOverTaps(
        *this, dims, at.drop_front(), none,
        [&](Value tap, Value read, ValueRange leader) -> SmallVector<Value> {
          Value x = loadVector(source, startOf(at.front(), read), getF32Type(),
                               channel.mask);
          Value isFirst = create<arith::CmpIOp>(
              arith::CmpIPredicate::slt, leader[1], integer(integers, 0));
          // A NaN is greater than any number.
          Value isNumber = create<arith::CmpFOp>(arith::CmpFPredicate::ORD,
                                                 leader[0], leader[0]);
          Value notLess =
              create<arith::CmpFOp>(arith::CmpFPredicate::UGT, x, leader[0]);
          Value wins = create<arith::OrIOp>(
              isFirst, create<arith::AndIOp>(isNumber, notLess));
          return {create<arith::SelectOp>(wins, x, leader[0]),
                  create<arith::SelectOp>(wins, splat(number(tap)), leader[1])};
        });
    storeVector(found[0], best, start, channel.mask);
    storeVector(found[1], tapOf, start, channel.mask);
  });
}

Kernel PoolEmitter::gradient() {
  Value grad = flat(buffer(0)), tapOf = flat(buffer(1)),
        target = flat(buffer(2));
  return forItems([&](ArrayRef<Value> at, Value start) {
    Value zero = constant(floats, 0);
    SmallVector<Value> sum = loopOverTaps(
        *this, dims, at.drop_front(), zero,
        [&](Value tap, Value read, ValueRange carried) -> SmallVector<Value> {
          Value place = startOf(at.front(), read);
          Value taken = loadVector(tapOf, place, getF32Type(), channel.mask);
          Value y = loadVector(grad, place, getF32Type(), channel.mask);
          // Taps count from the window's last.
          Value own = splat(number(affine(*this, tap, -1, taps - 1)));
          Value isOwn =
              create<arith::CmpIOp>(arith::CmpIPredicate::eq, taken, own);
          return {create<arith::AddFOp>(
              carried[0], create<arith::SelectOp>(isOwn, y, zero))};
        },
        /*down=*/true);
    storeVector(sum[0], target, start, channel.mask);
  });
}

std::optional<Kernel> hone::emitPool(OpBuilder &builder, StringRef name,
                                     plan::LaunchOp launch) {
  Operation *op = &launch.getBodyBlock().front();
  if (!isa<MaxPoolOp, MaxPoolBwdOp>(op) || !isVectorLaunch(launch))
    return std::nullopt;
  OpBuilder::InsertionGuard guard(builder);
  auto spatial = [](Value value) {
    return shapeOf(value).drop_front().drop_back();
  };
  if (auto pool = dyn_cast<MaxPoolOp>(op))
    return PoolEmitter(builder, name, launch,
                       tapsOfInput(pool.getWindow(), spatial(pool.getInput())),
                       shapeOf(pool.getResult()))
        .maximum();
  auto pool = cast<MaxPoolBwdOp>(op);
  return PoolEmitter(builder, name, launch,
                     tapsOfOutput(pool.getWindow(), spatial(pool.getGrad())),
                     shapeOf(pool.getResult()))
      .gradient();
}
