//===- Backward.cpp - The backward kernel ---------------------------------===//
//
// Recomputes p = e^(s - lse) by blocks (Dao et al., 2022). With z the dropout
// factor, everything transposed (rows are keys, columns queries):
//
//   pz = p z                    dv += pz grad
//   ds = scale p (z v grad^T - delta)   dk += ds q,  dq^T += k^T ds
//
// One work item is a key head with all query heads that share it, so that dk
// and dv are summed in a fixed order without atomics. They accumulate in their
// buffers, or in fp32 scratch where those are narrower; dq in a block of the
// stack.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace hone;
using namespace hone::detail;

namespace {
class BackwardEmitter : public AttentionEmitter {
public:
  BackwardEmitter(OpBuilder &builder, func::FuncOp func, const Attention &op,
                  BlockSizes sizes)
      : AttentionEmitter(builder, func, op, sizes),
        query(operandBlock(op.width)),
        queryGrad(stackBlock(op.width, sizes.queries)),
        grad(operandBlock(op.valueWidth)),
        scores(stackBlock(sizes.keys, sizes.queries)),
        scoreGrads(stackBlock(sizes.keys, sizes.queries)),
        delta(stackBlock(1, sizes.queries)), lse(stackBlock(1, sizes.queries)),
        weights(narrowBlock(scores)), weightGrads(narrowBlock(scoreGrads)),
        keyWeights(op.isPaired() ? weightBlock() : scoreGrads),
        queryLeft(leftBlock(sizes.queries, op.width)),
        gradLeft(leftBlock(sizes.queries, op.valueWidth)),
        keyLeft(leftBlock(sizes.keys, op.width)),
        valueLeft(leftBlock(sizes.keys, op.valueWidth)),
        keySummed(summedBlock(sizes.keys, op.width)),
        querySummed(summedBlock(sizes.queries, op.width)),
        gradSummed(summedBlock(sizes.queries, op.valueWidth)) {}

  void emit();

private:
  /// A block like `block` that keeps bf16, or that one itself.
  Matrix narrowBlock(const Matrix &block) {
    return op.isPaired()
               ? stackBlock(sizes.keys, sizes.queries, op.elementType())
               : block;
  }
  void emitItem(Value item);
  void emitQueries(Tile tile);
  void loadLse(const Tile &tile);
  void computeDelta(const Tile &tile);
  void differentiateSoftmax(const Tile &tile);
  void addKeyGrad(const Tile &tile, Value buffer, const Matrix &left,
                  const Matrix &right);

  const Matrix query;      ///< [width, queries], scaled unless pairs
  const Matrix queryGrad;  ///< [width, queries]
  const Matrix grad;       ///< [valueWidth, queries]
  const Matrix scores;     ///< [keys, queries]: s
  const Matrix scoreGrads; ///< [keys, queries]: d(p z)
  const Matrix delta, lse; ///< [1, queries]
  // p z and scale d s, in the blocks of the scores where these are fp32; the
  // latter also as pairs along the keys.
  const Matrix weights, weightGrads, keyWeights;
  // Copies of rows, where needed.
  const Matrix queryLeft, gradLeft, keyLeft, valueLeft;
  const Matrix keySummed, querySummed, gradSummed;
};
} // namespace

void BackwardEmitter::emit() {
  if (op.batch * op.groups > 0)
    loop(op.lo, op.hi, 1, [&](Value item) { emitItem(item); });
}

void BackwardEmitter::emitItem(Value item) {
  Tile tile;
  tile.batch = div(item, op.groups);
  tile.group = rem(item, op.groups);
  auto rowsOf = [&](Value buffer) {
    return headRows(buffer, tile.batch, tile.group, constant(0));
  };
  for (Value buffer : {op.keySums, op.valueSums})
    if (buffer)
      clear(rowsOf(buffer), constant(op.keys));
  int64_t shared = op.heads / op.groups;
  loop(constant(0), constant(shared), 1, [&](Value index) {
    tile.head = add(mul(tile.group, shared), index);
    loop(constant(0), constant(countBlocks()), 1, [&](Value block) {
      enterBlock(tile, block);
      emitQueries(tile);
    });
  });
  for (auto [sums, grad] : {std::pair(op.keySums, op.keyGrad),
                            std::pair(op.valueSums, op.valueGrad)})
    if (sums != grad)
      copy(rowsOf(grad), rowsOf(sums), constant(op.keys));
}

void BackwardEmitter::emitQueries(Tile tile) {
  auto rowsOf = [&](Value buffer) {
    return headRows(buffer, tile.batch, tile.head, tile.firstQuery);
  };
  auto scale = static_cast<float>(op.scale);
  Matrix queryRows = rowsOf(op.query), gradRows = rowsOf(op.grad);
  packQueries(query, queryRows, tile.queries, queryLeft, scale);
  packQueries(grad, gradRows, tile.queries, gradLeft, 1.0f);
  queryRows = summedRows(queryRows, tile.queries, querySummed);
  gradRows = summedRows(gradRows, tile.queries, gradSummed);
  loadLse(tile);
  computeDelta(tile);
  clear(queryGrad, constant(op.width));

  forKeyBlocks(tile, [&](const Tile &tile) {
    auto keyRowsOf = [&](Value buffer) {
      return headRows(buffer, tile.batch, tile.group, tile.firstKey);
    };
    Matrix keyRows = keyRowsOf(op.key);
    keyProduct(tile, scores, leftRows(keyRows, tile.keys, keyLeft), query,
               scale);
    keyProduct(tile, scoreGrads,
               leftRows(keyRowsOf(op.value), tile.keys, valueLeft), grad, 1.0f);
    maskScores(tile, scores);
    differentiateSoftmax(tile);
    addKeyGrad(tile, op.valueSums, weights, gradRows);
    addKeyGrad(tile, op.keySums, weightGrads, queryRows);
    if (op.queryGrad)
      queryProduct(tile, queryGrad, summedRows(keyRows, tile.keys, keySummed),
                   keyWeights, Matrix());
  });
  if (op.queryGrad)
    unpackTransposed(rowsOf(op.queryGrad), queryGrad, tile.queries, Matrix());
}

void BackwardEmitter::loadLse(const Tile &tile) {
  Value zero = constant(0);
  Matrix source = lseRow(tile);
  loop(zero, tile.queries, kernelLanes, [&](Value column) {
    Value row = add(tile.firstQuery, column);
    Value values;
    if (op.runQueries % kernelLanes == 0) {
      values = load(source, zero, row);
    } else {
      // Lanes past the end repeat the last query in all they do.
      Value valid = firstLanes(sub(tile.queries, column));
      Value last =
          loadScalar(source, zero, add(add(tile.firstQuery, tile.queries), -1));
      values = create<arith::SelectOp>(valid, load(source, zero, row, valid),
                                       broadcast(last));
    }
    store(values, lse, zero, column);
  });
}

/// delta[t] = sum_e grad[t, e] * result[t, e]
void BackwardEmitter::computeDelta(const Tile &tile) {
  Matrix gradRows = headRows(op.grad, tile.batch, tile.head, tile.firstQuery);
  Matrix resultRows =
      headRows(op.result, tile.batch, tile.head, tile.firstQuery);
  Value lastRow = lastRowOfTiles(tile.queries);
  int64_t whole = op.valueWidth / kernelLanes * kernelLanes;
  loop(constant(0), tile.queries, kernelLanes, [&](Value column) {
    // One sum per row, across the row; their transpose sums up lane by lane.
    Values rows, sums(kernelLanes, splat(0.0f));
    for (int64_t i = 0; i < kernelLanes; ++i)
      rows.push_back(clampRow(add(column, i), lastRow));
    auto accumulate = [&](Value e, Value valid, ValueRange carried) {
      Values next;
      for (int64_t i = 0; i < kernelLanes; ++i)
        next.push_back(fma(load(gradRows, rows[i], e, valid),
                           load(resultRows, rows[i], e, valid), carried[i]));
      return next;
    };
    sums = loop(constant(0), constant(whole), kernelLanes, sums,
                [&](Value e, ValueRange carried) {
                  return accumulate(e, Value(), carried);
                });
    if (whole < op.valueWidth)
      sums =
          accumulate(constant(whole), firstLanes(op.valueWidth - whole), sums);
    store(sum(transpose(sums)), delta, constant(0), column);
  });
}

/// From `scores` and `scoreGrads`, p z and scale d s.
void BackwardEmitter::differentiateSoftmax(const Tile &tile) {
  forQueryPanels(tile, [&](const Panel &panel) {
    Values deltas, lses, even(panel.vectors);
    for (Value column : panel.columns) {
      deltas.push_back(load(delta, constant(0), column));
      lses.push_back(load(lse, constant(0), column));
    }
    forKeys(panel, ValueRange(), [&](const KeyStep &at, ValueRange) {
      for (int64_t v = 0; v < panel.vectors; ++v) {
        Value column = panel.columns[v];
        Value p = exp(subf(load(scores, at.key, column), lses[v]));
        Value dp = load(scoreGrads, at.key, column), pz = p;
        if (!at.words.empty()) {
          pz = dropout(p, at.words[v]);
          dp = dropout(dp, at.words[v]);
        }
        Value ds = mulf(mulf(p, subf(dp, deltas[v])),
                        splat(static_cast<float>(op.scale)));
        store(pz, weights, at.key, column);
        store(ds, weightGrads, at.key, column);
        if (op.isPaired())
          storeWeight(ds, keyWeights, at, column, even[v]);
      }
      return Values();
    });
  });
}

/// `buffer[key] += sum over queries of left[key, query] * right[query]`
void BackwardEmitter::addKeyGrad(const Tile &tile, Value buffer,
                                 const Matrix &left, const Matrix &right) {
  if (!buffer)
    return;
  Product sums;
  sums.pairs = op.isPaired();
  sums.result = headRows(buffer, tile.batch, tile.group, tile.firstKey);
  sums.left = left;
  sums.right = right;
  sums.accumulate = true;
  sums.rowsEnd = [&](Value) { return tile.keys; };
  if (op.keys % panelRows != 0)
    sums.lastRow = add(tile.keys, -1);
  // Queries before a key do not see it, and their scores were not computed.
  if (op.causal)
    sums.depthBegin = [&](Value row) {
      return max(constant(0), sub(add(tile.firstKey, row), tile.position));
    };
  sums.depthEnd = [&](Value) { return tile.queries; };
  product(sums);
}

void hone::detail::emitBackward(OpBuilder &builder, func::FuncOp func,
                                const Attention &op, BlockSizes sizes) {
  BackwardEmitter(builder, func, op, sizes).emit();
}
