//===- LineCode.cpp - Elements of lines in kernels of a GPU ---------------===//

#include "LineCode.h"

#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/KernelBuilder.h"
#include "hone/Analysis/Memory/Scratch.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hone;

LineCode::LineCode(OpBuilder &builder, plan::LaunchOp launch, Operation *op)
    : DeviceBuilder(builder, launch.getLoc()), launch(launch), op(op),
      dim(LineSort::dimOf(op)), compared(LineSort::compared(op)),
      key(LineSort::keyType(compared)), lineShape(shapeOf(compared)) {
  if (auto sort = dyn_cast<ArgsortOp>(op))
    isDescending = sort.getDescending();
  if (auto top = dyn_cast<TopkOp>(op))
    isDescending = !top.getSmallest();
  size = lineShape[dim];
  resultSize = shapeOf(op->getResult(0))[dim];
  lineShape[dim] = 1;
  lines = ShapedType::getNumElements(lineShape);
  // Items are counted in whole blocks, elements in whole tiles.
  constexpr int64_t rounding = 1 << 10;
  largest = (lines + 1) * (std::max(size, resultSize) + rounding);
  for (Value buffer : launch->getOperands())
    largest = std::max(largest, extent(buffer));
}

/// Elements from the first of a buffer to behind its last.
int64_t LineCode::extent(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  int64_t last = 0;
  for (auto [size, stride] :
       llvm::zip(type.getShape(), getStridesAndOffset(type).first))
    last += std::max<int64_t>(0, size - 1) * stride;
  return last + 1;
}

gpu::GPUFuncOp LineCode::start(StringRef name, int64_t blockThreads) {
  return func = begin(name, launch->getNumOperands(), blockThreads);
}

Value LineCode::number(int64_t value) {
  bool isSmall = largest <= std::numeric_limits<int32_t>::max();
  Type type = isSmall ? getI32Type() : getI64Type();
  return create<arith::ConstantOp>(getIntegerAttr(type, value));
}

Value LineCode::block() { return blockFor(largest); }

Value LineCode::thread() { return threadFor(largest); }

Value LineCode::item(int64_t blockThreads) {
  return add(mul(block(), blockThreads), thread());
}

Value LineCode::asNumber(Value i32) {
  Type type = number(0).getType();
  return type == i32.getType() ? i32 : create<arith::ExtUIOp>(type, i32);
}

Value LineCode::asI32(Value number) {
  Type i32 = getI32Type();
  return number.getType() == i32 ? number
                                 : create<arith::TruncIOp>(i32, number);
}

void LineCode::setLine(Value number) {
  lineNumber = number;
  line = delinearize(number, lineShape);
}

Value LineCode::offset(Value buffer, Value place) {
  SmallVector<int64_t> strides =
      getStridesAndOffset(cast<MemRefType>(buffer.getType())).first;
  SmallVector<Value> at(line);
  at[dim] = place;
  return linearize(at, strides);
}

Value LineCode::read(Value operand, Value place) {
  unsigned index = cast<BlockArgument>(operand).getArgNumber();
  Value buffer = launch.getInputs()[index];
  Type memory =
      kernelBufferType(cast<MemRefType>(buffer.getType())).getElementType();
  Value loaded = load(func.getArgument(index), memory, offset(buffer, place));
  return elementwise::fromMemory(*this, getLoc(), loaded, elementOf(operand));
}

void LineCode::write(Value element, Value place) {
  Value buffer = launch.getOutputs().front();
  Type memory =
      kernelBufferType(cast<MemRefType>(buffer.getType())).getElementType();
  store(elementwise::toMemory(*this, getLoc(), element, memory),
        func.getArgument(launch.getInputs().size()), offset(buffer, place));
}

void LineCode::writeRank(Value place, Value rank) {
  if (resultSize < size)
    return emitIf(less(rank, number(resultSize)),
                  [&] { writeId(place, rank); });
  writeId(place, rank);
}

void LineCode::writeId(Value element, Value place) {
  Type type = elementOf(op->getResult(0));
  unsigned from = element.getType().getIntOrFloatBitWidth(),
           to = type.getIntOrFloatBitWidth();
  if (from < to)
    element = create<arith::ExtUIOp>(type, element);
  if (from > to)
    element = create<arith::TruncIOp>(type, element);
  write(element, place);
}

Value LineCode::scratch(unsigned index) {
  return func.getArgument(launch.getInputs().size() +
                          launch.getOutputs().size() + index);
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// Both zeros are equal, and so are all NaNs, which are the greatest.
Value LineCode::keyOfFloat(Value element) {
  Type type = element.getType();
  Value zero = create<arith::ConstantOp>(getZeroAttr(type));
  auto isTrue = [&](arith::CmpFPredicate predicate, Value a, Value b) -> Value {
    return create<arith::CmpFOp>(predicate, a, b);
  };
  Value isZero = isTrue(arith::CmpFPredicate::OEQ, element, zero);
  Value isNaN = isTrue(arith::CmpFPredicate::UNO, element, element);
  Value bits = create<arith::BitcastOp>(
      key, Value(create<arith::SelectOp>(isZero, zero, element)));
  // The other bits of a negative float grow with its magnitude.
  Value sign = create<arith::ShRSIOp>(
      bits, DeviceBuilder::number(bits, key.getIntOrFloatBitWidth() - 1));
  Value ordered = create<arith::XOrIOp>(
      bits, Value(create<arith::AndIOp>(sign, lastKey())));
  return create<arith::SelectOp>(isNaN, lastKey(), ordered);
}

Value LineCode::keyAt(Value place) {
  Value element = read(compared, place);
  if (isa<FloatType>(element.getType()))
    element = keyOfFloat(element);
  else if (element.getType() != key)
    element = create<arith::ExtSIOp>(key, element);
  if (!isDescending)
    return element;
  return create<arith::XOrIOp>(element, DeviceBuilder::number(element, -1));
}

Value LineCode::lastKey() {
  APInt most = APInt::getSignedMaxValue(key.getIntOrFloatBitWidth());
  return create<arith::ConstantOp>(getIntegerAttr(key, most));
}

Value LineCode::before(Value a, Value b) {
  return create<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
}

Value LineCode::notAfter(Value a, Value b) {
  return create<arith::CmpIOp>(arith::CmpIPredicate::sle, a, b);
}

Value LineCode::countKeys(Value keys, Value first, int64_t size,
                          function_ref<Value(Value)> isCounted) {
  Value count = number(0);
  for (int64_t step = llvm::bit_floor(uint64_t(size)); step > 0; step /= 2) {
    Value next = add(count, step);
    Value bounded = create<arith::MinUIOp>(next, number(size));
    Value last = add(add(first, bounded), DeviceBuilder::number(first, -1));
    Value holds = both(
        isCounted(load(keys, key, last)),
        create<arith::CmpIOp>(arith::CmpIPredicate::ule, next, number(size)));
    count = create<arith::SelectOp>(holds, next, count);
  }
  return count;
}
