//===- Forward.cpp - The forward kernel -----------------------------------===//
//
// Online softmax over blocks of keys (Dao et al., 2022). Per query the kernel
// carries the largest score m, the sum l of e^(s - m), and sum e^(s - m) v.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace hone;
using namespace hone::detail;

namespace {
class ForwardEmitter : public AttentionEmitter {
public:
  ForwardEmitter(OpBuilder &builder, func::FuncOp func, const Attention &op,
                 BlockSizes sizes)
      : AttentionEmitter(builder, func, op, sizes),
        query(operandBlock(op.width)),
        result(stackBlock(op.valueWidth, sizes.queries)),
        scores(stackBlock(sizes.keys, sizes.queries)),
        largest(stackBlock(1, sizes.queries)),
        total(stackBlock(1, sizes.queries)),
        rescale(stackBlock(1, sizes.queries)),
        weights(op.isPaired() ? weightBlock() : scores),
        queryRows(leftBlock(sizes.queries, op.width)),
        keys(leftBlock(sizes.keys, op.width)),
        values(summedBlock(sizes.keys, op.valueWidth)) {}

  void emit();

private:
  void emitItem(Value item, int64_t queryBlocks);
  Value queryBlock(Value index, int64_t queryBlocks);
  void softmax(const Tile &tile);
  void finish(const Tile &tile);

  const float infinity = std::numeric_limits<float>::infinity();
  const Matrix query;  ///< [width, queries], scaled unless pairs
  const Matrix result; ///< [valueWidth, queries]
  const Matrix scores; ///< [keys, queries]
  const Matrix largest, total, rescale;
  const Matrix weights; ///< of the values: the scores' block, or pairs
  const Matrix queryRows, keys, values; ///< copies of rows, where needed
};
} // namespace

void ForwardEmitter::emit() {
  int64_t queryBlocks = countBlocks();
  if (op.batch * op.heads * queryBlocks > 0)
    loop(op.lo, op.hi, 1, [&](Value item) { emitItem(item, queryBlocks); });
}

/// Later blocks see more keys when causal: the order 0, n-1, 1, n-2, ... gives
/// every range of items about the same work.
Value ForwardEmitter::queryBlock(Value index, int64_t queryBlocks) {
  if (!op.causal || queryBlocks <= 2)
    return index;
  Value half = div(index, 2);
  Value isEven = create<arith::CmpIOp>(arith::CmpIPredicate::eq, rem(index, 2),
                                       constant(0));
  return create<arith::SelectOp>(isEven, half,
                                 sub(constant(queryBlocks - 1), half));
}

void ForwardEmitter::emitItem(Value item, int64_t queryBlocks) {
  Value headItem = div(item, queryBlocks);
  Tile tile;
  tile.batch = div(headItem, op.heads);
  tile.head = rem(headItem, op.heads);
  tile.group = div(tile.head, op.heads / op.groups);
  enterBlock(tile, queryBlock(rem(item, queryBlocks), queryBlocks));

  auto scale = static_cast<float>(op.scale);
  packQueries(query, headRows(op.query, tile.batch, tile.head, tile.firstQuery),
              tile.queries, queryRows, scale);
  clear(result, constant(op.valueWidth));
  clear(total, constant(1));
  loop(constant(0), constant(sizes.queries), kernelLanes, [&](Value column) {
    store(splat(-infinity), largest, constant(0), column);
  });

  forKeyBlocks(tile, [&](const Tile &tile) {
    auto keyRowsOf = [&](Value buffer) {
      return headRows(buffer, tile.batch, tile.group, tile.firstKey);
    };
    keyProduct(tile, scores, leftRows(keyRowsOf(op.key), tile.keys, keys),
               query, scale);
    maskScores(tile, scores);
    softmax(tile);
    queryProduct(tile, result,
                 summedRows(keyRowsOf(op.value), tile.keys, values), weights,
                 rescale);
  });
  finish(tile);
}

/// Turns the scores s of a tile into weights e^(s - m), after dropout, and
/// updates m, l and the factor e^(m_old - m) of what is summed so far.
void ForwardEmitter::softmax(const Tile &tile) {
  Value zero = constant(0);
  forQueryPanels(tile, [&](const Panel &panel) {
    Values old, offset, sums;
    for (Value column : panel.columns)
      old.push_back(load(largest, zero, column));
    Values maxima =
        loop(zero, panel.keys, 1, old, [&](Value key, ValueRange carried) {
          Values next;
          for (int64_t v = 0; v < panel.vectors; ++v)
            next.push_back(
                larger(load(scores, key, panel.columns[v]), carried[v]));
          return next;
        });
    for (int64_t v = 0; v < panel.vectors; ++v) {
      Value column = panel.columns[v];
      store(maxima[v], largest, zero, column);
      // A mask or segments may hide every key so far: e^(-inf - 0) is then the
      // 0 that e^(-inf - -inf) is not.
      Value none;
      if (op.mask || op.segments)
        none = create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, maxima[v],
                                     splat(-infinity));
      offset.push_back(
          none ? create<arith::SelectOp>(none, splat(0.0f), maxima[v])
               : maxima[v]);
      Value factor = exp(subf(old[v], offset[v]));
      store(factor, rescale, zero, column);
      sums.push_back(mulf(load(total, zero, column), factor));
    }
    Values even(panel.vectors);
    sums = forKeys(panel, sums, [&](const KeyStep &at, ValueRange carried) {
      Values next;
      for (int64_t v = 0; v < panel.vectors; ++v) {
        Value column = panel.columns[v];
        Value p = exp(subf(load(scores, at.key, column), offset[v]));
        if (at.exists)
          p = create<arith::SelectOp>(at.exists, p, splat(0.0f));
        next.push_back(addf(carried[v], p));
        storeWeight(at.words.empty() ? p : dropout(p, at.words[v]), weights, at,
                    column, even[v]);
      }
      return next;
    });
    for (int64_t v = 0; v < panel.vectors; ++v)
      store(sums[v], total, zero, panel.columns[v]);
  });
}

/// Divides by the sums and writes the result and the log-sum-exp.
void ForwardEmitter::finish(const Tile &tile) {
  Value zero = constant(0);
  loop(zero, tile.queries, kernelLanes, [&](Value column) {
    Value m = load(largest, zero, column), l = load(total, zero, column);
    Value lse = addf(m, create<math::LogOp>(l));
    Value inverse = create<arith::DivFOp>(splat(1.0f), l);
    // A row that sees no key is 0; e^(-inf - inf) makes its gradients 0 too.
    if (op.mask || op.keys == 0) {
      Value isHidden =
          create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, m, splat(-infinity));
      lse = create<arith::SelectOp>(isHidden, splat(infinity), lse);
      inverse = create<arith::SelectOp>(isHidden, splat(0.0f), inverse);
    }
    if (op.lse) {
      bool whole = op.runQueries % kernelLanes == 0;
      store(lse, lseRow(tile), zero, add(tile.firstQuery, column),
            whole ? Value() : firstLanes(sub(tile.queries, column)));
    }
    store(inverse, rescale, zero, column);
  });
  if (op.result)
    unpackTransposed(
        headRows(op.result, tile.batch, tile.head, tile.firstQuery), result,
        tile.queries, rescale);
}

void hone::detail::emitForward(OpBuilder &builder, func::FuncOp func,
                               const Attention &op, BlockSizes sizes) {
  ForwardEmitter(builder, func, op, sizes).emit();
}
