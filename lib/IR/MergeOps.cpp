//===- MergeOps.cpp - Verifiers and facts of parts of attention -----------===//

#include "hone/IR/MergeOps.h"

#include "ShapeChecks.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace hone;

#define GET_OP_CLASSES
#include "hone/IR/HoneMergeOps.cpp.inc"

LogicalResult MergeAttentionOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getResult());
  if (shape.size() != 4) // merge_attention_c1
    return emitOpError() << "result has rank " << shape.size()
                         << ", expected 4";
  if (failed(
          expectShape(*this, "lse", getLse(), {shape[0], shape[2], shape[1]})))
    return failure(); // merge_attention_c1
  return expectElement(*this, "lse", getLse(), elementOf(getResult()));
}

/// Factors: batch, position, head, width. Every log-sum-exp is of a whole row.
DimensionMapping MergeAttentionOp::getDimensionMapping() {
  DimensionMapping mapping;
  for (int64_t size : shapeOf(getResult()))
    mapping.factors.push_back({size, FactorKind::Parallel});
  mapping.factors.back().kind = FactorKind::Replicate;
  TensorFactors result = {0, 1, 2, 3}, lse = {0, 2, 1};
  mapping.operands = {result, lse, result, lse};
  mapping.results = {result, lse};
  return mapping;
}
