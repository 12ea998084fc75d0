//===- Strides.cpp - Dimensions that share a stride -----------------------===//

#include "hone/Analysis/Layout/Strides.h"

using namespace hone;

llvm::SmallVector<int64_t>
hone::rowMajorStrides(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= shape[dim];
  }
  return strides;
}

std::optional<CollapsedDims> hone::collapseDims(llvm::ArrayRef<int64_t> shape,
                                                llvm::ArrayRef<int64_t> strides,
                                                llvm::ArrayRef<int64_t> dims) {
  CollapsedDims result = {1, 0};
  for (size_t index = dims.size(); index-- > 0;) {
    int64_t size = shape[dims[index]], stride = strides[dims[index]];
    if (size == 1)
      continue; // never walked
    if (result.size == 1)
      result.stride = stride;
    else if (stride != result.stride * result.size)
      return std::nullopt;
    result.size *= size;
  }
  return result;
}

bool hone::isStridedMatrix(llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<int64_t> batch,
                           llvm::ArrayRef<int64_t> free,
                           llvm::ArrayRef<int64_t> contract) {
  llvm::SmallVector<int64_t> strides = rowMajorStrides(shape);
  auto rows = collapseDims(shape, strides, free);
  auto cols = collapseDims(shape, strides, contract);
  return collapseDims(shape, strides, batch) && rows && cols &&
         (rows->stride <= 1 || cols->stride <= 1);
}

std::optional<RowLayout> hone::rowLayout(mlir::MemRefType type) {
  if (type.getLayout().isIdentity() || type.getNumElements() == 0)
    return std::nullopt;
  llvm::SmallVector<int64_t> strides = mlir::getStridesAndOffset(type).first;
  llvm::ArrayRef<int64_t> shape = type.getShape();
  llvm::SmallVector<int64_t> leading =
      llvm::to_vector(llvm::seq<int64_t>(0, shape.size() - 1));
  std::optional<CollapsedDims> rows = collapseDims(shape, strides, leading);
  assert(rows && strides.back() == 1 && "no part along the last dimension");
  return RowLayout{shape.back(), rows->stride};
}
