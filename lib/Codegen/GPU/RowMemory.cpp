//===- RowMemory.cpp - Memory as row kernels on a GPU see it --------------===//

#include "RowEmitter.h"

#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/Philox.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The type of an element in memory: bools are bytes.
static Type memoryType(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8)
                              : element;
}

Value DeviceRowEmitter::address(Value pointer, Type element, Value offset) {
  Value number =
      builder.create<arith::IndexCastOp>(loc, builder.getI64Type(), offset);
  return builder.create<LLVM::GEPOp>(loc, pointer.getType(), element, pointer,
                                     ArrayRef<LLVM::GEPArg>{number});
}

Value DeviceRowEmitter::loadVector(Value value, Point &at, Value offset) {
  Type memory = memoryType(elementOf(value));
  VectorType type = vectorOf(memory);
  auto load = [&]() -> Value {
    Value from = address(bufferOf(value), memory, offset);
    return builder.create<LLVM::LoadOp>(loc, type, from,
                                        lanes * elementByteWidth(memory));
  };
  Value loaded;
  if (at.mask) {
    auto choice = builder.create<scf::IfOp>(
        loc, at.mask,
        [&](OpBuilder &, Location) {
          builder.create<scf::YieldOp>(loc, load());
        },
        [&](OpBuilder &, Location) {
          Value zero =
              builder.create<arith::ConstantOp>(loc, builder.getZeroAttr(type));
          builder.create<scf::YieldOp>(loc, zero);
        });
    loaded = choice.getResult(0);
  } else {
    loaded = load();
  }
  return elementwise::fromMemory(builder, loc, loaded, elementOf(value));
}

Value DeviceRowEmitter::loadScalar(Value value, Value offset) {
  Type memory = memoryType(elementOf(value));
  Value from = address(bufferOf(value), memory, offset);
  Value loaded =
      builder.create<LLVM::LoadOp>(loc, memory, from, elementByteWidth(memory));
  return elementwise::fromMemory(builder, loc, loaded, elementOf(value));
}

Value DeviceRowEmitter::loadKey(Value argument) {
  Type i64 = builder.getI64Type();
  auto type = VectorType::get({3}, i64);
  Value key = builder.create<arith::ConstantOp>(loc, builder.getZeroAttr(type));
  for (int64_t part = 0; part < 3; ++part) {
    Value from = address(bufferOf(argument), i64, index(part));
    Value word = builder.create<LLVM::LoadOp>(loc, i64, from, /*alignment=*/8);
    key = builder.create<vector::InsertOp>(loc, word, key, part);
  }
  return key;
}

Value DeviceRowEmitter::loadWords(Value first, Value salt, Value key,
                                  bool inCounters) {
  if (lanes % 4 == 0 && inCounters)
    return emitPhiloxGroups(builder, loc, first, lanes / 4, salt, key);
  return RowValues::loadWords(first, salt, key, inCounters);
}

void DeviceRowEmitter::storeVector(Value data, Value buffer, Type element,
                                   Value offset) {
  Type memory = memoryType(element);
  data = elementwise::toMemory(builder, loc, data, memory);
  builder.create<LLVM::StoreOp>(loc, data, address(buffer, memory, offset),
                                lanes * elementByteWidth(memory));
}

void DeviceRowEmitter::storeScalar(Value data, Value buffer, Type element,
                                   Value offset) {
  Type memory = memoryType(element);
  data = elementwise::toMemory(builder, loc, data, memory);
  builder.create<LLVM::StoreOp>(loc, data, address(buffer, memory, offset),
                                elementByteWidth(memory));
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

Value DeviceRowEmitter::less(Value a, int64_t b) {
  return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, a,
                                       index(b));
}

Value DeviceRowEmitter::isZero(Value value) {
  return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, value,
                                       index(0));
}

void DeviceRowEmitter::emitIf(Value condition, function_ref<void()> emit) {
  if (!condition)
    return emit();
  builder.create<scf::IfOp>(loc, condition, [&](OpBuilder &, Location) {
    emit();
    builder.create<scf::YieldOp>(loc);
  });
}
