//===- QuantizeKernels.cpp - Kernels that make codes of fp8 ---------------===//

#include "QuantizeKernels.h"

#include "Codegen/Common/CodeArith.h"
#include "Codegen/Common/KernelBuilder.h"
#include "base/ScaleLayout.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;
using honert::ScaleTile;

/// Elements worth a thread.
static constexpr int64_t grainElements = 16384;

/// Columns of the operand that an item of a transposed kernel reads.
static constexpr int64_t columnsPerItem = 64;

static int64_t grainFor(int64_t elements) {
  return std::max<int64_t>(1, grainElements / std::max<int64_t>(1, elements));
}

namespace {
/// What quantize and amax share: elements of an operand as vectors of f32.
class MagnitudeEmitter : public KernelBuilder {
public:
  using KernelBuilder::KernelBuilder;

protected:
  Value add(Value x, Value y) { return create<arith::AddIOp>(x, y); }
  Value add(Value x, int64_t y) { return y == 0 ? x : add(x, index(y)); }
  Value times(Value x, int64_t y) { return create<arith::MulIOp>(x, index(y)); }
  Value least(Value x, Value y) { return create<arith::MinUIOp>(x, y); }
  Value maximum(Value x, Value y) { return create<arith::MaxUIOp>(x, y); }
  Value lanesOf(Value scalar) {
    return create<vector::BroadcastOp>(
        VectorType::get({kernelLanes}, scalar.getType()), scalar);
  }
  Value zeroBits() {
    return integer(VectorType::get({kernelLanes}, getI32Type()), 0);
  }
  Value largestLane(Value bits) {
    return create<vector::ReductionOp>(vector::CombiningKind::MAXUI, bits);
  }
  void where(arith::CmpIPredicate predicate, Value x, int64_t y,
             function_ref<void()> body) {
    auto branch =
        create<scf::IfOp>(Value(create<arith::CmpIOp>(predicate, x, index(y))),
                          /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(branch.thenBlock());
    body();
  }
};

class QuantizeEmitter : public MagnitudeEmitter {
public:
  QuantizeEmitter(OpBuilder &builder, StringRef name, plan::LaunchOp launch,
                  QuantizeOp op)
      : MagnitudeEmitter(builder, name, launch), layout(op.getScaleLayout()),
        format(op.getFormat()), x(bufferOf(op.getOperand())),
        codes(buffer(launch.getInputs().size())),
        scales(buffer(launch.getInputs().size() + 1)) {
    if (op.getAmax())
      amax = bufferOf(op.getAmax());
    honert::TileSize size = honert::sizeOf(layout.tile);
    tileRows = size.rows ? size.rows : layout.rows;
    tileCols = size.columns ? size.columns : layout.columns;
  }

  Kernel emit(bool transposed);

private:
  Value bufferOf(Value operand) {
    return buffer(cast<BlockArgument>(operand).getArgNumber());
  }
  bool isTensor() const { return layout.tile == ScaleTile::tensor; }
  Type scaleType() const {
    return cast<MemRefType>(scales.getType()).getElementType();
  }

  // Scales.
  Value scaleIndex(Value row, Value tileCol);
  void storeScale(Value scale, Value row, Value tileCol);
  Value finishTile(Value bits, Value row, Value tileCol);
  Value wholeInverse();
  void zeroScalesBehind(Value row, Value isReal);

  // Codes of rows of the operand.
  void forColumns(
      Value row, Value first, int64_t count,
      function_ref<void(Value data, ArrayRef<Value> at, Value mask)> body);
  void storeCodes(Value scaled, ArrayRef<Value> at, Value mask);
  void rowTile(Value row, Value tileCol, int64_t count);
  void blockTile(Value row, Value end, Value tileCol, int64_t count);
  void forTileColumns(Value tileCol, function_ref<void(int64_t)> body);
  Kernel emitRows();
  Kernel emitBlocks();
  Kernel emitWhole();

  // Codes of columns of the operand.
  void forGroups(Value firstRow, int64_t rows,
                 function_ref<void(Value row, int64_t count)> body);
  Value columnMagnitudes(Value begin, Value end, Value row, Value mask);
  Value columnInverses(Value bits, Value row, int64_t count, Value tile);
  void transposeCodes(Value begin, Value end, Value row, int64_t count,
                      Value inverse);
  SmallVector<Value> transposed(ArrayRef<Value> rows);
  Value maskOfCount(int64_t count);
  void columnTiles(Value tile, Value row, int64_t count);
  void blockColumns(Value firstRow, int64_t rows, Value begin, Value end,
                    Value tile);
  Kernel emitColumns();
  Kernel emitColumnBlocks();
  Kernel emitWholeColumns();

  honert::ScaleLayout layout;
  honert::Fp8Format format;
  Value x, codes, scales, amax;
  int64_t tileRows, tileCols;
};

class AmaxEmitter : public MagnitudeEmitter {
public:
  using MagnitudeEmitter::MagnitudeEmitter;
  Kernel emit();
};
} // namespace

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// ScaleLayout::index() of a row of codes, one of each tile's, and a column of
/// tiles.
Value QuantizeEmitter::scaleIndex(Value row, Value tileCol) {
  switch (layout.tile) {
  case ScaleTile::tensor:
    return index(0);
  case ScaleTile::row128:
    return add(times(tileCol, layout.rows), row);
  case ScaleTile::block128: {
    Value tileRow = create<arith::DivUIOp>(row, index(tileRows));
    return add(times(tileRow, layout.blockStride()), tileCol);
  }
  case ScaleTile::row32:
    break;
  }
  auto div = [&](Value value, int64_t by) -> Value {
    return create<arith::DivUIOp>(value, index(by));
  };
  auto rem = [&](Value value, int64_t by) -> Value {
    return create<arith::RemUIOp>(value, index(by));
  };
  // Constants of the layout from the layout: distances between its elements.
  int64_t groupOfRows = layout.index(128, 0) - layout.index(0, 0),
          groupOfTiles = layout.index(0, 4), perRow = layout.index(1, 0),
          perQuarter = layout.index(32, 0);
  Value outer = rem(row, 128);
  Value group = add(times(div(row, 128), groupOfRows),
                    times(div(tileCol, 4), groupOfTiles));
  Value inside =
      add(times(rem(outer, 32), perRow), times(div(outer, 32), perQuarter));
  return add(add(group, inside), rem(tileCol, 4));
}

void QuantizeEmitter::storeScale(Value scale, Value row, Value tileCol) {
  create<memref::StoreOp>(scale, flat(scales),
                          ValueRange{scaleIndex(row, tileCol)});
}

/// Stores the scale of a tile with numbers up to `bits`; returns its inverse.
Value QuantizeEmitter::finishTile(Value bits, Value row, Value tileCol) {
  Value exponent = scaleExponent(*this, bits, format);
  storeScale(scaleOfExponent(*this, exponent, bits, scaleType()), row, tileCol);
  return lanesOf(inverseScale(*this, exponent));
}

/// The inverse of the scale of the whole tensor, which the first item stores.
Value QuantizeEmitter::wholeInverse() {
  Value largest = create<memref::LoadOp>(amax, ValueRange());
  Value bits = magnitudeBits(*this, largest);
  Value exponent = scaleExponent(*this, bits, format);
  where(arith::CmpIPredicate::eq, lo(), 0, [&] {
    Value scale = scaleOfExponent(*this, exponent, bits, scaleType());
    create<memref::StoreOp>(scale, scales, ValueRange());
  });
  return lanesOf(inverseScale(*this, exponent));
}

//===----------------------------------------------------------------------===//
// Codes of rows of the operand
//===----------------------------------------------------------------------===//

Value QuantizeEmitter::maskOfCount(int64_t count) {
  return count == kernelLanes ? Value() : maskOfFirst(count);
}

/// The elements of a row from column `first` on, a vector at a time.
void QuantizeEmitter::forColumns(
    Value row, Value first, int64_t count,
    function_ref<void(Value, ArrayRef<Value>, Value)> body) {
  for (int64_t offset = 0; offset < count; offset += kernelLanes) {
    Value mask = maskOfCount(std::min(kernelLanes, count - offset));
    Value at[] = {row, add(first, offset)};
    body(loadVector(x, at, getF32Type(), mask), at, mask);
  }
}

void QuantizeEmitter::storeCodes(Value scaled, ArrayRef<Value> at, Value mask) {
  storeVector(encodeFp8(*this, scaled, format), codes, at, mask);
}

/// A tile of a row: `count` of its columns, kept in registers.
void QuantizeEmitter::rowTile(Value row, Value tileCol, int64_t count) {
  Value bits = zeroBits();
  SmallVector<Value> data;
  Value first = times(tileCol, tileCols);
  forColumns(row, first, count, [&](Value vector, ArrayRef<Value>, Value) {
    data.push_back(vector);
    bits = maximum(bits, magnitudeBits(*this, vector));
  });
  Value inverse = finishTile(largestLane(bits), row, tileCol);
  for (auto [position, vector] : llvm::enumerate(data)) {
    int64_t offset = position * kernelLanes;
    Value mask = maskOfCount(std::min(kernelLanes, count - offset));
    storeCodes(create<arith::MulFOp>(vector, inverse),
               {row, add(first, offset)}, mask);
  }
}

/// UE8M0: scales of no tile are zero; these lie behind the columns of tiles and
/// behind the rows of codes.
void QuantizeEmitter::zeroScalesBehind(Value row, Value firstTile) {
  int64_t padded = llvm::alignTo(layout.tileColumns(), 4);
  loop(firstTile, index(padded), 1, [&](Value tileCol) {
    storeScale(integer(scaleType(), 0), row, tileCol);
  });
}

/// An item is a row of codes; of UE8M0, also of those that fill a group.
Kernel QuantizeEmitter::emitRows() {
  bool isPadded = layout.tile == ScaleTile::row32;
  int64_t items = isPadded ? llvm::alignTo(layout.rows, 128) : layout.rows;
  int64_t whole = layout.columns / tileCols, rest = layout.columns % tileCols;
  Value end = least(hi(), index(layout.rows));
  loop(lo(), end, 1, [&](Value row) {
    loop(index(0), index(whole), 1,
         [&](Value tileCol) { rowTile(row, tileCol, tileCols); });
    if (rest)
      rowTile(row, index(whole), rest);
    if (isPadded)
      zeroScalesBehind(row, index(layout.tileColumns()));
  });
  if (isPadded) {
    Value begin = create<arith::MaxUIOp>(lo(), index(layout.rows));
    loop(begin, hi(), 1, [&](Value row) { zeroScalesBehind(row, index(0)); });
  }
  return {func, items, grainFor(layout.columns)};
}

/// A block of rows up to `end`, `count` columns wide.
void QuantizeEmitter::blockTile(Value row, Value end, Value tileCol,
                                int64_t count) {
  Value first = times(tileCol, tileCols);
  auto largest = loop(
      row, end, 1, {zeroBits()},
      [&](Value at, ValueRange carried) -> SmallVector<Value> {
        Value bits = carried[0];
        forColumns(at, first, count, [&](Value vector, ArrayRef<Value>, Value) {
          bits = maximum(bits, magnitudeBits(*this, vector));
        });
        return {bits};
      });
  Value inverse = finishTile(largestLane(largest[0]), row, tileCol);
  loop(row, end, 1, [&](Value at) {
    forColumns(at, first, count,
               [&](Value vector, ArrayRef<Value> at, Value mask) {
                 storeCodes(create<arith::MulFOp>(vector, inverse), at, mask);
               });
  });
}

/// Emits a body for whole columns of tiles, and one for the rest.
void QuantizeEmitter::forTileColumns(Value tileCol,
                                     function_ref<void(int64_t)> body) {
  int64_t whole = layout.columns / tileCols, rest = layout.columns % tileCols;
  if (whole)
    where(arith::CmpIPredicate::ult, tileCol, whole, [&] { body(tileCols); });
  if (rest)
    where(arith::CmpIPredicate::eq, tileCol, whole, [&] { body(rest); });
}

/// An item is a place of the scales: a block, or one of no block.
Kernel QuantizeEmitter::emitBlocks() {
  int64_t perRow = layout.blockStride();
  loop(lo(), hi(), 1, [&](Value item) {
    Value row = times(create<arith::DivUIOp>(item, index(perRow)), tileRows);
    Value tileCol = create<arith::RemUIOp>(item, index(perRow));
    Value end = least(add(row, tileRows), index(layout.rows));
    forTileColumns(tileCol,
                   [&](int64_t count) { blockTile(row, end, tileCol, count); });
    where(arith::CmpIPredicate::uge, tileCol, layout.tileColumns(),
          [&] { storeScale(constant(scaleType(), 0), row, tileCol); });
  });
  return {func, layout.size(), grainFor(tileRows * tileCols)};
}

Kernel QuantizeEmitter::emitWhole() {
  Value inverse = wholeInverse();
  int64_t whole = layout.columns / kernelLanes * kernelLanes;
  auto store = [&](Value vector, ArrayRef<Value> at, Value mask) {
    storeCodes(create<arith::MulFOp>(vector, inverse), at, mask);
  };
  loop(lo(), hi(), 1, [&](Value row) {
    loop(index(0), index(whole), kernelLanes,
         [&](Value col) { forColumns(row, col, kernelLanes, store); });
    forColumns(row, index(whole), layout.columns - whole, store);
  });
  return {func, layout.rows, grainFor(layout.columns)};
}

//===----------------------------------------------------------------------===//
// Codes of columns of the operand
//===----------------------------------------------------------------------===//

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
                Value data = loadVector(x, {at, row}, getF32Type(), mask);
                return {maximum(carried[0], magnitudeBits(*this, data))};
              })[0];
}

/// Stores the scales of a group in one column of tiles; returns their inverses.
Value QuantizeEmitter::columnInverses(Value bits, Value row, int64_t count,
                                      Value tile) {
  Value exponents = scaleExponent(*this, bits, format);
  Value scale = scaleOfExponent(*this, exponents, bits, scaleType());
  if (layout.tile == ScaleTile::row128)
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
      Value data = loadVector(x, {add(col, i), row}, getF32Type(), mask);
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
    if (!isPadded)
      return;
    // Scales of no tile, as in zeroScalesBehind().
    Value first = times(block, 4);
    loop(row, add(row, columnsPerItem), 1, [&](Value row) {
      loop(first, add(first, 4), 1, [&](Value tile) {
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
  });
  return {func, strips * blocks, grainFor(columnsPerItem * 128)};
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
               Value data =
                   loadVector(x, {at, row}, getF32Type(), maskOfCount(count));
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
  return {func, layout.size(), grainFor(tileRows * tileCols)};
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
  return {func, strips * blocks, grainFor(columnsPerItem * 128)};
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Kernel QuantizeEmitter::emit(bool transposed) {
  switch (layout.tile) {
  case ScaleTile::tensor:
    return transposed ? emitWholeColumns() : emitWhole();
  case ScaleTile::block128:
    return transposed ? emitColumnBlocks() : emitBlocks();
  case ScaleTile::row128:
  case ScaleTile::row32:
    break;
  }
  return transposed ? emitColumns() : emitRows();
}

Kernel AmaxEmitter::emit() {
  Value x = buffer(0), result = buffer(1);
  ArrayRef<int64_t> shape = cast<MemRefType>(x.getType()).getShape();
  if (isContiguous(x.getType())) {
    x = flat(x);
    shape = cast<MemRefType>(x.getType()).getShape();
  }
  int64_t width = shape.back(), whole = width / kernelLanes * kernelLanes;
  ArrayRef<int64_t> lines = shape.drop_back();
  auto next = [&](Value bits, SmallVector<Value> line, Value col, Value mask) {
    line.push_back(col);
    Value data = loadVector(x, line, getF32Type(), mask);
    return maximum(bits, magnitudeBits(*this, data));
  };
  int64_t count = ShapedType::getNumElements(lines);
  auto addLine = [&](Value item, ValueRange carried) -> SmallVector<Value> {
    SmallVector<Value> line = delinearize(item, lines);
    Value bits = loop(index(0), index(whole), kernelLanes, carried,
                      [&](Value col, ValueRange inner) -> SmallVector<Value> {
                        return {next(inner[0], line, col, Value())};
                      })[0];
    if (whole != width)
      bits = next(bits, line, index(whole), maskOfFirst(width - whole));
    return {bits};
  };
  loop(lo(), hi(), 1, [&](Value) { // the only item, if it is in the range
    Value bits = loop(index(0), index(count), 1, {zeroBits()}, addLine)[0];
    Value largest = create<arith::BitcastOp>(getF32Type(), largestLane(bits));
    create<memref::StoreOp>(largest, result, ValueRange());
  });
  return {func, 1, 1};
}

/// The op of a launch of it alone, of inputs, or null.
template <typename Op> static Op onlyOp(plan::LaunchOp launch) {
  Block &body = launch.getBodyBlock();
  auto op = dyn_cast<Op>(body.front());
  bool isAlone =
      op && op->getNextNode() == body.getTerminator() &&
      llvm::all_of(op->getOperands(), llvm::IsaPred<BlockArgument>) &&
      llvm::equal(body.getTerminator()->getOperands(), op->getResults());
  return isAlone ? op : Op();
}

/// Whether elements of a row lie side by side.
static bool hasDenseRows(Type buffer) {
  auto type = cast<MemRefType>(buffer);
  return type.getRank() == 0 || type.getNumElements() == 0 ||
         type.getShape().back() == 1 ||
         getStridesAndOffset(type).first.back() == 1;
}

std::optional<FailureOr<Kernel>>
hone::emitQuantize(OpBuilder &builder, StringRef name, plan::LaunchOp launch) {
  auto op = onlyOp<QuantizeOp>(launch);
  if (!op)
    return std::nullopt;
  if (!llvm::all_of(launch->getOperandTypes(), hasDenseRows) ||
      !isContiguous(launch.getOutputs()[1].getType()))
    return FailureOr<Kernel>(
        launch.emitOpError("makes codes of elements that do not lie side by "
                           "side, expected rows without gaps"));
  return FailureOr<Kernel>(
      QuantizeEmitter(builder, name, launch, op).emit(op.getTransposed()));
}

std::optional<FailureOr<Kernel>>
hone::emitAmax(OpBuilder &builder, StringRef name, plan::LaunchOp launch) {
  if (!onlyOp<AmaxOp>(launch))
    return std::nullopt;
  if (!llvm::all_of(launch->getOperandTypes(), hasDenseRows))
    return FailureOr<Kernel>(
        launch.emitOpError("reads elements that do not lie side by side, "
                           "expected rows without gaps"));
  return FailureOr<Kernel>(AmaxEmitter(builder, name, launch).emit());
}
