//===- Builder.cpp - Code of one thread of a GPU --------------------------===//

#include "Builder.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace hone;

/// Bytes of a scalar or vector.
static int64_t bytesOf(Type type) {
  int64_t lanes = 1;
  if (auto vector = dyn_cast<VectorType>(type))
    lanes = vector.getNumElements();
  return lanes * elementByteWidth(getElementTypeOrSelf(type));
}

void hone::markVectorised(gpu::GPUFuncOp func, int64_t accesses) {
  func->setAttr(attr::vectorised,
                Builder(func.getContext()).getI64IntegerAttr(accesses));
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

/// An index as the integer type that holds numbers up to `largest`.
static Value narrow(DeviceBuilder &b, Value value, int64_t largest) {
  bool isSmall = largest <= std::numeric_limits<int32_t>::max();
  return b.create<arith::IndexCastOp>(isSmall ? b.getI32Type() : b.getI64Type(),
                                      value);
}

Value DeviceBuilder::threadFor(int64_t largest) {
  return narrow(*this, threads.threadNumber(), largest);
}

Value DeviceBuilder::blockFor(int64_t largest) {
  return narrow(*this, threads.blockNumber(), largest);
}

SmallVector<Value> DeviceBuilder::delinearize(Value linear,
                                              ArrayRef<int64_t> shape) {
  SmallVector<Value> at(shape.size());
  for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
    if (shape[dim] == 1) {
      at[dim] = number(linear, 0);
      continue;
    }
    bool isOutermost = llvm::all_of(shape.take_front(dim),
                                    [](int64_t size) { return size == 1; });
    Value size = number(linear, shape[dim]);
    at[dim] = isOutermost ? linear : create<arith::RemUIOp>(linear, size);
    if (!isOutermost)
      linear = create<arith::DivUIOp>(linear, size);
  }
  return at;
}

Value DeviceBuilder::linearize(ArrayRef<Value> at, ArrayRef<int64_t> strides,
                               int64_t base) {
  Value sum;
  for (auto [position, stride] : llvm::zip_equal(at, strides)) {
    Value term = mul(position, stride);
    sum = sum ? add(sum, term) : term;
  }
  return add(sum, base);
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
  Type i64 = getI64Type();
  Value number = offset;
  if (offset.getType().isIndex())
    number = create<arith::IndexCastOp>(i64, offset);
  else if (offset.getType() != i64)
    number = create<arith::ExtUIOp>(i64, offset);
  return create<LLVM::GEPOp>(address.getType(), getElementTypeOrSelf(type),
                             address, ArrayRef<LLVM::GEPArg>{number});
}

Value DeviceBuilder::load(Value address, Type type) {
  return create<LLVM::LoadOp>(type, address,
                              std::min(bytesOf(type), accessBytes));
}

Value DeviceBuilder::loadIf(Value condition, Value address, Type type) {
  auto choice = create<scf::IfOp>(
      condition,
      [&](OpBuilder &, Location) { create<scf::YieldOp>(load(address, type)); },
      [&](OpBuilder &, Location) {
        Value zero = create<arith::ConstantOp>(getZeroAttr(type));
        create<scf::YieldOp>(zero);
      });
  return choice.getResult(0);
}

void DeviceBuilder::store(Value value, Value address) {
  create<LLVM::StoreOp>(value, address,
                        std::min(bytesOf(value.getType()), accessBytes));
}

void DeviceBuilder::emitIf(Value condition, function_ref<void()> emit) {
  create<scf::IfOp>(condition, [&](OpBuilder &, Location) {
    emit();
    create<scf::YieldOp>();
  });
}

void DeviceBuilder::loop(Value from, Value to, int64_t step,
                         function_ref<void(Value)> body) {
  create<scf::ForOp>(from, to, number(from, step), ValueRange(),
                     [&](OpBuilder &, Location, Value at, ValueRange) {
                       body(at);
                       create<scf::YieldOp>();
                     });
}

Value DeviceBuilder::ballot(Value bit) {
  Value members = create<arith::ConstantOp>(getI32IntegerAttr(-1));
  return create<NVVM::VoteBallotOp>(getI32Type(), members, bit);
}

Value DeviceBuilder::sum(Value from, Value to, int64_t step, Value start,
                         function_ref<Value(Value, Value)> next) {
  auto loop = create<scf::ForOp>(
      from, to, number(from, step), start,
      [&](OpBuilder &, Location, Value at, ValueRange carried) {
        create<scf::YieldOp>(next(at, carried.front()));
      });
  return loop.getResult(0);
}
