//===- Emitter.cpp - What attention kernels share -------------------------===//

#include "Emitter.h"

#include "Codegen/Common/Philox.h"
#include "Codegen/Common/SharedBodies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace hone;
using namespace hone::detail;

/// Random words come four to a counter, of consecutive keys.
static constexpr int64_t wordsPerCounter = 4;

AttentionEmitter::AttentionEmitter(OpBuilder &builder, func::FuncOp func,
                                   const Attention &op, BlockSizes sizes)
    : BlockBuilder(builder, func), op(op), sizes(sizes) {
  if (op.mask)
    maskBlock = stackBlock(sizes.keys, sizes.queries);
  if (op.rng) {
    rngKey = emitPhiloxKey(*this, getLoc(), op.rng);
    salt = createSalt(*this, getLoc(), op.salt);
  }
  if (op.origin)
    origin = create<memref::LoadOp>(op.origin, ValueRange());
}

Matrix AttentionEmitter::headRows(Value buffer, Value batch, Value head,
                                  Value firstRow) {
  int64_t width = cast<MemRefType>(buffer.getType()).getShape().back();
  return {buffer, {batch, firstRow, head}, 1, width};
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Matrix AttentionEmitter::leftBlock(int64_t rows, int64_t width) {
  if (op.isWidened())
    return stackBlock(rows, width);
  if (!op.isPaired() || width % 2 == 0)
    return {};
  // The last column has no partner: here it gets a zero.
  Matrix block = stackBlock(rows, width + 1, op.elementType());
  clear(block, constant(rows));
  return block;
}

Matrix AttentionEmitter::leftRows(const Matrix &source, Value rows,
                                  const Matrix &block) {
  if (!block)
    return source;
  copy(block, source, rows);
  return block;
}

Matrix AttentionEmitter::summedBlock(int64_t rows, int64_t width) {
  if (op.isWidened())
    return stackBlock(rows, width);
  return op.isPaired() ? stackBlock(rows / 2, width) : Matrix();
}

Matrix AttentionEmitter::summedRows(const Matrix &source, Value rows,
                                    const Matrix &block) {
  if (op.isPaired())
    packPairs(block, source, rows);
  else if (op.isWidened())
    copy(block, source, rows);
  return block ? block : source;
}

Matrix AttentionEmitter::operandBlock(int64_t width) {
  return stackBlock(op.isPaired() ? llvm::divideCeil(width, 2) : width,
                    sizes.queries);
}

void AttentionEmitter::packQueries(const Matrix &result, const Matrix &source,
                                   Value rows, const Matrix &block,
                                   float factor) {
  if (op.isPaired())
    packTransposedPairs(result, leftRows(source, rows, block), rows);
  else
    packTransposed(result, source, rows, factor);
}

Matrix AttentionEmitter::weightBlock() {
  return stackBlock(op.isPaired() ? sizes.keys / 2 : sizes.keys, sizes.queries);
}

void AttentionEmitter::storeWeight(Value weight, const Matrix &block,
                                   const KeyStep &at, Value column,
                                   Value &even) {
  if (!op.isPaired())
    return store(weight, block, at.key, column);
  if (at.exists)
    weight = create<arith::SelectOp>(at.exists, weight, splat(0.0f));
  if (at.step % 2 == 0)
    even = weight;
  else
    store(pairsOf(even, weight), block, div(at.key, 2), column);
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

int64_t AttentionEmitter::countBlocks() const {
  return op.queries == 0 ? 0
                         : op.queries / op.runQueries *
                               llvm::divideCeil(op.runQueries, sizes.queries);
}

void AttentionEmitter::enterBlock(Tile &tile, Value block) {
  int64_t runBlocks = llvm::divideCeil(op.runQueries, sizes.queries);
  bool isOneRun = op.runQueries == op.queries;
  Value run = isOneRun ? constant(0) : div(block, runBlocks);
  Value inRun = mul(isOneRun ? block : rem(block, runBlocks), sizes.queries);
  tile.firstQuery = isOneRun ? inRun : add(mul(run, op.runQueries), inRun);
  tile.queries = constant(sizes.queries);
  if (op.runQueries % sizes.queries != 0)
    tile.queries = min(tile.queries, sub(constant(op.runQueries), inRun));
  tile.position = inRun;
  if (!op.first)
    return;
  bool isPerRun = cast<MemRefType>(op.first.getType()).getRank() != 0;
  Value first = create<memref::LoadOp>(op.first, isPerRun ? ValueRange{run}
                                                          : ValueRange());
  tile.position = add(create<arith::IndexCastOp>(getIndexType(), first), inRun);
}

Matrix AttentionEmitter::lseRow(const Tile &tile) {
  return {op.lse, {tile.batch, tile.head}, 1, op.queries};
}

void AttentionEmitter::forKeyBlocks(Tile tile,
                                    function_ref<void(const Tile &)> body) {
  if (op.keys == 0)
    return;
  Value end = constant(op.keys);
  if (op.causal)
    end = min(end, add(tile.position, sizes.queries));
  bool wholeBlocks = op.keys % sizes.keys == 0 && !op.first &&
                     (!op.causal || sizes.queries % sizes.keys == 0);
  IdRange queries;
  if (op.segments)
    queries = idRange(tile.batch, tile.position, tile.queries);
  loop(constant(0), end, sizes.keys, [&](Value firstKey) {
    tile.firstKey = firstKey;
    tile.keys = wholeBlocks ? constant(sizes.keys)
                            : min(constant(sizes.keys), sub(end, firstKey));
    InsertionGuard guard(*this);
    if (op.segments)
      enterTileOfSegments(tile, queries);
    if (op.mask)
      packMask(tile);
    body(tile);
  });
}

/// Ranges of ids that do not meet have no id in common, whatever their order.
void AttentionEmitter::enterTileOfSegments(Tile &tile, IdRange queries) {
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) {
    return create<arith::CmpIOp>(predicate, a, b);
  };
  IdRange keys = idRange(tile.batch, tile.firstKey, tile.keys);
  Value least = create<arith::MinSIOp>(queries.least, keys.least);
  Value largest = create<arith::MaxSIOp>(queries.largest, keys.largest);
  tile.isMixed = compare(arith::CmpIPredicate::ne, least, largest);
  Value meet = create<arith::AndIOp>(
      compare(arith::CmpIPredicate::sle, queries.least, keys.largest),
      compare(arith::CmpIPredicate::sle, keys.least, queries.largest));
  auto ifOp = create<scf::IfOp>(meet, /*withElseRegion=*/false);
  setInsertionPointToStart(ifOp.thenBlock());
}

AttentionEmitter::IdRange AttentionEmitter::idRange(Value batch, Value first,
                                                    Value count) {
  auto idAt = [&](Value position) -> Value {
    return create<memref::LoadOp>(op.segments, ValueRange{batch, position});
  };
  Value id = idAt(first);
  Values range = loop(add(first, 1), add(first, count), 1, {id, id},
                      [&](Value position, ValueRange carried) -> Values {
                        Value id = idAt(position);
                        return {create<arith::MinSIOp>(carried[0], id),
                                create<arith::MaxSIOp>(carried[1], id)};
                      });
  return {range[0], range[1]};
}

Value AttentionEmitter::keysBefore(const Tile &tile, Value columnEnd) {
  if (!op.causal)
    return tile.keys;
  Value keys = sub(add(tile.position, columnEnd), tile.firstKey);
  // Where queries begin anywhere, that is no multiple of a panel of rows, which
  // products read together, and may be less than none.
  if (op.first)
    keys = mul(div(add(max(keys, constant(0)), panelRows - 1), panelRows),
               panelRows);
  return min(tile.keys, keys);
}

void AttentionEmitter::keyProduct(const Tile &tile, const Matrix &result,
                                  const Matrix &left, const Matrix &right,
                                  float factor) {
  Product scores;
  scores.pairs = op.isPaired();
  if (scores.pairs) // packQueries could not scale numbers of so few bits
    scores.factor = factor;
  scores.result = result;
  scores.left = left;
  scores.right = right;
  scores.columnsEnd = tile.queries;
  scores.rowsEnd = [&](Value columnEnd) { return keysBefore(tile, columnEnd); };
  if (op.keys % panelRows != 0)
    scores.lastRow = add(tile.keys, -1);
  scores.depthEnd = [&](Value) { return constant(left.width); };
  product(scores);
}

void AttentionEmitter::queryProduct(const Tile &tile, const Matrix &result,
                                    const Matrix &left, const Matrix &right,
                                    const Matrix &rescale) {
  Product sums;
  sums.pairs = op.isPaired();
  sums.result = result;
  sums.left = left;
  sums.right = right;
  sums.leftTransposed = true;
  sums.accumulate = true;
  sums.rescale = rescale;
  sums.columnsEnd = tile.queries;
  sums.rowsEnd = [&](Value) { return constant(left.width); };
  if (left.width % panelRows != 0)
    sums.lastRow = constant(left.width - 1);
  sums.depthEnd = [&](Value columnEnd) { return keysBefore(tile, columnEnd); };
  product(sums);
}

Panel AttentionEmitter::makePanel(const Tile &tile, Value column,
                                  int64_t vectors) {
  Panel panel;
  panel.column = column;
  panel.vectors = vectors;
  panel.keys = keysBefore(tile, add(column, vectors * kernelLanes));
  for (int64_t v = 0; v < vectors; ++v) {
    Value start = add(column, v * kernelLanes);
    panel.columns.push_back(start);
    if (!op.causal && !op.rng)
      continue;
    Value position =
        create<arith::AddIOp>(broadcast(create<arith::IndexCastOp>(
                                  getI32Type(), add(tile.position, start))),
                              lanes(getI32Type()));
    if (op.runQueries % kernelLanes != 0) {
      Value last = add(add(tile.position, tile.queries), -1);
      position = create<arith::MinSIOp>(
          position, broadcast(create<arith::IndexCastOp>(getI32Type(), last)));
    }
    panel.positions.push_back(position);
    if (!op.rng)
      continue;
    auto [batchStride, headStride, queryStride] = op.scoreStrides;
    Value row = create<arith::IndexCastOp>(
        getI64Type(),
        add(add(mul(tile.batch, batchStride), mul(tile.head, headStride)),
            tile.firstKey));
    if (origin)
      row = create<arith::AddIOp>(row, origin);
    Value element = create<arith::ExtSIOp>(
        VectorType::get({kernelLanes}, getI64Type()), position);
    element =
        create<arith::MulIOp>(element, broadcast(constantI64(queryStride)));
    panel.elements.push_back(create<arith::AddIOp>(element, broadcast(row)));
  }
  return panel;
}

void AttentionEmitter::forQueryPanels(const Tile &tile,
                                      function_ref<void(const Panel &)> body) {
  forPanels(sizes.queries, tile.queries, [&](Value column, int64_t vectors) {
    body(makePanel(tile, column, vectors));
  });
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

void AttentionEmitter::packMask(const Tile &tile) {
  ArrayRef<int64_t> shape = cast<MemRefType>(op.mask.getType()).getShape();
  Matrix rows = {op.mask,
                 {shape[0] == 1 ? constant(0) : tile.batch,
                  shape[1] == 1 ? constant(0) : tile.head, tile.firstQuery},
                 2,
                 op.keys};
  bool wholeTiles = op.keys % kernelLanes == 0;
  Value lastRow = lastRowOfTiles(tile.queries);
  loop(constant(0), tile.queries, kernelLanes, [&](Value row) {
    loop(constant(0), tile.keys, kernelLanes, [&](Value key) {
      Value column = add(tile.firstKey, key);
      Value valid =
          wholeTiles ? Value() : firstLanes(sub(constant(op.keys), column));
      Values values;
      for (int64_t i = 0; i < kernelLanes; ++i)
        values.push_back(
            load(rows, clampRow(add(row, i), lastRow), column, valid));
      values = transpose(values);
      for (int64_t i = 0; i < kernelLanes; ++i)
        store(values[i], maskBlock, add(key, i), row);
    });
  });
}

/// Ids of the queries of a panel; lanes past the end repeat the last query.
BlockBuilder::Values AttentionEmitter::queryIds(const Tile &tile,
                                                const Panel &panel) {
  Type id = cast<MemRefType>(op.segments.getType()).getElementType();
  auto type = VectorType::get(kernelLanes, id);
  Values ids;
  for (Value column : panel.columns) {
    SmallVector<Value> at = {tile.batch, add(tile.position, column)};
    if (op.runQueries % kernelLanes == 0) {
      ids.push_back(create<vector::LoadOp>(type, op.segments, at));
      continue;
    }
    Value last = create<memref::LoadOp>(
        op.segments,
        ValueRange{tile.batch, add(add(tile.position, tile.queries), -1)});
    ids.push_back(create<vector::MaskedLoadOp>(
        type, op.segments, at, firstLanes(sub(tile.queries, column)),
        broadcast(last)));
  }
  return ids;
}

void AttentionEmitter::maskScores(const Tile &tile, const Matrix &scores) {
  if (!op.mask && !op.causal && !op.segments)
    return;
  Value minusInfinity = splat(-std::numeric_limits<float>::infinity());
  forQueryPanels(tile, [&](const Panel &panel) {
    auto maskPanel = [&] {
      Values ids;
      if (op.segments)
        ids = queryIds(tile, panel);
      loop(constant(0), panel.keys, 1, [&](Value key) {
        Value place = add(tile.firstKey, key);
        Value position =
            broadcast(create<arith::IndexCastOp>(getI32Type(), place));
        Value id;
        if (op.segments)
          id = broadcast(create<memref::LoadOp>(op.segments,
                                                ValueRange{tile.batch, place}));
        for (int64_t v = 0; v < panel.vectors; ++v) {
          Value score = load(scores, key, panel.columns[v]);
          if (op.mask)
            score = addf(score, load(maskBlock, key, panel.columns[v]));
          if (op.causal) {
            Value seen = create<arith::CmpIOp>(arith::CmpIPredicate::sle,
                                               position, panel.positions[v]);
            score = create<arith::SelectOp>(seen, score, minusInfinity);
          }
          if (op.segments) {
            Value isSame =
                create<arith::CmpIOp>(arith::CmpIPredicate::eq, id, ids[v]);
            score = create<arith::SelectOp>(isSame, score, minusInfinity);
          }
          store(score, scores, key, panel.columns[v]);
        }
      });
    };
    if (op.mask)
      return maskPanel();
    // Only a tile on the diagonal holds keys after some query of the panel.
    Value hides = tile.isMixed;
    if (op.causal) {
      Value lastKey = add(add(tile.firstKey, panel.keys), -1);
      Value onDiagonal = create<arith::CmpIOp>(
          arith::CmpIPredicate::sgt, lastKey, add(tile.position, panel.column));
      hides = hides ? create<arith::OrIOp>(hides, onDiagonal) : onDiagonal;
    }
    auto ifOp = create<scf::IfOp>(hides, /*withElseRegion=*/false);
    InsertionGuard guard(*this);
    setInsertionPointToStart(ifOp.thenBlock());
    maskPanel();
  });
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

BlockBuilder::Values AttentionEmitter::forKeys(
    const Panel &panel, ValueRange init,
    function_ref<Values(const KeyStep &, ValueRange)> body) {
  // Where rows of scores start at a multiple of 4 elements, the words of four
  // keys come from one counter per query.
  bool sharedCounters =
      op.keys % wordsPerCounter == 0 && op.scores.keepsCounters();
  int64_t step = sharedCounters ? wordsPerCounter : op.isPaired() ? 2 : 1;
  // Panels end at a multiple of 16 keys, or at the last, unless the queries
  // begin anywhere.
  bool mayPass = op.keys % step != 0 || op.first;
  auto wordsAt = [&](Value key) {
    SmallVector<std::array<Value, wordsPerCounter>, 2> words;
    for (Value start : panel.elements) {
      Value element = create<arith::AddIOp>(
          start, broadcast(create<arith::IndexCastOp>(getI64Type(), key)));
      if (!sharedCounters) {
        words.push_back(
            {emitPhiloxWord(*this, getLoc(), element, salt, rngKey)});
        continue;
      }
      Value counter = create<arith::ShRUIOp>(
          element, broadcast(constantI64(llvm::Log2_64(wordsPerCounter))));
      words.push_back(emitPhiloxWords(*this, getLoc(), counter, salt, rngKey));
    }
    return words;
  };
  return loop(constant(0), panel.keys, step, init,
              [&](Value start, ValueRange carried) {
                Values values(carried);
                // words[v][j] is for vector v and key j of those it covers.
                auto words = wordsAt(start);
                for (int64_t j = 0; j < step; ++j) {
                  KeyStep at = {add(start, j), j, {}, {}};
                  if (j > 0 && !sharedCounters)
                    words = wordsAt(at.key);
                  Values wordsOfKey;
                  for (const auto &wordsOfVector : words)
                    wordsOfKey.push_back(wordsOfVector[sharedCounters ? j : 0]);
                  at.words = wordsOfKey;
                  if (j > 0 && mayPass)
                    at.exists = create<arith::CmpIOp>(arith::CmpIPredicate::slt,
                                                      at.key, panel.keys);
                  values = body(at, values);
                }
                return values;
              });
}

Value AttentionEmitter::dropout(Value value, Value word) {
  return emitDropout(*this, getLoc(), value, word, op.dropout);
}
