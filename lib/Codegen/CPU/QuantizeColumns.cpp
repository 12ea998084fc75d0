//===- QuantizeColumns.cpp - Codes of columns of an operand ---------------===//

#include "QuantizeEmitter.h"

using namespace mlir;
using namespace hone;
using honert::ScaleTile;

/// Columns of the operand that an item reads.
static constexpr int64_t columnsPerItem = 64;

/// Groups of as many rows of codes as a vector has lanes, or fewer.
void QuantizeEmitter::forGroups(Value firstRow, int64_t rows,
                                function_ref<void(Value, int64_t)> body) {
  int64_t whole = layout.rows / kernelLanes * kernelLanes;
  Value limit = add(firstRow, rows);
  loop(firstRow, least(limit, index(whole)), kernelLanes,
       [&](Value row) { body(row, kernelLanes); });
  if (whole == layout.rows)
    return;
  // The rest is of whoever has the last row.
  where(arith::CmpIPredicate::ule, firstRow, whole, [&] {
    where(arith::CmpIPredicate::ugt, limit, whole,
          [&] { body(index(whole), layout.rows - whole); });
  });
}

/// Of each row of a group, the largest magnitude of the elements from `begin`
/// to `end`.
Value QuantizeEmitter::columnMagnitudes(Value begin, Value end, Value row,
                                        Value mask) {
  return loop(begin, end, 1, {zeroBits()},
              [&](Value at, ValueRange carried) -> SmallVector<Value> {
                Value data = loadOperand({at, row}, mask);
                return {maximum(carried[0], magnitudeBits(*this, data))};
              })[0];
}

/// Stores the scales of a group in one column of tiles; returns their inverses.
Value QuantizeEmitter::columnInverses(Value bits, Value row, int64_t count,
                                      Value tile) {
  Value exponents = scaleExponent(*this, bits, format);
  Value scale = scaleOfExponent(*this, exponents, bits, scaleType());
  if (layout.tile == ScaleTile::row128 && scales)
    storeVector(scale, flat(scales), scaleIndex(row, tile), maskOfCount(count));
  else
    for (int64_t lane = 0; lane < count; ++lane)
      storeScale(create<vector::ExtractOp>(scale, lane), add(row, lane), tile);
  return inverseScale(*this, exponents);
}

/// The transpose of 16 vectors of 16 bytes: interleaving the first half of the
/// vectors with the second four times.
SmallVector<Value> QuantizeEmitter::transposed(ArrayRef<Value> rows) {
  SmallVector<int64_t> low, high;
  for (int64_t lane = 0; lane < kernelLanes; ++lane) {
    int64_t from = lane / 2 + lane % 2 * kernelLanes;
    low.push_back(from);
    high.push_back(from + kernelLanes / 2);
  }
  SmallVector<Value> vectors(rows);
  for (int64_t stage = 1; stage < kernelLanes; stage *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < kernelLanes / 2; ++i)
      for (ArrayRef<int64_t> order :
           {ArrayRef<int64_t>(low), ArrayRef<int64_t>(high)})
        next.push_back(create<vector::ShuffleOp>(
            vectors[i], vectors[i + kernelLanes / 2], order));
    vectors = next;
  }
  return vectors;
}

/// Codes of a group from column `begin` to `end`; `inverse` has a lane for each
/// of its rows.
void QuantizeEmitter::transposeCodes(Value begin, Value end, Value row,
                                     int64_t count, Value inverse) {
  Value mask = maskOfCount(count);
  auto emitBlock = [&](Value col, int64_t width) {
    SmallVector<Value> bytes;
    Value none = integer(VectorType::get({kernelLanes}, getI8Type()), 0);
    for (int64_t i = 0; i < kernelLanes; ++i) {
      if (i >= width) {
        bytes.push_back(none);
        continue;
      }
      Value data = loadOperand({add(col, i), row}, mask);
      bytes.push_back(
          encodeFp8(*this, create<arith::MulFOp>(data, inverse), format));
    }
    SmallVector<Value> lines = transposed(bytes);
    for (int64_t i = 0; i < count; ++i)
      storeVector(lines[i], codes, {add(row, i), col}, maskOfCount(width));
  };
  int64_t rest = layout.columns % kernelLanes;
  Value whole = index(layout.columns - rest);
  loop(begin, least(end, whole), kernelLanes,
       [&](Value col) { emitBlock(col, kernelLanes); });
  if (rest)
    where(arith::CmpIPredicate::eq, end, layout.columns,
          [&] { emitBlock(whole, rest); });
}

/// The tiles of a group in a block of 128 columns: one, or four of 32.
void QuantizeEmitter::columnTiles(Value block, Value row, int64_t count) {
  int64_t perBlock = 128 / tileCols;
  Value first = times(block, perBlock);
  Value end = least(add(first, perBlock), index(layout.tileColumns()));
  loop(first, end, 1, [&](Value tile) {
    Value begin = times(tile, tileCols);
    Value limit = least(add(begin, tileCols), index(layout.columns));
    Value bits = columnMagnitudes(begin, limit, row, maskOfCount(count));
    Value inverse = columnInverses(bits, row, count, tile);
    transposeCodes(begin, limit, row, count, inverse);
  });
}

/// UE8M0: zeros in the places of a group of four tiles, from `firstTile` on, of
/// `count` rows, that are no tile's.
void QuantizeEmitter::zeroScalesOfNone(Value firstRow, int64_t count,
                                       Value firstTile) {
  loop(firstRow, add(firstRow, count), 1, [&](Value row) {
    loop(firstTile, add(firstTile, 4), 1, [&](Value tile) {
      Value isOfNone = create<arith::OrIOp>(
          create<arith::CmpIOp>(arith::CmpIPredicate::uge, row,
                                index(layout.rows)),
          create<arith::CmpIOp>(arith::CmpIPredicate::uge, tile,
                                index(layout.tileColumns())));
      auto branch = create<scf::IfOp>(isOfNone, false);
      OpBuilder::InsertionGuard guard(*this);
      setInsertionPointToStart(branch.thenBlock());
      storeScale(integer(scaleType(), 0), row, tile);
    });
  });
}

/// An item is 64 rows of codes by 128 columns.
Kernel QuantizeEmitter::emitColumns() {
  bool isPadded = layout.tile == ScaleTile::row32;
  int64_t rows = isPadded ? llvm::alignTo(layout.rows, 128) : layout.rows;
  int64_t strips = llvm::divideCeil(rows, columnsPerItem),
          blocks = llvm::divideCeil(layout.columns, 128);
  loop(lo(), hi(), 1, [&](Value item) {
    Value block = create<arith::DivUIOp>(item, index(strips));
    Value row =
        times(create<arith::RemUIOp>(item, index(strips)), columnsPerItem);
    forGroups(row, columnsPerItem, [&](Value row, int64_t count) {
      columnTiles(block, row, count);
    });
    if (isPadded)
      zeroScalesOfNone(row, columnsPerItem, times(block, 4));
  });
  return {func, strips * blocks, quantizeGrain(columnsPerItem * 128)};
}

/// Codes of rows from `firstRow` on, with one scale.
void QuantizeEmitter::blockColumns(Value firstRow, int64_t rows, Value begin,
                                   Value end, Value tile) {
  int64_t whole = layout.rows / kernelLanes * kernelLanes,
          rest = layout.rows - whole;
  Value limit = least(add(firstRow, rows), index(layout.rows));
  Value largest =
      loop(begin, end, 1, {zeroBits()},
           [&](Value at, ValueRange carried) -> SmallVector<Value> {
             auto next = [&](Value bits, Value row, int64_t count) {
               Value data = loadOperand({at, row}, maskOfCount(count));
               return maximum(bits, magnitudeBits(*this, data));
             };
             Value bits = loop(
                 firstRow, least(limit, index(whole)), kernelLanes, carried[0],
                 [&](Value row, ValueRange inner) -> SmallVector<Value> {
                   return {next(inner[0], row, kernelLanes)};
                 })[0];
             if (!rest)
               return {bits};
             // Elsewhere the rest is masked out.
             Value isLast = create<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                  limit, index(layout.rows));
             Value with = next(bits, index(whole), rest);
             return {create<arith::SelectOp>(isLast, with, bits)};
           })[0];
  Value inverse = finishTile(largestLane(largest), firstRow, tile);
  forGroups(firstRow, rows, [&](Value row, int64_t count) {
    transposeCodes(begin, end, row, count, inverse);
  });
}

Kernel QuantizeEmitter::emitColumnBlocks() {
  int64_t perRow = layout.blockStride();
  loop(lo(), hi(), 1, [&](Value item) {
    Value row = times(create<arith::DivUIOp>(item, index(perRow)), tileRows);
    Value tile = create<arith::RemUIOp>(item, index(perRow));
    where(arith::CmpIPredicate::ult, tile, layout.tileColumns(), [&] {
      Value begin = times(tile, tileCols);
      Value end = least(add(begin, tileCols), index(layout.columns));
      blockColumns(row, tileRows, begin, end, tile);
    });
    where(arith::CmpIPredicate::uge, tile, layout.tileColumns(),
          [&] { storeScale(constant(scaleType(), 0), row, tile); });
  });
  return {func, layout.size(), quantizeGrain(tileRows * tileCols)};
}

Kernel QuantizeEmitter::emitWholeColumns() {
  Value inverse = wholeInverse();
  int64_t strips = llvm::divideCeil(layout.rows, columnsPerItem),
          blocks = llvm::divideCeil(layout.columns, 128);
  loop(lo(), hi(), 1, [&](Value item) {
    Value begin = times(create<arith::DivUIOp>(item, index(strips)), 128);
    Value end = least(add(begin, 128), index(layout.columns));
    Value row =
        times(create<arith::RemUIOp>(item, index(strips)), columnsPerItem);
    forGroups(row, columnsPerItem, [&](Value row, int64_t count) {
      transposeCodes(begin, end, row, count, inverse);
    });
  });
  return {func, strips * blocks, quantizeGrain(columnsPerItem * 128)};
}
