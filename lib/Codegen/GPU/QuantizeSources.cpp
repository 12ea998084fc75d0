//===- QuantizeSources.cpp - Numbers that codes of fp8 are made of --------===//

#include "Codegen/Common/CodeArith.h"
#include "Codegen/Common/ElementwiseArith.h"
#include "Items.h"
#include "Magnitudes.h"
#include "SquareQuantizer.h"

using namespace mlir;
using namespace hone;
using namespace hone::square;

/// Parts begin where squares do, and rows of what is computed are whole
/// vectors.
LogicalResult QuantizeEmitter::checkSource() {
  SmallVector<Value> parts = partsOf(source);
  if (failed(checkSourceOps(launch, parts)))
    return failure();
  for (Value part : parts) {
    int64_t width = widthOf(part);
    bool isAligned = parts.size() == 1 || width % side == 0;
    if (!isAligned || (!isa<BlockArgument>(part) && width % lanes != 0))
      return launch.emitOpError("makes codes of parts ")
             << width << " wide, expected multiples of "
             << (isAligned ? lanes : side);
  }
  return success();
}

MatrixInput QuantizeEmitter::readInput(gpu::GPUFuncOp func, unsigned number) {
  auto type = cast<MemRefType>(launch->getOperand(number).getType());
  if (type.getRank() == 0)
    return {}; // an amax
  bool isVector = type.getRank() == 1;
  int64_t cols = type.getShape().back(), offset = arenaOffsets(launch)[number];
  int64_t pitch = isVector ? 0
                  : type.getNumElements() == 0
                      ? cols
                      : getStridesAndOffset(type).first.front();
  Type element = type.getElementType();
  int64_t width = lanes * elementByteWidth(element);
  bool isWide = cols % lanes == 0 && pitch % lanes == 0 &&
                offset % std::min(width, accessBytes) == 0;
  return {func.getArgument(number), element, cols, pitch, isWide};
}

/// Eight elements of a row, as f32; zeros outside the matrix.
Value QuantizeEmitter::loadRow(const MatrixInput &input, Value row, Value col) {
  Value rowExists = inside(row, rows, side);
  Value offset = b.linearize({row, col}, {input.pitch, 1});
  auto load = [&](Value exists, Type type, Value at) {
    Value loaded = exists ? b.loadIf(exists, input.address, type, at)
                          : b.load(input.address, type, at);
    return elementwise::fromMemory(b, b.getLoc(), loaded, input.element);
  };
  auto wide = VectorType::get({lanes}, b.getF32Type());
  if (input.isWide && elementByteWidth(input.element) == 2)
    return load(both(rowExists, inside(col, input.cols, side)),
                VectorType::get({lanes}, input.element), offset);
  // Of f32 in two vectors, or element by element.
  int64_t step = input.isWide ? 4 : 1;
  Value row8 = b.create<arith::ConstantOp>(b.getZeroAttr(wide));
  for (int64_t lane = 0; lane < lanes; lane += step) {
    Value exists = both(rowExists, inside(b.add(col, lane), input.cols,
                                          input.isWide ? side : 0));
    Type type =
        step == 1 ? input.element : VectorType::get({step}, input.element);
    Value part = load(exists, type, b.add(offset, lane));
    row8 = step == 1
               ? b.create<vector::InsertOp>(part, row8, lane).getResult()
               : b.create<vector::InsertStridedSliceOp>(
                      part, row8, ArrayRef<int64_t>{lane}, ArrayRef<int64_t>{1})
                     .getResult();
  }
  return row8;
}

Value QuantizeEmitter::loadInput(BlockArgument input, Place &at) {
  return loadRow(inputOf(input), at.row, at.col);
}

/// Made for the first of the thread's rows, and the same for the others.
Value QuantizeEmitter::loadColumns(BlockArgument input, Place &at) {
  Value &made = ofColumns[input];
  if (!made)
    made = loadRow(inputOf(input), at.row, at.col);
  return made;
}

Value QuantizeEmitter::loadRowScalar(BlockArgument argument, Place &at) {
  const MatrixInput &input = inputOf(argument);
  Value rowExists = inside(at.row, rows, side);
  Value scalar = rowExists
                     ? b.loadIf(rowExists, input.address, input.element, at.row)
                     : b.load(input.address, input.element, at.row);
  return elementwise::fromMemory(b, b.getLoc(), scalar, input.element);
}

/// What is computed outside the matrix is no part of a tile.
Value QuantizeEmitter::zeroOutside(Value made, Value row) {
  Value exists = both(inside(row, rows, side), inside(firstCol, cols, side));
  if (!exists)
    return made;
  Value zero = b.create<arith::ConstantOp>(b.getZeroAttr(made.getType()));
  return b.create<arith::SelectOp>(exists, made, zero);
}

/// The thread's rows of `value`, from column `col` of it on.
SmallVector<Value> QuantizeEmitter::rowsOf(Value value, Value col) {
  SmallVector<Value> made;
  ofColumns.clear();
  for (int64_t number = 0; number < threadRows; ++number) {
    Place at;
    at.row = b.add(firstRow, number);
    at.col = col;
    Value elements = compute(value, at);
    made.push_back(isa<BlockArgument>(value) ? elements
                                             : zeroOutside(elements, at.row));
  }
  return made;
}

/// The same of the part that has the square, of parts from column `first` on.
SmallVector<Value> QuantizeEmitter::rowsOfParts(ValueRange parts,
                                                int64_t first) {
  Value part = parts.front();
  auto emit = [&] {
    Value col = first == 0 ? firstCol
                           : b.create<arith::SubIOp>(firstCol,
                                                     b.number(firstCol, first));
    return rowsOf(part, col);
  };
  if (parts.size() == 1)
    return emit();
  int64_t end = first + widthOf(part);
  SmallVector<Type> types(threadRows, VectorType::get({lanes}, b.getF32Type()));
  auto branch = b.create<scf::IfOp>(types, b.less(firstCol, end),
                                    /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  b.create<scf::YieldOp>(emit());
  b.setInsertionPointToStart(branch.elseBlock());
  b.create<scf::YieldOp>(rowsOfParts(parts.drop_front(), end));
  return llvm::to_vector(ValueRange(branch.getResults()));
}

void QuantizeEmitter::loadSquare() {
  values = rowsOfParts(partsOf(source), 0);
  for (Value row : values)
    bits.push_back(magnitudeBits(b, row));
}
