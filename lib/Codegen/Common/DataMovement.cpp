//===- DataMovement.cpp - Where moved elements come from ------------------===//

#include "DataMovement.h"

#include "KernelBuilder.h"

using namespace mlir;
using namespace hone;

Operation *hone::movedBy(plan::LaunchOp launch) {
  Block &body = launch.getBodyBlock();
  Operation *op = &body.front();
  if (!isa<TransposeOp, SliceOp, PadOp, ConcatOp>(op) ||
      op->getNextNode() != body.getTerminator() ||
      !llvm::equal(body.getTerminator()->getOperands(), op->getResults()) ||
      !llvm::all_of(op->getOperands(), llvm::IsaPred<BlockArgument>) ||
      !llvm::all_of(launch->getOperandTypes(), isContiguous) ||
      !launch.getScratch().empty())
    return nullptr;
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  bool isEmpty = ShapedType::getNumElements(shape) == 0;
  return isEmpty || shape.empty() ? nullptr : op;
}

static SmallVector<MoveDim> coalesce(ArrayRef<MoveDim> dims) {
  SmallVector<MoveDim> merged;
  for (MoveDim dim : dims) {
    if (dim.size == 1)
      continue;
    if (!merged.empty() && merged.back().stride == dim.size * dim.stride)
      merged.back() = {merged.back().size * dim.size, dim.stride};
    else
      merged.push_back(dim);
  }
  if (merged.empty())
    merged.push_back({1, 1});
  return merged;
}

SmallVector<int64_t> hone::denseStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t dim = int64_t(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}

StridedMove hone::stridedMove(Operation *op) {
  SmallVector<int64_t> strides = denseStrides(shapeOf(op->getOperand(0)));
  SmallVector<MoveDim> dims;
  int64_t base = 0;
  if (auto transpose = dyn_cast<TransposeOp>(op))
    for (auto [size, from] :
         llvm::zip(shapeOf(op->getResult(0)), transpose.getPermutation()))
      dims.push_back({size, strides[from]});
  if (auto slice = dyn_cast<SliceOp>(op))
    for (auto [size, stride, start, step] : llvm::zip(
             shapeOf(slice), strides, slice.getStarts(), slice.getStrides())) {
      dims.push_back({size, stride * step});
      base += start * stride;
    }
  return {coalesce(dims), base};
}

std::optional<unsigned> StridedMove::innerDim() const {
  for (auto [position, dim] : llvm::enumerate(dims))
    if (dim.stride == 1)
      return position;
  return std::nullopt;
}

SmallVector<int64_t> StridedMove::sizes() const {
  return llvm::map_to_vector(dims, [](MoveDim dim) { return dim.size; });
}
