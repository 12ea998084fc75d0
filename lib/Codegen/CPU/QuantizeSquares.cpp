//===- QuantizeSquares.cpp - Codes of squares of an operand ---------------===//
//
// An item is a square of 128 x 128 elements: codes along rows and along columns
// come from one read of it. Where a launch computes the operand, the square is
// computed first, into memory on the stack, which the cache next to the core
// holds.
//
//===----------------------------------------------------------------------===//

#include "QuantizeEmitter.h"

using namespace mlir;
using namespace hone;
using honert::ScaleTile;

/// Blocks: zeros behind the last tile of a row of scales, in whose item this is
/// emitted.
void QuantizeEmitter::zeroBlockScalesBehind(Value row, Value tileCol) {
  int64_t count = layout.tileColumns(), all = layout.blockStride();
  if (count == all)
    return;
  where(arith::CmpIPredicate::eq, tileCol, count - 1, [&] {
    loop(index(count), index(all), 1,
         [&](Value tile) { storeScale(constant(scaleType(), 0), row, tile); });
  });
}

/// Codes along rows, of rows up to `end` and `count` columns.
void QuantizeEmitter::rowsOfSquare(Value begin, Value end, Value squareCol,
                                   int64_t count) {
  if (layout.tile == ScaleTile::block128) {
    blockTile(begin, end, squareCol, count);
    return zeroBlockScalesBehind(begin, squareCol);
  }
  loop(begin, end, 1, [&](Value row) {
    if (isTensor()) {
      forColumns(row, times(squareCol, codesSide), count,
                 [&](Value vector, ArrayRef<Value> at, Value mask) {
                   storeCodes(create<arith::MulFOp>(vector, inverse), at, mask);
                 });
      return;
    }
    int64_t perSquare = codesSide / tileCols;
    Value first = times(squareCol, perSquare);
    int64_t whole = count / tileCols, rest = count % tileCols;
    loop(first, add(first, whole), 1,
         [&](Value tile) { rowTile(row, tile, tileCols); });
    if (rest)
      rowTile(row, add(first, whole), rest);
  });
}

void QuantizeEmitter::squareOfRows(Value squareRow, Value squareCol) {
  Value begin = times(squareRow, codesSide);
  Value end = least(add(begin, codesSide), index(layout.rows));
  int64_t whole = layout.columns / codesSide, rest = layout.columns % codesSide;
  if (whole)
    where(arith::CmpIPredicate::ult, squareCol, whole,
          [&] { rowsOfSquare(begin, end, squareCol, codesSide); });
  if (rest)
    where(arith::CmpIPredicate::eq, squareCol, whole,
          [&] { rowsOfSquare(begin, end, squareCol, rest); });
  if (layout.tile == ScaleTile::row32)
    zeroScalesOfNone(begin, codesSide, times(squareCol, 4));
}

/// Codes along columns: rows of them are the square's columns.
void QuantizeEmitter::squareOfColumns(Value squareRow, Value squareCol) {
  Value row = times(squareCol, codesSide), begin = times(squareRow, codesSide);
  Value end = least(add(begin, codesSide), index(layout.columns));
  if (layout.tile == ScaleTile::block128) {
    blockColumns(row, codesSide, begin, end, squareRow);
    return zeroBlockScalesBehind(row, squareRow);
  }
  forGroups(row, codesSide, [&](Value row, int64_t count) {
    isTensor() ? transposeCodes(begin, end, row, count, inverse)
               : columnTiles(squareRow, row, count);
  });
  if (layout.tile == ScaleTile::row32)
    zeroScalesOfNone(row, codesSide, times(squareRow, 4));
}

Kernel QuantizeEmitter::emitSquares(ArrayRef<QuantizeOp> ops) {
  Value matrix = QuantizeOp(ops.front()).getOperand();
  auto type = cast<RankedTensorType>(matrix.getType());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  int64_t down = std::max<int64_t>(1, llvm::divideCeil(rows, codesSide)),
          across = std::max<int64_t>(1, llvm::divideCeil(columns, codesSide));
  bool isComputed = !isa<BlockArgument>(matrix);
  if (isComputed)
    x = create<memref::AllocaOp>(
        MemRefType::get({codesSide, codesSide}, type.getElementType()),
        getI64IntegerAttr(plan::alignment));
  else
    x = bufferOf(matrix);
  SmallVector<Value> inverses;
  for (QuantizeOp op : ops) {
    select(op);
    inverses.push_back(isTensor() ? wholeInverse() : Value());
  }
  loop(lo(), hi(), 1, [&](Value item) {
    Value squareRow = create<arith::DivUIOp>(item, index(across)),
          squareCol = create<arith::RemUIOp>(item, index(across));
    if (isComputed) {
      firstRow = times(squareRow, codesSide);
      firstCol = times(squareCol, codesSide);
      MatrixSource(*this, launch, matrix)
          .store(x, firstRow, least(add(firstRow, codesSide), index(rows)),
                 firstCol);
    }
    for (auto [op, own] : llvm::zip(ops, inverses)) {
      select(op);
      inverse = own;
      QuantizeOp(op).getTransposed() ? squareOfColumns(squareRow, squareCol)
                                     : squareOfRows(squareRow, squareCol);
    }
  });
  return {func, down * across, 1};
}
