//===- GroupedElements.cpp - Elements of products of groups of rows -------===//

#include "ElementwiseArith.h"
#include "ScalarEmitter.h"

using namespace mlir;
using namespace hone;

/// Where the rows of a group end.
Value ScalarEmitter::endOf(Value ends, Value group) {
  return b.create<arith::IndexCastOp>(b.getIndexType(), emit(ends, group));
}

Value ScalarEmitter::groupedDot(GroupedDotOp op, ArrayRef<Value> indices) {
  Value x = op.getInput(), w = op.getWeight();
  Type element = getElementTypeOrSelf(op);
  int64_t groups = shapeOf(w)[0];
  // The group is the number of those that end at the row or before it.
  Value group =
      loop(0, groups, index(0),
           [&](Value at, ValueRange carried) -> SmallVector<Value> {
             Value isPast =
                 b.create<arith::CmpIOp>(arith::CmpIPredicate::sle,
                                         endOf(op.getEnds(), at), indices[0]);
             Value next = addIndex(carried[0], index(1));
             return {b.create<arith::SelectOp>(isPast, next, carried[0])};
           })[0];
  auto overWidth = [&] {
    return combineOver(ReduceKind::sum, element, shapeOf(x)[1],
                       [&](ArrayRef<Value> h) {
                         Indices matrix = {group, h[0], indices[1]};
                         if (op.getContract() == 2)
                           std::swap(matrix[1], matrix[2]);
                         return product(x, {indices[0], h[0]}, w, matrix);
                       });
  };
  Value sum = ifElse(isWithin(group, 0, groups), overWidth,
                     [&] { return zeroOf(element); });
  return elementwise::cast(b, b.getLoc(), sum, element);
}

Value ScalarEmitter::groupedDotBwdWeight(GroupedDotBwdWeightOp op,
                                         ArrayRef<Value> indices) {
  Value ends = op.getEnds(), group = indices[0];
  Type element = getElementTypeOrSelf(op);
  Value rows = index(shapeOf(op.getLhs())[0]), zero = zeroOf(element);
  auto before = [&] { return endOf(ends, addIndex(group, index(-1))); };
  Value start = ifElse(isWithin(group, 0, 1), [&] { return index(0); }, before);
  start = b.create<arith::MaxSIOp>(start, index(0));
  Value end = b.create<arith::MinSIOp>(endOf(ends, group), rows);
  // Blocks of rows have sums of their own, as long reductions have.
  Value sum =
      b.loop(start, end, reduceBlock, zero,
             [&](Value first, ValueRange total) -> SmallVector<Value> {
               ScopeGuard scope(*this);
               Value stop = b.create<arith::MinSIOp>(
                   b.create<arith::AddIOp>(first, index(reduceBlock)), end);
               Value part = b.loop(
                   first, stop, 1, zero,
                   [&](Value row, ValueRange carried) -> SmallVector<Value> {
                     ScopeGuard inner(*this);
                     Value term = product(op.getLhs(), {row, indices[1]},
                                          op.getRhs(), {row, indices[2]});
                     return {b.create<arith::AddFOp>(carried[0], term)};
                   })[0];
               return {b.create<arith::AddFOp>(total[0], part)};
             })[0];
  return elementwise::cast(b, b.getLoc(), sum, element);
}
