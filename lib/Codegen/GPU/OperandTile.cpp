//===- OperandTile.cpp - An operand of a block's product ------------------===//

#include "OperandTile.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Places in shared memory
//===----------------------------------------------------------------------===//

// Rows of 64 bytes: two of them are all banks, so that the place changes with
// every other row, among four. Longer rows: with every row, among eight.
Value OperandTile::place(Value row, Value number) {
  int64_t rowBytes = rowElements() * elementBytes;
  bool isShort = rowBytes == 4 * chunkBytes;
  Value turn = isShort ? b.create<arith::ShRUIOp>(row, b.i32(1)) : row;
  turn = b.create<arith::AndIOp>(turn, b.i32(isShort ? 3 : 7));
  Value turned = b.create<arith::XOrIOp>(number, turn);
  return b.add(b.mul(row, rowBytes), b.mul(turned, chunkBytes));
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void OperandTile::setSource(Value from, Value lines, Value count) {
  lineCount = lines;
  termCount = count;
  Value thread =
      b.create<arith::IndexCastUIOp>(b.getI32Type(), b.threads.threadNumber());
  Value perRow = b.i32(unitsPerRow());
  row = b.create<arith::DivUIOp>(thread, perRow);
  column = b.mul(b.create<arith::RemUIOp>(thread, perRow), form.unit);
  Value offset =
      b.linearize({b.asIndex(row), b.asIndex(column)}, {form.pitch, 1});
  source = b.place(from, form.element, offset);
}

void OperandTile::copyUnit(Value from, Value to, Value exists) {
  int64_t bytes = form.unit * elementBytes;
  if (form.unit > 1) {
    Value read = b.create<arith::SelectOp>(exists, b.i32(bytes), b.i32(0));
    return tensorcores::copyAsync(b, to, from, bytes, read);
  }
  // No asynchronous copy moves two bytes.
  Type bits = b.getIntegerType(8 * bytes);
  b.store(b.loadIf(exists, from, bits), to);
}

void OperandTile::copy(Value first, Value to) {
  int64_t step = form.hasTermsTogether ? 1 : form.pitch;
  Value start = b.place(source, form.element, b.mul(first, step));
  for (int64_t part = 0; part < rows() / unitRows(); ++part) {
    Value ownRow = b.add(row, part * unitRows());
    Value term =
        b.add(first, b.asIndex(form.hasTermsTogether ? column : ownRow));
    Value line = b.asIndex(form.hasTermsTogether ? ownRow : column);
    Value exists = b.both(b.less(term, termCount), b.less(line, lineCount));
    Value from =
        b.place(start, form.element, b.index(part * unitRows() * form.pitch));
    Value chunks = b.i32(chunk);
    Value within = b.create<arith::RemUIOp>(column, chunks);
    Value offset =
        b.add(place(ownRow, b.create<arith::DivUIOp>(column, chunks)),
              b.mul(within, elementBytes));
    copyUnit(from, b.place(to, b.getI8Type(), offset), exists);
  }
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

// Lanes 8 i to 8 i + 7 name the rows of matrix i. Of the left operand, 16 lines
// come first, then 8 terms more; of the right one, 16 terms, then 8 lines more.
// Where lines lie together, a row of shared memory is one of terms.
void OperandTile::setWarpLines(Value begin, int64_t lines) {
  warpLines = lines;
  Value lane = b.create<arith::IndexCastUIOp>(b.getI32Type(), b.lane());
  Value inner = b.create<arith::RemUIOp>(lane, b.i32(16));
  Value outer = b.create<arith::DivUIOp>(lane, b.i32(16));
  bool hasRowsFirst = form.isLeft == form.hasTermsTogether;
  if (!hasRowsFirst) {
    Value second = b.create<arith::DivUIOp>(inner, b.i32(8));
    inner = b.add(b.create<arith::RemUIOp>(lane, b.i32(8)), b.mul(outer, 8));
    outer = second;
  }
  if (form.hasTermsTogether) {
    Value line = b.add(begin, inner);
    for (int64_t part = 0; part < terms / tensorcores::terms; ++part)
      places.push_back(place(line, b.add(outer, 2 * part)));
    return;
  }
  Value first = b.add(b.create<arith::DivUIOp>(begin, b.i32(chunk)), outer);
  for (int64_t tile = 0; tile < lines / 16; ++tile)
    places.push_back(place(inner, b.add(first, 2 * tile)));
}

SmallVector<SmallVector<Value>> OperandTile::load(Value from, int64_t part) {
  SmallVector<SmallVector<Value>> fragments;
  int64_t rowBytes = rowElements() * elementBytes;
  for (int64_t tile = 0; tile < warpLines / 16; ++tile) {
    bool isByTerm = form.hasTermsTogether;
    Value row = b.place(from, b.getI8Type(), places[isByTerm ? part : tile]);
    int64_t rest = (isByTerm ? tile : part) * 16 * rowBytes;
    row = b.place(row, b.getI8Type(), b.i32(rest));
    SmallVector<Value> four =
        tensorcores::loadMatrices(b, row, /*areTransposed=*/!isByTerm);
    if (form.isLeft) {
      fragments.push_back(four);
      continue;
    }
    ArrayRef<Value> halves = four;
    fragments.emplace_back(halves.take_front(2));
    fragments.emplace_back(halves.take_back(2));
  }
  return fragments;
}
