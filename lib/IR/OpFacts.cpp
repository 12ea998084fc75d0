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

std::optional<double> hone::splatOf(Attribute constant) {
  auto dense = dyn_cast_if_present<DenseElementsAttr>(constant);
  if (!dense || !dense.isSplat())
    return std::nullopt;
  if (isa<FloatType>(dense.getElementType()))
    return dense.getSplatValue<APFloat>().convertToDouble();
  if (dense.getElementType().isInteger(1))
    return dense.getSplatValue<bool>();
  return double(dense.getSplatValue<APInt>().getSExtValue());
}

ElementState hone::join(ElementState a, ElementState b) {
  if (a == ElementState::Singular || b == ElementState::Singular)
    return ElementState::Singular;
  return a == b ? a : ElementState::Finite;
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
    TensorFactors all;
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
  auto dims = [&](Value value) -> TensorFactors {
    if (llvm::is_contained(vectors, value))
      return {last};
    // The full shape, or the rows: all dimensions but the last.
    auto all =
        llvm::seq<int>(0, cast<RankedTensorType>(value.getType()).getRank());
    return {all.begin(), all.end()};
  };
  for (Value operand : op->getOperands())
    mapping.operands.push_back(dims(operand));
  for (Value result : op->getResults())
    mapping.results.push_back(dims(result));
  return mapping;
}

SmallVector<int64_t> hone::detail::shapeOfResult(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  return SmallVector<int64_t>(type.getShape());
}

DimensionMapping hone::detail::opaqueMapping(Operation *op) {
  DimensionMapping mapping;
  auto whole = [](Value value) {
    return TensorFactors(cast<RankedTensorType>(value.getType()).getRank(), -1);
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

//===----------------------------------------------------------------------===//
// Element states
//===----------------------------------------------------------------------===//

static bool areAll(ArrayRef<ElementState> operands, ElementState state) {
  return llvm::all_of(operands,
                      [&](ElementState other) { return other == state; });
}

ElementState hone::detail::keepState(ArrayRef<ElementState> operands) {
  ElementState state = operands.front();
  for (ElementState other : operands)
    state = join(state, other);
  return state;
}

ElementState hone::detail::anyNumber(ArrayRef<ElementState> operands) {
  bool isSingular = llvm::is_contained(operands, ElementState::Singular);
  return isSingular ? ElementState::Singular : ElementState::Finite;
}

ElementState hone::detail::keepZero(ArrayRef<ElementState> operands) {
  bool areZero = areAll(operands, ElementState::Zero);
  return areZero ? ElementState::Zero : anyNumber(operands);
}

ElementState hone::detail::leaveZero(ArrayRef<ElementState> operands) {
  bool areZero = areAll(operands, ElementState::Zero);
  return areZero ? ElementState::Nonzero : anyNumber(operands);
}

ElementState hone::detail::sumState(ArrayRef<ElementState> operands) {
  ElementState lhs = operands[0], rhs = operands[1];
  if (lhs == ElementState::Zero && rhs != ElementState::Copy)
    return rhs;
  if (rhs == ElementState::Zero && lhs != ElementState::Copy)
    return lhs;
  return anyNumber(operands);
}

ElementState hone::detail::productState(ArrayRef<ElementState> operands) {
  if (areAll(operands, ElementState::Nonzero))
    return ElementState::Nonzero;
  ElementState state = anyNumber(operands);
  bool hasZero = llvm::is_contained(operands, ElementState::Zero);
  return hasZero && state == ElementState::Finite ? ElementState::Zero : state;
}

/// Whether an op without a finite value or derivative at 0 has both here.
static bool isDefinedAt(ElementState state) {
  return state == ElementState::Nonzero || state == ElementState::Copy;
}

ElementState hone::detail::quotientState(ArrayRef<ElementState> operands) {
  if (!isDefinedAt(operands.back()))
    return ElementState::Singular;
  // What is made of a copy and another element is no copy.
  ElementState state = operands.front();
  return state == ElementState::Copy ? ElementState::Finite : state;
}

ElementState hone::detail::logState(ArrayRef<ElementState> operands) {
  return isDefinedAt(operands.back()) ? ElementState::Finite
                                      : ElementState::Singular;
}

ElementState hone::detail::log1pState(ArrayRef<ElementState> operands) {
  return operands.front() == ElementState::Zero ? ElementState::Zero
                                                : logState(operands);
}

ElementState hone::detail::powerState(ArrayRef<ElementState>) {
  return ElementState::Singular;
}
