//===- RowMemory.cpp - Memory as CPU kernels over rows see it -------------===//

#include "RowEmitter.h"

#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/Philox.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace hone;

Value RowKernelEmitter::loadVector(Value value, Point &at, Value offset) {
  Value buffer = bufferOf(value);
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  VectorType type = vectorOf(element);
  Value loaded;
  if (at.mask) {
    Value zero =
        builder.create<arith::ConstantOp>(loc, builder.getZeroAttr(type));
    loaded = builder.create<vector::MaskedLoadOp>(loc, type, buffer, offset,
                                                  at.mask, zero);
  } else {
    loaded = builder.create<vector::LoadOp>(loc, type, buffer, offset);
  }
  return elementwise::fromMemory(builder, loc, loaded, elementOf(value));
}

Value RowKernelEmitter::loadScalar(Value value, Value offset) {
  Value loaded = builder.create<memref::LoadOp>(loc, bufferOf(value), offset);
  return elementwise::fromMemory(builder, loc, loaded, elementOf(value));
}

void RowKernelEmitter::storeVector(Value data, Value buffer, Value offset,
                                   Value mask) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  data = elementwise::toMemory(builder, loc, data, element);
  if (mask)
    builder.create<vector::MaskedStoreOp>(loc, buffer, offset, mask, data);
  else
    builder.create<vector::StoreOp>(loc, data, buffer, offset);
}

void RowKernelEmitter::storeScalar(Value data, Value buffer, Value offset) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  data = elementwise::toMemory(builder, loc, data, element);
  builder.create<memref::StoreOp>(loc, data, buffer, offset);
}

Value RowKernelEmitter::loadKey(Value argument) {
  return emitPhiloxKey(builder, loc, bufferOf(argument));
}

Value RowKernelEmitter::vectorAt(Value value, Point &at) {
  if (Value known = at.cache.lookup(value))
    return known;
  auto cached = cachedRows.find(value);
  if (cached == cachedRows.end())
    return RowValues::vectorAt(value, at);
  if (cached->second.filled)
    return at.cache[value] = builder.create<vector::LoadOp>(
               loc, vectorOf(elementwise::computeType(elementOf(value))),
               cached->second.memory, at.col);
  Value result = RowValues::vectorAt(value, at);
  cached->second.made = true;
  builder.create<vector::StoreOp>(loc, result, cached->second.memory, at.col);
  return result;
}
