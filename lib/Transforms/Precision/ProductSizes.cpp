//===- ProductSizes.cpp - Products as products of matrices ----------------===//

#include "hone/Transforms/Precision/ProductSizes.h"

#include "hone/Transforms/Precision/Policy.h"

using namespace mlir;
using namespace hone;

int64_t hone::countAlong(Value value, ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= shapeOf(value)[dim];
  return count;
}

std::optional<int64_t> ProductSizes::oddSize() const {
  for (int64_t size : {rows, columns, depth})
    if (size % fp8Multiple != 0 || size == 0)
      return size;
  return std::nullopt;
}

ProductSizes hone::sizesOf(DotGeneralOp dot) {
  return {countAlong(dot.getLhs(), dot.getLhsFree()),
          countAlong(dot.getRhs(), dot.getRhsFree()),
          countAlong(dot.getLhs(), dot.getLhsContract())};
}
