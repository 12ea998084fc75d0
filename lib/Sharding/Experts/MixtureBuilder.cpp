//===- MixtureBuilder.cpp - A mixture of experts in blocks ----------------===//

#include "MixtureBuilder.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

static RankedTensorType typeOf(Value value) {
  return llvm::cast<RankedTensorType>(value.getType());
}

RankedTensorType MixtureBuilder::blocked(Value value) {
  SmallVector<int64_t> shape = {groups, blocks, rows};
  llvm::append_range(shape, shapeOf(value).drop_front());
  return typeOf(value).clone(shape);
}

Value MixtureBuilder::splat(RankedTensorType type, int64_t number) {
  return b.create<ConstantOp>(DenseElementsAttr::get(
      type, Attribute(b.getIntegerAttr(type.getElementType(), number))));
}

Value MixtureBuilder::reshape(Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  return b.create<ReshapeOp>(typeOf(value).clone(shape), value);
}

Value MixtureBuilder::broadcast(Value value, ArrayRef<int64_t> shape,
                                ArrayRef<int64_t> dims) {
  return b.create<BroadcastOp>(typeOf(value).clone(shape), value, dims);
}

Value MixtureBuilder::slice(Value value, int64_t size) {
  SmallVector<int64_t> limits(shapeOf(value));
  if (limits.back() == size)
    return value;
  limits.back() = size;
  SmallVector<int64_t> starts(limits.size(), 0), strides(limits.size(), 1);
  return b.create<SliceOp>(typeOf(value).clone(limits), value, starts, limits,
                           strides);
}

Value MixtureBuilder::cast(Value value, Type element) {
  if (elementOf(value) == element)
    return value;
  return b.create<CastOp>(typeOf(value).clone(element), value);
}

Value MixtureBuilder::expertsOfSlots(ArrayRef<int64_t> shape) {
  return cast(reshape(mixture.ids, shape), b.getI64Type());
}

static int64_t lastDim(Value value) {
  return int64_t(shapeOf(value).size()) - 1;
}

Value MixtureBuilder::argsort(Value keys) {
  return b.create<ArgsortOp>(index(shapeOf(keys)), keys, lastDim(keys),
                             /*descending=*/false);
}

Value MixtureBuilder::countEach(Value keys, int64_t classes) {
  SmallVector<int64_t> shape(shapeOf(keys));
  shape.back() = classes;
  return b.create<PutAlongOp>(index(shape), ReduceKind::sum,
                              splat(index(shapeOf(keys)), 1), keys,
                              lastDim(keys));
}

Value MixtureBuilder::cumsum(Value counts) {
  return b.create<CumsumOp>(counts.getType(), counts, lastDim(counts),
                            /*reverse=*/false);
}

Value MixtureBuilder::widened(Value results) {
  return cast(
      results,
      elementOf(llvm::cast<ReduceOp>(mixture.tail.back()).getOperand()));
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// An operand in the shape of rows: equal rows are made again.
Value MixtureBuilder::operandOf(Value value) {
  if (Value there = made.lookup(value))
    return there;
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return b.create<ConstantOp>(
        llvm::cast<SplatElementsAttr>(constant.getValue())
            .resizeSplat(blocked(value)));
  auto equal = value.getDefiningOp<BroadcastOp>();
  SmallVector<int64_t> dims;
  for (int64_t dim : equal.getDims())
    dims.push_back(dim + 2);
  return b.create<BroadcastOp>(blocked(value), equal.getOperand(), dims);
}

static SmallVector<int64_t> behindBlocks(ArrayRef<int64_t> positions,
                                         ArrayRef<int64_t> ofBlocks) {
  SmallVector<int64_t> all(ofBlocks);
  llvm::append_range(all, positions.drop_front());
  return all;
}

static SmallVector<int64_t> shifted(ArrayRef<int64_t> dims) {
  SmallVector<int64_t> all;
  for (int64_t dim : dims)
    all.push_back(dim + 2);
  return all;
}

/// The op on rows of blocks: dimension 0 becomes three.
Value MixtureBuilder::rebuild(Operation *op) {
  RankedTensorType type = blocked(op->getResult(0));
  if (mixture.isSource(op))
    return pick(llvm::cast<EmbeddingOp>(op));
  if (auto product = dyn_cast<GroupedDotOp>(op))
    return b.create<BlockGroupedDotOp>(type, made.lookup(product.getInput()),
                                       product.getWeight(), ends,
                                       product.getContract());
  Operation *copy = b.clone(*op);
  for (OpOperand &operand : copy->getOpOperands())
    operand.set(operandOf(operand.get()));
  copy->getResult(0).setType(type);
  copy->moveBefore(copy->getBlock(), b.getInsertionPoint());
  llvm::TypeSwitch<Operation *>(copy)
      .Case([&](SliceOp slice) {
        slice.setStarts(behindBlocks(slice.getStarts(), {0, 0, 0}));
        slice.setLimits(
            behindBlocks(slice.getLimits(), {groups, blocks, rows}));
        slice.setStrides(behindBlocks(slice.getStrides(), {1, 1, 1}));
      })
      .Case([&](PadOp pad) {
        pad.setLow(behindBlocks(pad.getLow(), {0, 0, 0}));
        pad.setHigh(behindBlocks(pad.getHigh(), {0, 0, 0}));
        pad.setInterior(behindBlocks(pad.getInterior(), {0, 0, 0}));
      })
      .Case([&](BroadcastOp broadcast) {
        broadcast.setDims(
            behindBlocks(shifted(broadcast.getDims()), {0, 1, 2}));
      })
      .Case([&](ConcatOp concat) { concat.setDim(concat.getDim() + 2); })
      .Case(
          [&](ReduceOp reduce) { reduce.setDims(shifted(reduce.getDims())); });
  return copy->getResult(0);
}

Value MixtureBuilder::build() {
  route();
  for (Operation *op : mixture.ops)
    made[op->getResult(0)] = rebuild(op);
  return combine();
}
