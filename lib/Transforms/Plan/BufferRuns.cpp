//===- BufferRuns.cpp - The bytes of buffers ------------------------------===//

#include "BufferRuns.h"

using namespace mlir;
using namespace hone;
using namespace hone::plan;

void plan::forEachRun(MemRefType type, int64_t begin,
                      llvm::function_ref<void(int64_t, int64_t)> visit) {
  if (type.getNumElements() == 0)
    return;
  ArrayRef<int64_t> shape = type.getShape();
  SmallVector<int64_t> strides = getStridesAndOffset(type).first;
  int64_t width = elementByteWidth(type.getElementType());
  // The inner dimensions without gaps are one run.
  int64_t run = 1;
  size_t outer = shape.size();
  while (outer > 0 && (shape[outer - 1] == 1 || strides[outer - 1] == run))
    run *= shape[--outer];
  SmallVector<int64_t> index(outer, 0);
  while (true) {
    int64_t at = begin;
    for (size_t dim = 0; dim != outer; ++dim)
      at += index[dim] * strides[dim] * width;
    visit(at, at + run * width);
    size_t dim = outer;
    while (dim > 0 && ++index[dim - 1] == shape[dim - 1])
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}

/// The runs of bytes that a buffer consists of, in the order of its elements.
static SmallVector<std::pair<int64_t, int64_t>> runsOf(Value buffer) {
  SmallVector<std::pair<int64_t, int64_t>> runs;
  forEachRun(cast<MemRefType>(buffer.getType()), arenaOffset(buffer),
             [&](int64_t begin, int64_t end) { runs.push_back({begin, end}); });
  return runs;
}

bool plan::shareBytes(Value a, Value b) {
  if (!overlap(a, b))
    return false;
  auto sorted = [](Value buffer) {
    auto runs = runsOf(buffer);
    llvm::sort(runs);
    return runs;
  };
  auto left = sorted(a), right = sorted(b);
  for (size_t i = 0, j = 0; i != left.size() && j != right.size();) {
    if (left[i].first < right[j].second && right[j].first < left[i].second)
      return true;
    left[i].second <= right[j].second ? ++i : ++j;
  }
  return false;
}

bool plan::isSamePlace(Value a, Value b) {
  auto type = cast<MemRefType>(a.getType());
  auto other = cast<MemRefType>(b.getType());
  return type.getShape() == other.getShape() &&
         elementByteWidth(type.getElementType()) ==
             elementByteWidth(other.getElementType()) &&
         runsOf(a) == runsOf(b);
}
