//===- QuantizeColumns.cpp - Codes of a transpose on a GPU ----------------===//

#include "SquareQuantizer.h"

#include "Codegen/Common/CodeArith.h"
#include "Magnitudes.h"

using namespace mlir;
using namespace hone;
using namespace hone::square;
using honert::ScaleLayout;
using honert::ScaleTile;

/// Leaves in `amaxes` the largest magnitude of each column in each of `groups`
/// groups of rows: of group g and column c at 128 g + c.
void QuantizeEmitter::findColumnAmaxes(const CodesOutput &out, int64_t groups) {
  Value columns = bits.front();
  for (Value row : ArrayRef(bits).drop_front())
    columns = magnitude::larger(b, columns, row);
  Value warp = b.create<arith::DivUIOp>(thread, b.number(thread, warpSize));
  b.threads.barrier();
  // Both halves of a warp have the same 128 numbers; the first stores them.
  SmallVector<Value> both;
  for (Value each : elementsOf(b, columns))
    both.push_back(magnitude::largestOfLanes(b, each, {16}));
  b.emitIf(b.less(b.lane(), rowThreads), [&] {
    for (auto [lane, amax] : llvm::enumerate(both))
      sharedStore(amax, table,
                  b.linearize({warp, column}, {side, 1}, lane * rowThreads));
  });
  b.threads.barrier();
  for (int64_t first = 0; first < groups * side; first += blockThreads) {
    Value entry = b.add(thread, first);
    bool isWhole = first + blockThreads <= groups * side;
    emitIf(isWhole ? Value() : b.less(entry, groups * side),
           [&] { findColumnAmax(out, groups, entry); });
  }
  b.threads.barrier();
}

/// One of these from what the warps of its group left in `table`, and its
/// scale.
void QuantizeEmitter::findColumnAmax(const CodesOutput &out, int64_t groups,
                                     Value entry) {
  Value size = b.number(entry, side);
  Value group = b.create<arith::DivUIOp>(entry, size);
  Value col = b.create<arith::RemUIOp>(entry, size);
  // Column c is element c % 8 of thread c / 8.
  Value per = b.number(col, lanes);
  Value lane = b.create<arith::RemUIOp>(col, per);
  Value slot =
      b.add(b.mul(lane, rowThreads), b.create<arith::DivUIOp>(col, per));
  int64_t perGroup = warps / groups;
  Value at = b.linearize({group, slot}, {perGroup * side, 1});
  Value amax = sharedLoad(table, at);
  for (int64_t each = 1; each < perGroup; ++each)
    amax =
        magnitude::larger(b, amax, sharedLoad(table, b.add(at, each * side)));
  sharedStore(amax, amaxes, entry);
  storeScale(out, scaleOf(amax, out), b.add(b.mul(squareCol, side), col),
             b.add(b.mul(squareRow, groups), group));
}

/// What the thread's elements of each of its columns are multiplied by.
SmallVector<Value> QuantizeEmitter::inversesOfColumns(const CodesOutput &out) {
  if (std::optional<Scale> common = commonScale(out))
    return SmallVector<Value>(lanes, common->inverse);
  int64_t groups = out.tile() == ScaleTile::row32 ? 4 : 1;
  findColumnAmaxes(out, groups);
  Value group = b.create<arith::DivUIOp>(
      rowGroup, b.number(rowGroup, rowGroups / groups));
  Value at = b.linearize({group, column}, {side, lanes});
  SmallVector<Value> inverses;
  for (int64_t lane = 0; lane < lanes; ++lane)
    inverses.push_back(
        scaleOf(sharedLoad(amaxes, b.add(at, lane)), out).inverse);
  return inverses;
}

/// Codes of the transpose: the thread's eight rows of a column lie side by
/// side there.
void QuantizeEmitter::emitColumns(const CodesOutput &out) {
  SmallVector<Value> inverses = inversesOfColumns(out);
  SmallVector<SmallVector<Value>> elements;
  for (Value row : values)
    elements.push_back(elementsOf(b, row));
  b.threads.barrier();
  for (int64_t lane = 0; lane < lanes; ++lane) {
    SmallVector<Value> scaled;
    for (int64_t row = 0; row < threadRows; ++row)
      scaled.push_back(
          b.create<arith::MulFOp>(elements[row][lane], inverses[lane]));
    Value at = b.linearize({column, rowGroup}, {lanes * wordPitch, 2},
                           lane * wordPitch);
    for (int64_t half : {0, 1})
      sharedStore(
          encodeWord(b, ArrayRef(scaled).slice(half * 4, 4), out.format), words,
          b.add(at, half));
  }
  b.threads.barrier();
  storeColumnCodes(out);
}

/// From shared memory, 16 codes of a column of the matrix at a time.
void QuantizeEmitter::storeColumnCodes(const CodesOutput &out) {
  constexpr int64_t unit = 16, perColumn = side / unit;
  bool isAligned = rows % unit == 0 && out.codesOffset % unit == 0;
  auto quad = VectorType::get({4}, b.getI32Type());
  for (int64_t part = 0; part < side * perColumn / blockThreads; ++part) {
    Value number = b.add(thread, part * blockThreads);
    Value size = b.number(number, perColumn);
    Value col = b.create<arith::DivUIOp>(number, size);
    Value first = b.create<arith::RemUIOp>(number, size);
    Value codeRow = b.add(b.mul(squareCol, side), col);
    Value codeCol = b.linearize({squareRow, first}, {side, unit});
    Value exists = inside(codeRow, cols, side);
    Value offset = b.linearize({codeRow, codeCol}, {rows, 1});
    Value at = b.linearize({col, first}, {wordPitch, unit / 4});
    SmallVector<Value> loaded;
    for (int64_t word = 0; word < 4; ++word)
      loaded.push_back(sharedLoad(words, b.add(at, word)));
    if (isAligned) {
      Value codes = b.create<arith::ConstantOp>(b.getZeroAttr(quad));
      for (auto [word, each] : llvm::enumerate(loaded))
        codes = b.create<vector::InsertOp>(each, codes, int64_t(word));
      emitIf(both(exists, inside(codeCol, rows, side)), [&] {
        b.store(codes, b.place(out.codes, b.getI8Type(), offset));
      });
      continue;
    }
    for (int64_t code = 0; code < unit; ++code) {
      Value word =
          b.create<arith::ShRUIOp>(loaded[code / 4], b.i32(code % 4 * 8));
      Value byte = b.create<arith::TruncIOp>(b.getI8Type(), word);
      emitIf(both(exists, b.less(b.add(codeCol, code), rows)),
             [&] { b.store(byte, out.codes, b.add(offset, code)); });
    }
  }
}
