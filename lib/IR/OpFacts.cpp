//===- OpFacts.cpp - Defaults of the op interface -------------------------===//

#include "hone/IR/Hone.h"

using namespace mlir;
using namespace hone;

int64_t hone::elementByteWidth(Type elementType) {
  return std::max<int64_t>(1, elementType.getIntOrFloatBitWidth() / 8);
}

int64_t hone::byteSize(Type type) {
  auto shaped = cast<ShapedType>(type);
  return shaped.getNumElements() * elementByteWidth(shaped.getElementType());
}

OpCost hone::detail::elementwiseCost(Operation *op, int64_t flopsPerElement) {
  OpCost cost;
  int64_t elements = 0;
  for (Value operand : op->getOperands()) {
    cost.bytesRead += byteSize(operand.getType());
    elements = std::max(elements,
                        cast<ShapedType>(operand.getType()).getNumElements());
  }
  for (Value result : op->getResults()) {
    cost.bytesWritten += byteSize(result.getType());
    elements =
        std::max(elements, cast<ShapedType>(result.getType()).getNumElements());
  }
  cost.flops = elements * flopsPerElement;
  return cost;
}

/// The shape with the highest rank among operands and results; elementwise and
/// row ops run over it.
static ArrayRef<int64_t> iterationShape(Operation *op) {
  ArrayRef<int64_t> shape;
  auto consider = [&](Value value) {
    ArrayRef<int64_t> candidate =
        cast<RankedTensorType>(value.getType()).getShape();
    if (candidate.size() > shape.size())
      shape = candidate;
  };
  llvm::for_each(op->getOperands(), consider);
  llvm::for_each(op->getResults(), consider);
  return shape;
}

DimensionMapping hone::detail::elementwiseMapping(Operation *op) {
  DimensionMapping mapping;
  ArrayRef<int64_t> shape = iterationShape(op);
  for (int64_t size : shape)
    mapping.factors.push_back({size, FactorKind::Parallel});
  // Scalars (rank 0) correspond to nothing; all else has the full shape.
  auto dims = [&](Value value) {
    size_t rank = cast<RankedTensorType>(value.getType()).getRank();
    SmallVector<int> all;
    for (size_t dim = 0; dim != rank; ++dim)
      all.push_back(rank == shape.size() ? int(dim) : -1);
    return all;
  };
  for (Value operand : op->getOperands())
    mapping.operands.push_back(dims(operand));
  for (Value result : op->getResults())
    mapping.results.push_back(dims(result));
  return mapping;
}

DimensionMapping hone::detail::rowMapping(Operation *op, ValueRange vectors) {
  DimensionMapping mapping;
  ArrayRef<int64_t> shape = iterationShape(op);
  int last = int(shape.size()) - 1;
  for (auto [dim, size] : llvm::enumerate(shape))
    mapping.factors.push_back({size, int(dim) == last ? FactorKind::Replicate
                                                      : FactorKind::Parallel});
  auto dims = [&](Value value) -> SmallVector<int> {
    if (llvm::is_contained(vectors, value))
      return {last};
    // The full shape, or the rows: all dimensions but the last.
    return llvm::to_vector(
        llvm::seq<int>(0, cast<RankedTensorType>(value.getType()).getRank()));
  };
  for (Value operand : op->getOperands())
    mapping.operands.push_back(dims(operand));
  for (Value result : op->getResults())
    mapping.results.push_back(dims(result));
  return mapping;
}

DimensionMapping hone::detail::opaqueMapping(Operation *op) {
  DimensionMapping mapping;
  auto whole = [](Value value) {
    return SmallVector<int>(cast<RankedTensorType>(value.getType()).getRank(),
                            -1);
  };
  for (Value operand : op->getOperands())
    mapping.operands.push_back(whole(operand));
  for (Value result : op->getResults())
    mapping.results.push_back(whole(result));
  return mapping;
}

SmallVector<AliasPair> hone::detail::elementwiseAliases(Operation *op) {
  SmallVector<AliasPair> pairs;
  if (cast<HoneOpInterface>(op).getKernelFamily() != KernelFamily::map)
    return pairs;
  for (auto [resultIndex, result] : llvm::enumerate(op->getResults())) {
    auto type = cast<RankedTensorType>(result.getType());
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      auto from = cast<RankedTensorType>(operand.getType());
      if (from.getShape() == type.getShape() &&
          elementByteWidth(from.getElementType()) ==
              elementByteWidth(type.getElementType()))
        pairs.push_back({unsigned(index), unsigned(resultIndex)});
    }
  }
  return pairs;
}
