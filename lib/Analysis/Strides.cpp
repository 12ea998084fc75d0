//===- Strides.cpp - Dimensions that share a stride -----------------------===//

#include "hone/Analysis/Strides.h"

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
