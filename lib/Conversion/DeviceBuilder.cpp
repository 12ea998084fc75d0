//===- DeviceBuilder.cpp - Code of one thread of a GPU --------------------===//

#include "DeviceBuilder.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t accessBytes = 16;

/// Bytes of a scalar or vector.
static int64_t bytesOf(Type type) {
  int64_t lanes = 1;
  if (auto vector = dyn_cast<VectorType>(type))
    lanes = vector.getNumElements();
  return lanes * elementByteWidth(getElementTypeOrSelf(type));
}

gpu::GPUFuncOp DeviceBuilder::begin(StringRef name, int64_t addresses,
                                    int64_t blockThreads) {
  SmallVector<Type> types(addresses, LLVM::LLVMPointerType::get(getContext()));
  return threads.begin(name, types, blockThreads);
}

Value DeviceBuilder::lane() {
  return create<arith::RemUIOp>(threads.threadNumber(), index(warpSize));
}

Value DeviceBuilder::globalThread(int64_t blockThreads) {
  return add(mul(threads.blockNumber(), blockThreads), threads.threadNumber());
}

int64_t DeviceBuilder::lanesOf(Type element, int64_t size,
                               ArrayRef<int64_t> offsets) {
  int64_t width = elementByteWidth(element), lanes = accessBytes / width;
  auto isAligned = [&](int64_t offset) {
    return offset % (lanes * width) == 0;
  };
  while (size % lanes != 0 || !llvm::all_of(offsets, isAligned))
    lanes /= 2;
  return lanes;
}

Value DeviceBuilder::place(Value address, Type type, Value offset) {
  Value number = create<arith::IndexCastOp>(getI64Type(), offset);
  return create<LLVM::GEPOp>(address.getType(), getElementTypeOrSelf(type),
                             address, ArrayRef<LLVM::GEPArg>{number});
}

Value DeviceBuilder::load(Value address, Type type, Value offset) {
  return create<LLVM::LoadOp>(type, place(address, type, offset),
                              bytesOf(type));
}

Value DeviceBuilder::loadIf(Value condition, Value address, Type type,
                            Value offset) {
  auto choice = create<scf::IfOp>(
      condition,
      [&](OpBuilder &, Location) {
        create<scf::YieldOp>(load(address, type, offset));
      },
      [&](OpBuilder &, Location) {
        Value zero = create<arith::ConstantOp>(getZeroAttr(type));
        create<scf::YieldOp>(zero);
      });
  return choice.getResult(0);
}

void DeviceBuilder::store(Value value, Value address, Value offset) {
  create<LLVM::StoreOp>(value, place(address, value.getType(), offset),
                        bytesOf(value.getType()));
}

void DeviceBuilder::emitIf(Value condition, function_ref<void()> emit) {
  create<scf::IfOp>(condition, [&](OpBuilder &, Location) {
    emit();
    create<scf::YieldOp>();
  });
}

Value DeviceBuilder::sum(Value from, Value to, int64_t step, Value start,
                         function_ref<Value(Value, Value)> next) {
  auto loop = create<scf::ForOp>(
      from, to, index(step), start,
      [&](OpBuilder &, Location, Value at, ValueRange carried) {
        create<scf::YieldOp>(next(at, carried.front()));
      });
  return loop.getResult(0);
}
