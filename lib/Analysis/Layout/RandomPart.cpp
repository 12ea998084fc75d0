//===- RandomPart.cpp - Where a part's random numbers lie -----------------===//

#include "hone/Analysis/Layout/RandomPart.h"

using namespace mlir;
using namespace hone;

RandomPart RandomPart::of(RandomOpInterface op) {
  SmallVector<int64_t> sizes = op.getRandomShape();
  ArrayRef<int64_t> whole = op.getWhole().value_or(sizes);
  RandomPart part;
  int64_t stride = 1;
  for (int64_t dim = int64_t(sizes.size()) - 1; dim >= 0; --dim) {
    int64_t size = sizes[dim];
    if (size != whole[dim] && size * stride % 4 != 0)
      part.isAligned = false;
    bool continues =
        !part.dims.empty() &&
        stride == part.dims.front().size * part.dims.front().stride;
    if (continues)
      part.dims.front().size *= size;
    else if (size != 1)
      part.dims.insert(part.dims.begin(), {size, stride});
    stride *= whole[dim];
  }
  if (part.dims.empty())
    part.dims.push_back({1, 1});
  return part;
}

bool RandomPart::keepsCounters() const {
  Dim last = dims.back();
  return isAligned && last.stride == 1 &&
         (dims.size() == 1 || last.size % 4 == 0) &&
         llvm::all_of(ArrayRef(dims).drop_back(),
                      [](Dim dim) { return dim.stride % 4 == 0; });
}
