//===- KernelBuilder.cpp - What the emitters of kernels share -------------===//

#include "KernelBuilder.h"
#include "ElementwiseArith.h"
#include "hone/IR/Fp8.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

MemRefType hone::kernelBufferType(MemRefType type) {
  Type element = type.getElementType();
  if (element.isInteger(1) || isFp8(element))
    type = MemRefType::Builder(type).setElementType(
        IntegerType::get(type.getContext(), 8));
  return kernelArgumentType(type);
}

MemRefType hone::tensorInTurn(Type element, int64_t size) {
  return MemRefType::get({std::max<int64_t>(size, 1)}, element);
}

bool hone::isContiguous(Type buffer) {
  auto type = cast<MemRefType>(buffer);
  if (type.getLayout().isIdentity() || type.getNumElements() == 0)
    return true;
  auto [strides, offset] = getStridesAndOffset(type);
  int64_t expected = 1;
  for (auto [size, stride] :
       llvm::reverse(llvm::zip(type.getShape(), strides))) {
    if (size != 1 && stride != expected)
      return false;
    expected *= size;
  }
  return offset == 0;
}

KernelBuilder::KernelBuilder(OpBuilder &builder, StringRef name,
                             plan::LaunchOp launch)
    : KernelBuilder(builder, launch.getLoc(), name, launch->getOperandTypes()) {
}

KernelBuilder::KernelBuilder(OpBuilder &builder, Location loc, StringRef name,
                             TypeRange buffers)
    : ImplicitLocOpBuilder(loc, builder) {
  SmallVector<Type> types;
  for (Type type : buffers) {
    auto memory = dyn_cast<MemRefType>(type);
    types.push_back(memory ? kernelBufferType(memory) : type);
  }
  types.append(2, getIndexType());
  func = create<func::FuncOp>(name, getFunctionType(types, {}));
  setInsertionPointToEnd(func.addEntryBlock());
  create<func::ReturnOp>();
  setInsertionPointToStart(&func.front());
}

Value KernelBuilder::index(int64_t value) {
  return create<arith::ConstantIndexOp>(value);
}

Value KernelBuilder::constant(Type type, double value) {
  Attribute scalar = getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    return create<arith::ConstantOp>(DenseElementsAttr::get(vector, scalar));
  return create<arith::ConstantOp>(cast<TypedAttr>(scalar));
}

Value KernelBuilder::integer(Type type, int64_t value) {
  Attribute scalar = getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    return create<arith::ConstantOp>(DenseElementsAttr::get(vector, scalar));
  return create<arith::ConstantOp>(cast<TypedAttr>(scalar));
}

SmallVector<Value> KernelBuilder::loop(Value from, Value to, int64_t step,
                                       ValueRange carried, LoopBody body) {
  Value increment = index(step);
  auto forOp = create<scf::ForOp>(
      from, to, increment, carried,
      [&](OpBuilder &nested, Location, Value iv, ValueRange values) {
        OpBuilder::InsertionGuard guard(*this);
        setInsertionPointToEnd(nested.getInsertionBlock());
        SmallVector<Value> next = body(iv, values);
        create<scf::YieldOp>(next);
      });
  return SmallVector<Value>(forOp.getResults());
}

void KernelBuilder::loop(Value from, Value to, int64_t step,
                         function_ref<void(Value)> body) {
  loop(from, to, step, {}, [&](Value iv, ValueRange) -> SmallVector<Value> {
    body(iv);
    return {};
  });
}

SmallVector<Value> KernelBuilder::delinearize(Value linear,
                                              ArrayRef<int64_t> shape) {
  SmallVector<Value> indices(shape.size());
  int64_t outermost = -1;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size != 1) {
      outermost = dim;
      break;
    }
  for (int64_t dim = shape.size() - 1; dim >= 0; --dim) {
    if (shape[dim] == 1) {
      indices[dim] = index(0);
    } else if (dim == outermost) {
      indices[dim] = linear;
    } else {
      Value size = index(shape[dim]);
      indices[dim] = create<arith::RemUIOp>(linear, size);
      linear = create<arith::DivUIOp>(linear, size);
    }
  }
  return indices;
}

Value KernelBuilder::flat(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  assert(isContiguous(type) && "strided buffers have no flat form");
  if (type.getRank() == 1)
    return buffer;
  auto flatType =
      MemRefType::get({type.getNumElements()}, type.getElementType());
  return create<memref::ReinterpretCastOp>(
      flatType, buffer, /*offset=*/0, ArrayRef<int64_t>{type.getNumElements()},
      ArrayRef<int64_t>{1});
}

Value KernelBuilder::convertFloat(Value value, Type to) {
  return elementwise::convertFloat(*this, getLoc(), value, to);
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Value KernelBuilder::loadVector(Value buffer, ValueRange indices, Type compute,
                                Value mask, int64_t lanes) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  auto type = VectorType::get({lanes}, element);
  Value loaded;
  if (mask) {
    Value zero = create<arith::ConstantOp>(getZeroAttr(type));
    loaded = create<vector::MaskedLoadOp>(type, buffer, indices, mask, zero);
  } else {
    loaded = create<vector::LoadOp>(type, buffer, indices);
  }
  return isa<FloatType>(element) ? convertFloat(loaded, compute) : loaded;
}

void KernelBuilder::storeVector(Value value, Value buffer, ValueRange indices,
                                Value mask) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  if (isa<FloatType>(element))
    value = convertFloat(value, element);
  if (mask)
    create<vector::MaskedStoreOp>(buffer, indices, mask, value);
  else
    create<vector::StoreOp>(value, buffer, indices);
}

Value KernelBuilder::maskOfFirst(int64_t lanes) {
  return maskOfFirst(index(lanes));
}

Value KernelBuilder::maskOfFirst(Value lanes) {
  auto type = VectorType::get({kernelLanes}, getI1Type());
  return create<vector::CreateMaskOp>(type, lanes);
}
