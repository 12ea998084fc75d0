//===- SelectionOps.cpp - Verifiers and facts of ops along lines ----------===//

#include "ShapeChecks.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hone;

/// `shape` with another size along `dim`.
static SmallVector<int64_t> withSize(ArrayRef<int64_t> shape, int64_t dim,
                                     int64_t size) {
  SmallVector<int64_t> result(shape);
  result[dim] = size;
  return result;
}

/// Every dimension but `dim` corresponds. Along `dim`, tensors for which
/// `isPicked` holds have a factor of their own, and others are whole.
static DimensionMapping lineMapping(Operation *op, int64_t dim,
                                    ArrayRef<Value> picked = {},
                                    FactorKind pickedKind = {}) {
  DimensionMapping mapping;
  ArrayRef<int64_t> shape = shapeOf(op->getOperand(0));
  TensorFactors whole;
  for (auto [index, size] : llvm::enumerate(shape)) {
    whole.push_back(int64_t(index) == dim ? -1 : int(mapping.factors.size()));
    if (int64_t(index) != dim)
      mapping.factors.push_back({size, FactorKind::Parallel});
  }
  TensorFactors divided = whole;
  if (!picked.empty()) {
    divided[dim] = int(mapping.factors.size());
    mapping.factors.push_back({shapeOf(picked.front())[dim], pickedKind});
  }
  auto factorsOf = [&](Value value) {
    return llvm::is_contained(picked, value) ? divided : whole;
  };
  for (Value operand : op->getOperands())
    mapping.operands.push_back(factorsOf(operand));
  for (Value result : op->getResults())
    mapping.results.push_back(factorsOf(result));
  return mapping;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

LogicalResult ArgsortOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  if (failed(expectDim(*this, getDim(), shape.size()))) // argsort_c1
    return failure();
  return expectShape(*this, "result", getResult(), shape); // argsort_c2
}

/// Comparisons of sorting a line.
OpCost ArgsortOp::getCost() {
  OpCost cost = hone::detail::elementwiseCost(*this, 0);
  int64_t size = std::max<int64_t>(2, shapeOf(getOperand())[getDim()]);
  cost.flops = cast<ShapedType>(getType()).getNumElements() *
               int64_t(llvm::Log2_64_Ceil(size));
  return cost;
}

DimensionMapping ArgsortOp::getDimensionMapping() {
  return lineMapping(*this, getDim());
}

LogicalResult TopkOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  if (failed(expectDim(*this, getDim(), shape.size()))) // topk_c1
    return failure();
  if (shapeOf(getResult()).size() != shape.size()) // topk_c2
    return emitOpError() << "result has rank " << shapeOf(getResult()).size()
                         << ", expected " << shape.size();
  int64_t count = shapeOf(getResult())[getDim()];
  if (count > shape[getDim()]) // topk_c2
    return emitOpError() << "result has " << count
                         << " indices per line, expected at most "
                         << shape[getDim()];
  return expectShape(*this, "result", getResult(),
                     withSize(shape, getDim(), count)); // topk_c2
}

/// The kernel passes over a line once for each element that it returns.
OpCost TopkOp::getCost() {
  OpCost cost = hone::detail::elementwiseCost(*this, 0);
  cost.flops = cast<ShapedType>(getOperand().getType()).getNumElements() *
               shapeOf(getResult())[getDim()];
  return cost;
}

DimensionMapping TopkOp::getDimensionMapping() {
  return lineMapping(*this, getDim());
}

//===----------------------------------------------------------------------===//
// Elements picked by index
//===----------------------------------------------------------------------===//

/// Fails unless `ids` has the shape `line`, but for its size along `dim`.
static LogicalResult expectIds(Operation *op, Value ids, ArrayRef<int64_t> line,
                               int64_t dim) {
  if (shapeOf(ids).size() != line.size())
    return op->emitOpError() << "ids has rank " << shapeOf(ids).size()
                             << ", expected " << line.size();
  return expectShape(op, "ids", ids, withSize(line, dim, shapeOf(ids)[dim]));
}

LogicalResult TakeAlongOp::verify() {
  ArrayRef<int64_t> line = shapeOf(getOperand());
  if (failed(expectDim(*this, getDim(), line.size())) ||    // take_along_c1
      failed(expectIds(*this, getIds(), line, getDim())) || // take_along_c2
      failed(expectShape(*this, "result", getResult(),
                         shapeOf(getIds())))) // take_along_c3
    return failure();
  return expectElement(*this, "result", getResult(), // take_along_c3
                       elementOf(getOperand()));
}

OpCost TakeAlongOp::getCost() {
  int64_t moved = byteSize(getType());
  return {0, moved + byteSize(getIds().getType()), moved};
}

DimensionMapping TakeAlongOp::getDimensionMapping() {
  return lineMapping(*this, getDim(), {getIds(), getResult()},
                     FactorKind::Parallel);
}

LogicalResult PutAlongOp::verify() {
  ArrayRef<int64_t> line = shapeOf(getResult());
  if (failed(expectDim(*this, getDim(), line.size())) ||    // put_along_c1
      failed(expectIds(*this, getIds(), line, getDim())) || // put_along_c2
      failed(expectShape(*this, "updates", getUpdates(),
                         shapeOf(getIds())))) // put_along_c3
    return failure();
  return expectElement(*this, "updates", getUpdates(), // put_along_c3
                       elementOf(getResult()));
}

OpCost PutAlongOp::getCost() {
  OpCost cost = hone::detail::elementwiseCost(*this, 0);
  cost.flops = cast<ShapedType>(getUpdates().getType()).getNumElements();
  return cost;
}

DimensionMapping PutAlongOp::getDimensionMapping() {
  DimensionMapping mapping = lineMapping(
      *this, getDim(), {getUpdates(), getIds()}, FactorKind::Reduce);
  mapping.combiner = getKind();
  return mapping;
}

//===----------------------------------------------------------------------===//
// Parts replaced
//===----------------------------------------------------------------------===//

LogicalResult UpdateSliceOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getOperand()),
                    update = shapeOf(getUpdate());
  if (failed(expectDim(*this, getDim(), shape.size()))) // update_slice_c1
    return failure();
  if (update.size() != shape.size()) // update_slice_c2
    return emitOpError() << "update has rank " << update.size() << ", expected "
                         << shape.size();
  int64_t count = update[getDim()];
  if (count > shape[getDim()]) // update_slice_c2
    return emitOpError() << "update has " << count
                         << " elements per line, expected at most "
                         << shape[getDim()];
  if (failed(expectShape(*this, "update", getUpdate(),
                         withSize(shape, getDim(), count)))) // update_slice_c2
    return failure();
  return expectElement(*this, "update", getUpdate(), // update_slice_c2
                       elementOf(getOperand()));
}

OpCost UpdateSliceOp::getCost() {
  int64_t moved = byteSize(getUpdate().getType());
  return {0, moved, moved};
}

/// Lines are whole, since any rank may have the index; it is one for all.
DimensionMapping UpdateSliceOp::getDimensionMapping() {
  DimensionMapping mapping = lineMapping(*this, getDim());
  mapping.operands.back() = {};
  return mapping;
}
