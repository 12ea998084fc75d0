//===- QuantizeKernels.cpp - Kernels that make codes of fp8 ---------------===//

#include "QuantizeKernels.h"

#include "QuantizeEmitter.h"

using namespace mlir;
using namespace hone;
using honert::ScaleTile;

namespace {
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
  if (!scales)
    return;
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
  if (scales)
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
    body(loadOperand(at, mask), at, mask);
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
  return {func, items, quantizeGrain(layout.columns)};
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
  return {func, layout.size(), quantizeGrain(tileRows * tileCols)};
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
  return {func, layout.rows, quantizeGrain(layout.columns)};
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The buffer of a result of the launch's body; null: it is none.
Value QuantizeEmitter::result(Value value) {
  OperandRange yields = launch.getBodyBlock().getTerminator()->getOperands();
  for (auto [number, yielded] : llvm::enumerate(yields))
    if (yielded == value)
      return buffer(launch.getInputs().size() + number);
  return {};
}

void QuantizeEmitter::select(QuantizeOp op) {
  layout = op.getScaleLayout();
  format = op.getFormat();
  codes = result(op.getCodes());
  scales = result(op.getScales());
  amax = op.getAmax() ? bufferOf(op.getAmax()) : Value();
  honert::TileSize size = honert::sizeOf(layout.tile);
  tileRows = size.rows ? size.rows : layout.rows;
  tileCols = size.columns ? size.columns : layout.columns;
}

Value QuantizeEmitter::loadOperand(ArrayRef<Value> at, Value mask) {
  if (!firstRow)
    return loadVector(x, at, getF32Type(), mask);
  Value inSquare[] = {create<arith::SubIOp>(at[0], firstRow),
                      create<arith::SubIOp>(at[1], firstCol)};
  return loadVector(x, inSquare, getF32Type(), mask);
}

Kernel QuantizeEmitter::emit(QuantizeOp op) {
  select(op);
  x = bufferOf(op.getOperand());
  bool transposed = op.getTransposed();
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

/// The ops of a launch that makes codes of one matrix, an input or computed,
/// and nothing else.
static SmallVector<QuantizeOp> quantizationsOf(plan::LaunchOp launch) {
  SmallVector<QuantizeOp> ops(launch.getBodyBlock().getOps<QuantizeOp>());
  auto isOfOne = [&](QuantizeOp op) {
    return op.getOperand() == ops.front().getOperand() &&
           (!op.getAmax() || isa<BlockArgument>(op.getAmax()));
  };
  auto isCodes = [](Value yielded) {
    return yielded.getDefiningOp<QuantizeOp>() != nullptr;
  };
  bool isWhole =
      llvm::all_of(ops, isOfOne) &&
      llvm::all_of(launch.getBodyBlock().getTerminator()->getOperands(),
                   isCodes);
  return isWhole ? ops : SmallVector<QuantizeOp>();
}

std::optional<FailureOr<Kernel>>
hone::emitQuantize(OpBuilder &builder, StringRef name, plan::LaunchOp launch) {
  SmallVector<QuantizeOp> ops = quantizationsOf(launch);
  if (ops.empty())
    return std::nullopt;
  for (auto [yielded, output] :
       llvm::zip(launch.getBodyBlock().getTerminator()->getOperands(),
                 launch.getOutputs()))
    if (bool isScale = yielded != yielded.getDefiningOp()->getResult(0);
        isScale && !isContiguous(output.getType()))
      return FailureOr<Kernel>(launch.emitOpError(
          "writes scales with gaps, expected a contiguous result"));
  if (!llvm::all_of(launch->getOperandTypes(), hasDenseRows))
    return FailureOr<Kernel>(
        launch.emitOpError("makes codes of elements that do not lie side by "
                           "side, expected rows without gaps"));
  Value matrix = ops.front().getOperand();
  if (!isa<BlockArgument>(matrix) &&
      failed(MatrixSource::check(launch, matrix)))
    return FailureOr<Kernel>(failure());
  QuantizeEmitter emitter(builder, name, launch);
  bool isPlain = ops.size() == 1 && isa<BlockArgument>(matrix);
  return FailureOr<Kernel>(isPlain ? emitter.emit(ops.front())
                                   : emitter.emitSquares(ops));
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
