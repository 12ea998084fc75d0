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

/// The strides at which dimensions of `shape` begin and end, in a shape of that
/// many elements: its suffix products.
static SmallVector<int64_t> boundaries(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> products = {1};
  for (int64_t size : llvm::reverse(shape))
    products.push_back(products.back() * size);
  return products;
}

/// Gives the dimensions of `from` and `to`, which hold the same elements, the
/// factors that lie between two neighbouring boundaries of either, where every
/// boundary divides the next; else nothing corresponds.
static void mapRun(ArrayRef<int64_t> from, ArrayRef<int64_t> to,
                   MutableArrayRef<DimensionFactors> operand,
                   MutableArrayRef<DimensionFactors> result,
                   SmallVectorImpl<Factor> &factors) {
  SmallVector<int64_t> cuts = boundaries(from);
  llvm::append_range(cuts, boundaries(to));
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  for (size_t cut = 1; cut < cuts.size(); ++cut)
    if (cuts[cut] % cuts[cut - 1] != 0)
      return;
  int first = factors.size(); // the slowest
  for (size_t cut = cuts.size() - 1; cut != 0; --cut)
    factors.push_back({cuts[cut] / cuts[cut - 1], FactorKind::Parallel});
  auto assign = [&](ArrayRef<int64_t> shape,
                    MutableArrayRef<DimensionFactors> dims) {
    int next = first;
    for (auto [size, dim] : llvm::zip(shape, dims)) {
      SmallVector<int> own;
      for (int64_t left = size; left > 1; left /= factors[next++].size)
        own.push_back(next);
      dim = DimensionFactors(own);
    }
  };
  assign(from, operand);
  assign(to, result);
}

DimensionMapping ReshapeOp::getDimensionMapping() {
  ArrayRef<int64_t> from = shapeOf(getOperand()), to = shapeOf(getResult());
  DimensionMapping mapping;
  mapping.operands.emplace_back(from.size(), -1);
  mapping.results.emplace_back(to.size(), -1);
  MutableArrayRef<DimensionFactors> operand = mapping.operands[0],
                                    result = mapping.results[0];
  if (llvm::is_contained(from, 0))
    return mapping;
  // Shortest runs of dimensions that hold the same elements.
  size_t i = 0, j = 0;
  while (i != from.size() && j != to.size()) {
    size_t first = i, firstTo = j;
    int64_t count = from[i++], countTo = to[j++];
    while (count != countTo)
      count < countTo ? count *= from[i++] : countTo *= to[j++];
    mapRun(from.slice(first, i - first), to.slice(firstTo, j - firstTo),
           operand.slice(first, i - first), result.slice(firstTo, j - firstTo),
           mapping.factors);
  }
  return mapping; // what is left has size 1
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
  SmallVector<int64_t> expected;
  for (int64_t dim : permutation)
    expected.push_back(shape[dim]);
  if (failed(expectShape(*this, "result", getResult(), expected)))
    return failure(); // transpose_c2
  return expectElement(*this, "result", getResult(), elementOf(getOperand()));
}

DimensionMapping TransposeOp::getDimensionMapping() {
  DimensionMapping mapping;
  for (int64_t size : shapeOf(getOperand()))
    mapping.factors.push_back({size, FactorKind::Parallel});
  auto all = llvm::seq<int>(0, mapping.factors.size());
  mapping.operands.emplace_back(all.begin(), all.end());
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
  auto all = llvm::seq<int>(0, mapping.factors.size());
  mapping.results.emplace_back(all.begin(), all.end());
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
  SmallVector<int64_t> expected;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t start = getStarts()[dim], limit = getLimits()[dim],
            stride = getStrides()[dim];
    if (start < 0 || start > limit || limit > size || stride < 1) // slice_c2
      return emitOpError() << "dimension " << dim << " is sliced " << start
                           << " to " << limit << " by " << stride
                           << ", expected a range inside [0, " << size
                           << "] and a positive stride";
    expected.push_back((limit - start + stride - 1) / stride);
  }
  if (failed(expectShape(*this, "result", getResult(), expected)))
    return failure(); // slice_c3
  return expectElement(*this, "result", getResult(), elementOf(getOperand()));
}

/// The dimensions of `whole` are factors. Those of `part` have them too where
/// both sizes are equal, or a piece of them from `offsets` on; an offset of -1
/// leaves the dimension without a factor.
static DimensionMapping boxMapping(Value whole, Value part,
                                   ArrayRef<int64_t> offsets,
                                   bool wholeIsResult) {
  DimensionMapping mapping;
  ArrayRef<int64_t> from = shapeOf(whole), to = shapeOf(part);
  TensorFactors wholeDims(from.size(), -1), partDims(to.size(), -1);
  for (auto [dim, offset] : llvm::enumerate(offsets)) {
    if (offset < 0)
      continue;
    int factor = mapping.factors.size();
    mapping.factors.push_back({from[dim], FactorKind::Parallel});
    wholeDims[dim] = factor;
    partDims[dim] = from[dim] == to[dim]
                        ? DimensionFactors(factor)
                        : DimensionFactors::piece(factor, offset);
  }
  mapping.operands = {wholeIsResult ? partDims : wholeDims};
  mapping.results = {wholeIsResult ? wholeDims : partDims};
  return mapping;
}

DimensionMapping SliceOp::getDimensionMapping() {
  SmallVector<int64_t> offsets(getStarts());
  for (auto [offset, stride] : llvm::zip(offsets, getStrides()))
    if (stride != 1)
      offset = -1;
  return boxMapping(getOperand(), getResult(), offsets,
                    /*wholeIsResult=*/false);
}

LogicalResult PadOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  size_t rank = shape.size();
  if (getLow().size() != rank || getHigh().size() != rank ||
      getInterior().size() != rank) // pad_c1
    return emitOpError() << "low, high and interior have " << getLow().size()
                         << ", " << getHigh().size() << " and "
                         << getInterior().size() << " entries, expected "
                         << rank << " each";
  SmallVector<int64_t> expected;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t low = getLow()[dim], high = getHigh()[dim],
            interior = getInterior()[dim];
    if (low < 0 || high < 0 || interior < 0) // pad_c1
      return emitOpError() << "dimension " << dim << " is padded by " << low
                           << ", " << high << " and " << interior
                           << ", expected nothing negative";
    expected.push_back(low + high + size +
                       std::max<int64_t>(size - 1, 0) * interior);
  }
  if (failed(expectShape(*this, "result", getResult(), expected)))
    return failure(); // pad_c2
  return expectElement(*this, "result", getResult(), elementOf(getOperand()));
}

DimensionMapping PadOp::getDimensionMapping() {
  SmallVector<int64_t> offsets(getLow());
  for (auto [offset, interior] : llvm::zip(offsets, getInterior()))
    if (interior != 0)
      offset = -1;
  return boxMapping(getResult(), getOperand(), offsets,
                    /*wholeIsResult=*/true);
}

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
    SmallVector<int64_t> expected(to);
    if (shapeOf(input).size() == to.size())
      expected[getDim()] = shapeOf(input)[getDim()];
    if (failed(expectShape(*this, "operand", input, expected)))
      return failure(); // concat_c2
    total += shapeOf(input)[getDim()];
  }
  if (total != to[getDim()]) // concat_c3
    return emitOpError() << "sizes along dimension " << getDim()
                         << " add up to " << total << ", expected "
                         << to[getDim()];
  return success();
}

OperandSets ConcatOp::getLinearOperands() {
  auto all = llvm::seq<unsigned>(0, getInputs().size());
  return {{all.begin(), all.end()}};
}

DimensionMapping ConcatOp::getDimensionMapping() {
  DimensionMapping mapping;
  for (int64_t size : shapeOf(getResult()))
    mapping.factors.push_back({size, FactorKind::Parallel});
  auto all = llvm::seq<int>(0, mapping.factors.size());
  TensorFactors dims(all.begin(), all.end());
  mapping.results.push_back(dims);
  int64_t offset = 0;
  for (Value input : getInputs()) {
    if (getInputs().size() > 1)
      dims[getDim()] = DimensionFactors::piece(getDim(), offset);
    mapping.operands.push_back(dims);
    offset += shapeOf(input)[getDim()];
  }
  return mapping;
}
