//===- ShapeOps.cpp - Verifiers, builders and facts of shape ops ----------===//

#include "ShapeChecks.h"

using namespace mlir;
using namespace hone;

LogicalResult ReshapeOp::verify() {
  auto from = cast<ShapedType>(getOperand().getType());
  auto to = cast<ShapedType>(getType());
  if (from.getNumElements() != to.getNumElements()) // reshape_c1
    return emitOpError() << "operand has " << from.getNumElements()
                         << " elements, expected the result's "
                         << to.getNumElements();
  return expectElement(*this, "operand", getOperand(), elementOf(getResult()));
}

DimensionMapping ReshapeOp::getDimensionMapping() {
  // In row-major order a dimension keeps its meaning where as many elements lie
  // before it in both shapes and its size is the same; others merge or split.
  ArrayRef<int64_t> from = shapeOf(getOperand()), to = shapeOf(getResult());
  DimensionMapping mapping;
  mapping.operands.emplace_back(from.size(), -1);
  mapping.results.emplace_back(to.size(), -1);
  int64_t before = 1, beforeTo = 1; // products of the sizes passed
  for (size_t i = 0, j = 0; i != from.size() && j != to.size();) {
    if (before < beforeTo) {
      before *= from[i++];
    } else if (beforeTo < before) {
      beforeTo *= to[j++];
    } else if (from[i] == to[j]) {
      mapping.operands[0][i] = mapping.results[0][j] = mapping.factors.size();
      mapping.factors.push_back({from[i], FactorKind::Parallel});
      before *= from[i++];
      beforeTo *= to[j++];
    } else if (from[i] == 1) {
      ++i;
    } else if (to[j] == 1) {
      ++j;
    } else {
      before *= from[i++];
      beforeTo *= to[j++];
    }
  }
  return mapping;
}

void TransposeOp::build(OpBuilder &builder, OperationState &state,
                        Value operand, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(shapeOf(operand)[dim]);
  build(builder, state, RankedTensorType::get(shape, elementOf(operand)),
        operand, builder.getDenseI64ArrayAttr(permutation));
}

LogicalResult TransposeOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  ArrayRef<int64_t> permutation = getPermutation();
  if (permutation.size() != shape.size()) // transpose_c1
    return emitOpError() << "permutation has " << permutation.size()
                         << " entries, expected " << shape.size();
  if (failed(expectDims(*this, "permutation", permutation, shape.size(),
                        /*sorted=*/false))) // transpose_c1
    return failure();
  SmallVector<int64_t> wanted;
  for (int64_t dim : permutation)
    wanted.push_back(shape[dim]);
  if (failed(expectShape(*this, "result", getResult(), wanted)))
    return failure(); // transpose_c2
  return expectElement(*this, "result", getResult(), elementOf(getOperand()));
}

DimensionMapping TransposeOp::getDimensionMapping() {
  DimensionMapping mapping;
  for (int64_t size : shapeOf(getOperand()))
    mapping.factors.push_back({size, FactorKind::Parallel});
  mapping.operands.push_back(
      llvm::to_vector(llvm::seq<int>(0, mapping.factors.size())));
  mapping.results.emplace_back(getPermutation().begin(),
                               getPermutation().end());
  return mapping;
}

LogicalResult BroadcastOp::verify() {
  ArrayRef<int64_t> from = shapeOf(getOperand()), to = shapeOf(getResult());
  if (getDims().size() != from.size()) // broadcast_c1
    return emitOpError() << "dims has " << getDims().size()
                         << " entries, expected " << from.size();
  if (failed(expectDims(*this, "dims", getDims(), to.size(), /*sorted=*/true)))
    return failure(); // broadcast_c1
  for (auto [dim, size] : llvm::zip(getDims(), from))
    if (to[dim] != size) // broadcast_c2
      return emitOpError() << "dimension " << dim << " of the result has size "
                           << to[dim] << ", expected the operand's " << size;
  return expectElement(*this, "operand", getOperand(),
                       elementOf(getResult())); // broadcast_c3
}

DimensionMapping BroadcastOp::getDimensionMapping() {
  DimensionMapping mapping;
  for (int64_t size : shapeOf(getResult()))
    mapping.factors.push_back({size, FactorKind::Parallel});
  mapping.results.push_back(
      llvm::to_vector(llvm::seq<int>(0, mapping.factors.size())));
  mapping.operands.emplace_back(getDims().begin(), getDims().end());
  return mapping;
}

LogicalResult SliceOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  size_t rank = shape.size();
  if (getStarts().size() != rank || getLimits().size() != rank ||
      getStrides().size() != rank) // slice_c1
    return emitOpError() << "starts, limits and strides have "
                         << getStarts().size() << ", " << getLimits().size()
                         << " and " << getStrides().size()
                         << " entries, expected " << rank << " each";
  SmallVector<int64_t> wanted;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t start = getStarts()[dim], limit = getLimits()[dim],
            stride = getStrides()[dim];
    if (start < 0 || start > limit || limit > size || stride < 1) // slice_c2
      return emitOpError() << "dimension " << dim << " is sliced " << start
                           << " to " << limit << " by " << stride
                           << ", expected a range inside [0, " << size
                           << "] and a positive stride";
    wanted.push_back((limit - start + stride - 1) / stride);
  }
  if (failed(expectShape(*this, "result", getResult(), wanted)))
    return failure(); // slice_c3
  return expectElement(*this, "result", getResult(), elementOf(getOperand()));
}

/// Dimensions of equal size in operand 0 and the result correspond; the others
/// must stay whole.
static DimensionMapping boxMapping(Operation *op) {
  DimensionMapping mapping;
  ArrayRef<int64_t> from = shapeOf(op->getOperand(0)),
                    to = shapeOf(op->getResult(0));
  mapping.operands.emplace_back(from.size(), -1);
  mapping.results.emplace_back(to.size(), -1);
  for (size_t dim = 0; dim != from.size(); ++dim) {
    if (from[dim] != to[dim])
      continue;
    mapping.operands[0][dim] = mapping.results[0][dim] = mapping.factors.size();
    mapping.factors.push_back({from[dim], FactorKind::Parallel});
  }
  return mapping;
}

DimensionMapping SliceOp::getDimensionMapping() { return boxMapping(*this); }

LogicalResult PadOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  size_t rank = shape.size();
  if (getLow().size() != rank || getHigh().size() != rank ||
      getInterior().size() != rank) // pad_c1
    return emitOpError() << "low, high and interior have " << getLow().size()
                         << ", " << getHigh().size() << " and "
                         << getInterior().size() << " entries, expected "
                         << rank << " each";
  SmallVector<int64_t> wanted;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t low = getLow()[dim], high = getHigh()[dim],
            interior = getInterior()[dim];
    if (low < 0 || high < 0 || interior < 0) // pad_c1
      return emitOpError() << "dimension " << dim << " is padded by " << low
                           << ", " << high << " and " << interior
                           << ", expected nothing negative";
    wanted.push_back(low + high + size +
                     std::max<int64_t>(size - 1, 0) * interior);
  }
  if (failed(expectShape(*this, "result", getResult(), wanted)))
    return failure(); // pad_c2
  return expectElement(*this, "result", getResult(), elementOf(getOperand()));
}

DimensionMapping PadOp::getDimensionMapping() { return boxMapping(*this); }

LogicalResult ConcatOp::verify() {
  if (getInputs().empty()) // concat_c1
    return emitOpError("has no operand, expected at least one");
  ArrayRef<int64_t> to = shapeOf(getResult());
  if (failed(expectDim(*this, getDim(), to.size()))) // concat_c1
    return failure();
  int64_t total = 0;
  for (Value input : getInputs()) {
    if (failed(expectElement(*this, "operand", input, elementOf(getResult()))))
      return failure(); // concat_c2
    SmallVector<int64_t> wanted(to);
    if (shapeOf(input).size() == to.size())
      wanted[getDim()] = shapeOf(input)[getDim()];
    if (failed(expectShape(*this, "operand", input, wanted)))
      return failure(); // concat_c2
    total += shapeOf(input)[getDim()];
  }
  if (total != to[getDim()]) // concat_c3
    return emitOpError() << "sizes along dimension " << getDim()
                         << " add up to " << total << ", expected "
                         << to[getDim()];
  return success();
}

DimensionMapping ConcatOp::getDimensionMapping() {
  DimensionMapping mapping;
  ArrayRef<int64_t> to = shapeOf(getResult());
  SmallVector<int> dims;
  for (auto [dim, size] : llvm::enumerate(to)) {
    bool whole = dim == getDim();
    dims.push_back(whole ? -1 : int(mapping.factors.size()));
    if (!whole)
      mapping.factors.push_back({size, FactorKind::Parallel});
  }
  mapping.operands.assign(getInputs().size(), dims);
  mapping.results.push_back(dims);
  return mapping;
}
