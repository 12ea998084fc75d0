//===- RowValues.cpp - Values of a row kernel at a point ------------------===//

#include "RowKernelEmitter.h"

#include "PointOps.h"
#include "hone/Conversion/Philox.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

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
  return pointops::fromMemory(builder, loc, loaded, elementOf(value));
}

Value RowKernelEmitter::loadScalar(Value value, Value offset) {
  Value loaded = builder.create<memref::LoadOp>(loc, bufferOf(value), offset);
  return pointops::fromMemory(builder, loc, loaded, elementOf(value));
}

void RowKernelEmitter::storeVector(Value data, Value buffer, Value offset,
                                   Value mask) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  data = pointops::toMemory(builder, loc, data, element);
  if (mask)
    builder.create<vector::MaskedStoreOp>(loc, buffer, offset, mask, data);
  else
    builder.create<vector::StoreOp>(loc, data, buffer, offset);
}

void RowKernelEmitter::storeScalar(Value data, Value buffer, Value offset) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  data = pointops::toMemory(builder, loc, data, element);
  builder.create<memref::StoreOp>(loc, data, buffer, offset);
}

Value RowKernelEmitter::flatIndex(Value row, Value col) {
  if (!row)
    return col;
  Value start = builder.create<arith::MulIOp>(loc, row, index(space->cols()));
  return builder.create<arith::AddIOp>(loc, start, col);
}

/// The element of `buffer` at a point: of a value with one per point.
Value RowKernelEmitter::offsetIn(Value buffer, Value row, Value col) {
  if (!row || !strided.contains(buffer))
    return flatIndex(row, col);
  Value start =
      builder.create<arith::MulIOp>(loc, row, index(rowStride(buffer)));
  return builder.create<arith::AddIOp>(loc, start, col);
}

/// The element of `buffer` at a row: of a value with one per row, whose own
/// last dimension may be strided.
Value RowKernelEmitter::rowOffsetIn(Value buffer, Value row) {
  auto found = strided.find(buffer);
  if (found == strided.end())
    return row;
  Value width = index(found->second.width);
  Value start = builder.create<arith::MulIOp>(
      loc, builder.create<arith::DivUIOp>(loc, row, width),
      index(found->second.stride));
  return builder.create<arith::AddIOp>(
      loc, start, builder.create<arith::RemUIOp>(loc, row, width));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

bool RowKernelEmitter::isSplat(Value value) {
  return value.getDefiningOp<ConstantOp>() != nullptr;
}

Value RowKernelEmitter::splatScalar(Value value) {
  auto dense =
      cast<DenseElementsAttr>(value.getDefiningOp<ConstantOp>().getValue());
  return pointops::constant(builder, loc,
                            cast<TypedAttr>(dense.getSplatValue<Attribute>()));
}

Value RowKernelEmitter::splatVector(Value value) {
  return broadcast(splatScalar(value));
}

/// Index along dimension `dim` of a tensor whose rows are its leading
/// dimensions.
Value RowKernelEmitter::dimIndex(RankedTensorType type, int64_t dim,
                                 Value row) {
  int64_t inner = 1;
  for (int64_t size : type.getShape().slice(dim + 1).drop_back())
    inner *= size;
  Value value = row;
  if (inner != 1)
    value = builder.create<arith::DivUIOp>(loc, value, index(inner));
  return builder.create<arith::RemUIOp>(loc, value,
                                        index(type.getDimSize(dim)));
}

static Value indexToElement(OpBuilder &builder, Location loc, Value value,
                            Type element) {
  Value integer =
      builder.create<arith::IndexCastOp>(loc, builder.getI64Type(), value);
  return pointops::cast(builder, loc, integer, element);
}

/// first, first + 1, ... as i64.
Value RowKernelEmitter::laneCounter(Value first) {
  SmallVector<int64_t> steps = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  Value step = builder.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(vectorOf(builder.getI64Type()),
                                  ArrayRef<int64_t>(steps)));
  first = builder.create<arith::IndexCastOp>(loc, builder.getI64Type(), first);
  return builder.create<arith::AddIOp>(loc, broadcast(first), step);
}

/// The mask of the first `count` lanes.
Value RowKernelEmitter::maskOfFirst(int64_t count) {
  SmallVector<bool> bits(lanes, false);
  std::fill(bits.begin(), bits.begin() + count, true);
  return builder.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(vectorOf(builder.getI1Type()),
                                  ArrayRef<bool>(bits)));
}

Value RowKernelEmitter::iotaVector(IotaOp op, Point &at) {
  auto type = cast<RankedTensorType>(op.getType());
  Type element = type.getElementType();
  bool last = int64_t(op.getDim()) == type.getRank() - 1;
  if (!last)
    return broadcast(indexToElement(
        builder, loc, dimIndex(type, op.getDim(), at.row), element));
  Value counter = laneCounter(at.col);
  return pointops::cast(builder, loc, counter, element);
}

Value RowKernelEmitter::vectorAt(Value value, Point &at) {
  if (isSplat(value))
    return splatVector(value);
  if (Value known = at.cache.lookup(value))
    return known;
  Value result;
  Role own = role(value);
  auto cached = cachedRows.find(value);
  if (cached != cachedRows.end() && cached->second.filled)
    return at.cache[value] = builder.create<vector::LoadOp>(
               loc, vectorOf(pointops::computeType(elementOf(value))),
               cached->second.memory, at.col);
  if (own == Role::Row || own == Role::Scalar) {
    result = broadcast(rowValue(value, at.row));
  } else if (isa<BlockArgument>(value)) {
    Value offset;
    if (own == Role::Full) {
      offset = offsetIn(bufferOf(value), at.row, at.col);
    } else if (own == Role::Col) {
      offset = at.col;
    } else { // Cyclic
      Value row = builder.create<arith::RemUIOp>(loc, at.row,
                                                 index(space->period(value)));
      offset = offsetIn(bufferOf(value), row, at.col);
    }
    result = loadVector(value, at, offset);
  } else {
    result = computeVector(value.getDefiningOp(), at);
  }
  // Looked up again: making the value may have entered others.
  cached = cachedRows.find(value);
  if (cached != cachedRows.end()) {
    cached->second.made = true;
    builder.create<vector::StoreOp>(loc, result, cached->second.memory, at.col);
  }
  at.cache[value] = result;
  return result;
}

/// `a * b` of a sum that nothing else reads, for a fused multiply-add. Products
/// of narrow types are rounded to them first.
static MulOp productOf(Value value) {
  auto product = value.getDefiningOp<MulOp>();
  return product && product->hasOneUse() &&
                 isa<Float32Type, Float64Type>(
                     getElementTypeOrSelf(value.getType()))
             ? product
             : MulOp();
}

Value RowKernelEmitter::computeVector(Operation *op, Point &at) {
  if (auto iota = dyn_cast<IotaOp>(op))
    return iotaVector(iota, at);
  if (isa<BroadcastOp, ReshapeOp>(op))
    return vectorAt(op->getOperand(0), at);
  if (auto gather = dyn_cast<EmbeddingOp>(op)) {
    Value id = builder.create<arith::IndexCastOp>(
        loc, builder.getIndexType(), rowValue(gather.getIds(), at.row));
    return loadVector(gather.getTable(), at, flatIndex(id, at.col));
  }
  if (auto dropout = dyn_cast<DropoutOp>(op)) {
    Value element = laneCounter(flatIndex(at.row, at.col));
    Value salt = builder.create<arith::ConstantOp>(
        loc, builder.getI64IntegerAttr(dropout.getSalt()));
    Value word = emitPhiloxWord(builder, loc, element, salt,
                                keys.lookup(dropout.getRng()));
    return emitDropout(builder, loc, vectorAt(dropout.getInput(), at), word,
                       dropout.getP().convertToDouble());
  }
  if (auto sum = dyn_cast<AddOp>(op)) {
    for (auto [factor, addend] : {std::make_pair(sum.getLhs(), sum.getRhs()),
                                  std::make_pair(sum.getRhs(), sum.getLhs())})
      if (MulOp product = productOf(factor);
          product && role(product.getResult()) != Role::Row &&
          role(product.getResult()) != Role::Scalar) {
        Value a = vectorAt(product.getLhs(), at);
        Value b = vectorAt(product.getRhs(), at);
        return builder.create<math::FmaOp>(loc, a, b, vectorAt(addend, at));
      }
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(vectorAt(operand, at));
  return pointops::compute(builder, loc, op, operands);
}

Value RowKernelEmitter::iotaScalar(IotaOp op, Value row) {
  // A value per row has the rows as its dimensions.
  auto type = cast<RankedTensorType>(op.getType());
  int64_t inner = 1;
  for (int64_t size : type.getShape().drop_front(op.getDim() + 1))
    inner *= size;
  if (type.getNumElements() == 1) // a Scalar has no row
    return indexToElement(builder, loc, index(0), type.getElementType());
  Value value = builder.create<arith::DivUIOp>(loc, row, index(inner));
  value = builder.create<arith::RemUIOp>(loc, value,
                                         index(type.getDimSize(op.getDim())));
  return indexToElement(builder, loc, value, type.getElementType());
}

/// A value of role Row (at `row`) or Scalar.
Value RowKernelEmitter::rowValue(Value value, Value row) {
  if (isSplat(value))
    return splatScalar(value);
  bool single = role(value) == Role::Scalar;
  DenseMap<Value, Value> &cache = single ? scalars : rowCache;
  if (Value known = cache.lookup(value))
    return known;
  Value result;
  if (isa<BlockArgument>(value))
    result = loadScalar(value,
                        single ? index(0) : rowOffsetIn(bufferOf(value), row));
  else
    result = computeScalar(value.getDefiningOp(), row);
  cache[value] = result;
  return result;
}

Value RowKernelEmitter::computeScalar(Operation *op, Value row) {
  if (auto iota = dyn_cast<IotaOp>(op))
    return iotaScalar(iota, row);
  if (isa<BroadcastOp, ReshapeOp>(op))
    return rowValue(op->getOperand(0), row);
  assert(!isa<ReduceOp>(op) && "reductions are made by their sweep");
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(rowValue(operand, row));
  return pointops::compute(builder, loc, op, operands);
}
