//===- Kernel.cpp - What an emitter returns -------------------------------===//

#include "hone/Conversion/Kernel.h"

using namespace mlir;

MemRefType hone::kernelArgumentType(MemRefType type) {
  if (type.getNumElements() > 0)
    return type;
  SmallVector<int64_t> strides(type.getRank(), 1);
  for (int64_t d = type.getRank() - 1; d > 0; --d)
    strides[d - 1] = strides[d] * std::max<int64_t>(type.getShape()[d], 1);
  return MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), /*offset=*/0, strides));
}
