//===- RingOps.cpp - Verifiers and facts of attention in a ring -----------===//

#include "hone/Sharding/IR/RingOps.h"

#include "MeshOf.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

#define GET_OP_CLASSES
#include "hone/Sharding/IR/DistRingOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

static LogicalResult expectType(Operation *op, StringRef what, Value value,
                                Type expected) {
  if (value.getType() == expected)
    return success();
  return op->emitOpError() << what << " has type " << value.getType()
                           << ", expected " << expected;
}

/// Checks operands and axes: C1 to C5 of `dist.ring_attention`.
template <typename RingOp>
static LogicalResult verifyRing(RingOp op, Value output) {
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  ArrayRef<int64_t> own = query.getShape(), key = shapeOf(op.getKey()),
                    value = shapeOf(op.getValue());
  if (own.size() != 4 || key.size() != 4 || value.size() != 4) // c1
    return op.emitOpError()
           << "query, key and value have ranks " << own.size() << ", "
           << key.size() << " and " << value.size() << ", expected 4";
  if (failed(expectType(op, "key", op.getKey(),
                        query.clone({own[0], own[1], key[2], own[3]}))) ||
      failed(expectType(op, "value", op.getValue(),
                        query.clone({own[0], own[1], key[2], value[3]}))) ||
      failed(expectType(op, "result", output,
                        query.clone({own[0], own[1], own[2], value[3]}))))
    return failure();                      // c1
  if (key[2] == 0 || own[2] % key[2] != 0) // c2
    return op.emitOpError() << "has " << own[2] << " query heads and " << key[2]
                            << " key heads, expected a multiple";
  auto lse = cast<RankedTensorType>(op.getLse().getType());
  if (failed(expectType(op, "lse", op.getLse(), // c3
                        lse.clone({own[0], own[2], own[1]}))))
    return failure();
  FailureOr<Mesh> mesh = meshOf(op);
  if (failed(mesh) || failed(verifyAxes(op, op.getAxes(), *mesh))) // c4
    return failure();
  if (own[1] % 2 != 0) // c5
    return op.emitOpError() << "has " << own[1]
                            << " positions, expected two runs of equal length";
  return success();
}

LogicalResult RingAttentionOp::verify() {
  return verifyRing(*this, getResult()); // ring_attention_c1 .. c5
}

LogicalResult RingAttentionBwdOp::verify() {
  if (failed(verifyRing(*this, getOutput())) || // ring_attention_bwd_c1, c3
      failed(expectType(*this, "grad", getGrad(), getOutput().getType())))
    return failure();
  if (failed(expectType(*this, "query_grad", getQueryGrad(),
                        getQuery().getType())) ||
      failed(expectType(*this, "key_grad", getKeyGrad(), getKey().getType())))
    return failure(); // ring_attention_bwd_c2
  return expectType(*this, "value_grad", getValueGrad(), getValue().getType());
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

/// Of the products of a causal attention, each of which pairs half of the
/// queries and keys.
template <typename RingOp>
static OpCost costOf(RingOp op, int64_t queryProducts, int64_t valueProducts) {
  ArrayRef<int64_t> query = shapeOf(op.getQuery());
  int64_t pairs = query[0] * query[1] * query[2] * query[1] / 2;
  OpCost cost = hone::detail::elementwiseCost(op, 0);
  cost.flops =
      2 * pairs *
      (queryProducts * query[3] + valueProducts * shapeOf(op.getValue())[3]);
  return cost;
}

OpCost RingAttentionOp::getCost() { return costOf(*this, 1, 1); }
OpCost RingAttentionBwdOp::getCost() { return costOf(*this, 3, 2); }

/// Factors: batch, position, head, widths. Ranks that divide positions exchange
/// what others need, so that each has its part of every result.
enum RingFactor { Batch, Position, Head, Width, ValueWidth };
static_assert(RingAttentionOp::positionFactor == Position);

template <typename RingOp> static DimensionMapping factorsOf(RingOp op) {
  ArrayRef<int64_t> query = shapeOf(op.getQuery());
  DimensionMapping mapping;
  mapping.factors = {{query[0], FactorKind::Parallel},
                     {query[1], FactorKind::Parallel},
                     {query[2], FactorKind::Parallel},
                     {query[3], FactorKind::Replicate},
                     {shapeOf(op.getValue())[3], FactorKind::Replicate}};
  return mapping;
}

static TensorFactors queryDims() { return {Batch, Position, Head, Width}; }
static TensorFactors outputDims() {
  return {Batch, Position, Head, ValueWidth};
}
static TensorFactors lseDims() { return {Batch, Head, Position}; }
/// Of keys, or of values: a run of query heads shares a head.
static TensorFactors keyDims(RingFactor width) {
  return {Batch, Position, DimensionFactors::shared(Head), width};
}

DimensionMapping RingAttentionOp::getDimensionMapping() {
  DimensionMapping mapping = factorsOf(*this);
  mapping.operands = {queryDims(), keyDims(Width), keyDims(ValueWidth)};
  mapping.results = {outputDims(), lseDims()};
  return mapping;
}

DimensionMapping RingAttentionBwdOp::getDimensionMapping() {
  DimensionMapping mapping = factorsOf(*this);
  mapping.operands = {outputDims(),        queryDims(),  keyDims(Width),
                      keyDims(ValueWidth), outputDims(), lseDims()};
  mapping.results = {queryDims(), keyDims(Width), keyDims(ValueWidth)};
  return mapping;
}
