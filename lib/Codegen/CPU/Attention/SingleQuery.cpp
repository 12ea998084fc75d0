//===- SingleQuery.cpp - The forward kernel of one query per head ---------===//
//
// With one query, scores need no lane per query: the lanes run along widths of
// heads, and each key and value is read once. A block of scores lies along a
// row, so that the softmax is on vectors of keys.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace hone;
using namespace hone::detail;

namespace {
class SingleQueryEmitter : public AttentionEmitter {
public:
  SingleQueryEmitter(OpBuilder &builder, func::FuncOp func, const Attention &op,
                     BlockSizes sizes)
      : AttentionEmitter(builder, func, op, sizes),
        scores(stackBlock(1, sizes.keys)) {}

  void emit() {
    loop(op.lo, op.hi, 1, [&](Value item) { emitItem(item); });
  }

private:
  /// The largest score m, the sum l of e^(s - m), and sum e^(s - m) v.
  struct Sums {
    Value largest, total; ///< f32
    Values result;
  };

  void emitItem(Value item);
  void addBlock(const Tile &tile, ArrayRef<Value> query, Sums &sums);
  void writeScores(const Tile &tile, ArrayRef<Value> query);
  void finish(const Tile &tile, const Sums &sums);

  /// The vectors of a row of `width` elements.
  Values loadRow(const Matrix &rows, Value row);
  Value validLanes(int64_t width, int64_t column) {
    return firstLanes(std::min(kernelLanes, width - column));
  }
  Value reduce(vector::CombiningKind kind, Value vector) {
    auto flags = kind == vector::CombiningKind::ADD
                     ? arith::FastMathFlags::reassoc
                     : arith::FastMathFlags::none;
    return create<vector::ReductionOp>(kind, vector, flags);
  }
  Value number(float value) {
    return create<arith::ConstantOp>(getF32FloatAttr(value));
  }

  const float infinity = std::numeric_limits<float>::infinity();
  const Matrix scores; ///< [1, keys]
};
} // namespace

BlockBuilder::Values SingleQueryEmitter::loadRow(const Matrix &rows,
                                                 Value row) {
  Values vectors;
  for (int64_t column = 0; column < rows.width; column += kernelLanes)
    vectors.push_back(
        load(rows, row, constant(column), validLanes(rows.width, column)));
  return vectors;
}

void SingleQueryEmitter::emitItem(Value item) {
  Tile tile;
  tile.batch = div(item, op.heads);
  tile.head = rem(item, op.heads);
  tile.group = div(tile.head, op.heads / op.groups);
  enterBlock(tile, constant(0));
  Value zero = constant(0), factor = splat(float(op.scale));
  Values query = loadRow(headRows(op.query, tile.batch, tile.head, zero), zero);
  for (Value &vector : query)
    vector = mulf(vector, factor);

  Values init = {number(-infinity), number(0)};
  init.append(llvm::divideCeil(op.valueWidth, kernelLanes), splat(0));
  Value end = constant(op.keys);
  if (op.causal)
    end = min(end, add(tile.position, 1));
  Values last =
      loop(zero, end, sizes.keys, init, [&](Value key, ValueRange carried) {
        tile.firstKey = key;
        tile.keys = min(constant(sizes.keys), sub(end, key));
        Sums sums = {carried[0], carried[1], Values(carried.drop_front(2))};
        addBlock(tile, query, sums);
        Values next = {sums.largest, sums.total};
        next.append(sums.result);
        return next;
      });
  finish(tile, {last[0], last[1], Values(ArrayRef(last).drop_front(2))});
}

/// s of the keys of the tile, and -inf up to the end of a vector.
void SingleQueryEmitter::writeScores(const Tile &tile, ArrayRef<Value> query) {
  Value zero = constant(0);
  Matrix keys = headRows(op.key, tile.batch, tile.group, tile.firstKey);
  Matrix mask;
  if (op.mask) {
    ArrayRef<int64_t> shape = cast<MemRefType>(op.mask.getType()).getShape();
    mask = {op.mask,
            {shape[0] == 1 ? zero : tile.batch,
             shape[1] == 1 ? zero : tile.head, zero},
            2,
            op.keys};
  }
  store(splat(-infinity), scores, zero,
        mul(div(add(tile.keys, -1), kernelLanes), kernelLanes));
  loop(zero, tile.keys, 1, [&](Value key) {
    Values row = loadRow(keys, key);
    Value products = splat(0);
    for (auto [k, q] : llvm::zip(row, query))
      products = fma(k, q, products);
    Value score = reduce(vector::CombiningKind::ADD, products);
    if (mask)
      score = create<arith::AddFOp>(
          score, loadScalar(mask, zero, add(tile.firstKey, key)));
    create<memref::StoreOp>(score, scores.buffer, ValueRange{zero, key});
  });
}

void SingleQueryEmitter::addBlock(const Tile &tile, ArrayRef<Value> query,
                                  Sums &sums) {
  Value zero = constant(0);
  writeScores(tile, query);
  Value largest =
      loop(zero, tile.keys, kernelLanes, ValueRange(splat(-infinity)),
           [&](Value key, ValueRange carried) -> Values {
             return {larger(load(scores, zero, key), carried[0])};
           })[0];
  Value old = std::exchange(
      sums.largest,
      create<arith::MaximumFOp>(
          sums.largest, reduce(vector::CombiningKind::MAXIMUMF, largest)));
  // A mask may hide every key so far: e^(-inf - 0) is then the 0 that
  // e^(-inf - -inf) is not.
  Value offset = sums.largest;
  if (op.mask)
    offset = create<arith::SelectOp>(
        create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, offset,
                              number(-infinity)),
        number(0), offset);
  Value base = broadcast(offset);
  Value rescale = exp(subf(broadcast(old), base));
  Value weights = loop(zero, tile.keys, kernelLanes, ValueRange(splat(0)),
                       [&](Value key, ValueRange carried) -> Values {
                         Value p = exp(subf(load(scores, zero, key), base));
                         store(p, scores, zero, key);
                         return {addf(carried[0], p)};
                       })[0];
  Value factor = create<vector::ExtractOp>(rescale, 0);
  sums.total =
      create<arith::AddFOp>(create<arith::MulFOp>(sums.total, factor),
                            reduce(vector::CombiningKind::ADD, weights));
  Values result;
  for (Value vector : sums.result)
    result.push_back(mulf(vector, rescale));
  Matrix values = headRows(op.value, tile.batch, tile.group, tile.firstKey);
  sums.result =
      loop(zero, tile.keys, 1, result, [&](Value key, ValueRange carried) {
        Value weight = broadcast(loadScalar(scores, zero, key));
        Values next;
        for (auto [value, sum] : llvm::zip(loadRow(values, key), carried))
          next.push_back(fma(value, weight, sum));
        return next;
      });
}

/// Divides by the sum and writes the result and the log-sum-exp.
void SingleQueryEmitter::finish(const Tile &tile, const Sums &sums) {
  Value zero = constant(0), total = sums.total;
  Value lse = create<arith::AddFOp>(sums.largest, create<math::LogOp>(total));
  Value inverse = create<arith::DivFOp>(number(1), total);
  // A row that sees no key is 0.
  if (op.mask || op.keys == 0) {
    Value isHidden = create<arith::CmpFOp>(arith::CmpFPredicate::OEQ,
                                           sums.largest, number(-infinity));
    lse = create<arith::SelectOp>(isHidden, number(infinity), lse);
    inverse = create<arith::SelectOp>(isHidden, number(0), inverse);
  }
  if (op.lse)
    store(broadcast(lse), lseRow(tile), zero, zero, firstLanes(1));
  if (!op.result)
    return;
  Matrix rows = headRows(op.result, tile.batch, tile.head, zero);
  for (auto [i, vector] : llvm::enumerate(sums.result)) {
    int64_t column = int64_t(i) * kernelLanes;
    store(mulf(vector, broadcast(inverse)), rows, zero, constant(column),
          validLanes(rows.width, column));
  }
}

void hone::detail::emitSingleQuery(OpBuilder &builder, func::FuncOp func,
                                   const Attention &op, BlockSizes sizes) {
  SingleQueryEmitter(builder, func, op, sizes).emit();
}
