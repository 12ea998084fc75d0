//===- QuantizeSource.cpp - Numbers that codes are made of ----------------===//

#include "QuantizeSource.h"

#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/RopePair.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

LogicalResult MatrixSource::check(plan::LaunchOp launch, Value matrix) {
  SmallVector<Value> parts = partsOf(matrix);
  for (Value part : parts)
    if (int64_t width = widthOf(part);
        width % kernelLanes != 0 ||
        (parts.size() > 1 && width % codesSide != 0))
      return launch.emitOpError("makes codes of parts ")
             << width << " wide, expected multiples of "
             << (parts.size() > 1 ? codesSide : kernelLanes);
  return checkSourceOps(launch, parts);
}

Value MatrixSource::bufferOf(Value argument) {
  return b.buffer(cast<BlockArgument>(argument).getArgNumber());
}

Value MatrixSource::loadInput(BlockArgument input, Place &at) {
  return b.loadVector(bufferOf(input), {at.row, at.col}, b.getF32Type());
}

Value MatrixSource::loadColumns(BlockArgument input, Place &at) {
  return b.loadVector(bufferOf(input), at.col, b.getF32Type());
}

Value MatrixSource::loadRowScalar(BlockArgument input, Place &at) {
  Value scalar = b.create<memref::LoadOp>(bufferOf(input), at.row);
  return b.convertFloat(scalar, b.getF32Type());
}

//===----------------------------------------------------------------------===//
// Rotations
//===----------------------------------------------------------------------===//

/// Of heads whose halves are pairs: the vector is in one of them.
Value MatrixSource::turnHalves(RopeOp op, Value own, Value inHead,
                               Value position, Place &at) {
  Value half = b.index(shapeOf(op.getResult())[3] / 2);
  Value isFirst =
      b.create<arith::CmpIOp>(arith::CmpIPredicate::ult, inHead, half);
  auto choose = [&](Value first, Value second) -> Value {
    return b.create<arith::SelectOp>(isFirst, first, second);
  };
  Value col = choose(b.create<arith::AddIOp>(at.col, half),
                     b.create<arith::SubIOp>(at.col, half));
  Value matrix = op.getInput().getDefiningOp<ReshapeOp>().getOperand();
  Value other = b.loadVector(bufferOf(matrix), {at.row, col}, b.getF32Type());
  Value angle[] = {position, b.create<arith::RemUIOp>(inHead, half)};
  Value cosines = b.loadVector(bufferOf(op.getCos()), angle, b.getF32Type()),
        sines = b.loadVector(bufferOf(op.getSin()), angle, b.getF32Type());
  auto [x, y] =
      turnPair(b, op, choose(own, other), choose(other, own), cosines, sines);
  return choose(x, y);
}

/// Of heads whose neighbours are pairs.
Value MatrixSource::turnPairs(RopeOp op, Value own, Value inHead,
                              Value position) {
  constexpr int64_t pairs = kernelLanes / 2;
  NeighbourLanes lanes(pairs);
  Value angle[] = {position, b.create<arith::DivUIOp>(inHead, b.index(2))};
  auto load = [&](Value table) {
    return b.loadVector(bufferOf(table), angle, b.getF32Type(), {}, pairs);
  };
  auto [x, y] =
      turnPair(b, op, b.create<vector::ShuffleOp>(own, own, lanes.even),
               b.create<vector::ShuffleOp>(own, own, lanes.odd),
               load(op.getCos()), load(op.getSin()));
  return b.create<vector::ShuffleOp>(x, y, lanes.joined);
}

Value MatrixSource::computeRotation(RopeOp op, Place &at) {
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  Value position = b.create<arith::RemUIOp>(at.row, b.index(shape[1])),
        inHead = b.create<arith::RemUIOp>(at.col, b.index(shape[3]));
  Value own =
      compute(op.getInput().getDefiningOp<ReshapeOp>().getOperand(), at);
  Value turned = op.getStyle() == RopeStyle::half
                     ? turnHalves(op, own, inHead, position, at)
                     : turnPairs(op, own, inHead, position);
  return elementwise::cast(b, b.getLoc(), turned, elementOf(op.getResult()));
}

//===----------------------------------------------------------------------===//
// Squares
//===----------------------------------------------------------------------===//

/// The same of a part, which begins at column `first` of the matrix.
void MatrixSource::storePart(Value part, int64_t first, Value square, Value row,
                             Value end, Value col) {
  Value ownCol = b.create<arith::SubIOp>(col, b.index(first));
  Value limit = b.create<arith::MinUIOp>(
      b.create<arith::AddIOp>(ownCol, b.index(codesSide)),
      b.index(widthOf(part)));
  b.loop(row, end, 1, [&](Value at) {
    Value inSquare = b.create<arith::SubIOp>(at, row);
    b.loop(ownCol, limit, kernelLanes, [&](Value from) {
      Place place;
      place.row = at;
      place.col = from;
      b.storeVector(compute(part, place), square,
                    {inSquare, b.create<arith::SubIOp>(from, ownCol)});
    });
  });
}

void MatrixSource::store(Value square, Value row, Value end, Value col) {
  SmallVector<Value> parts = partsOf(matrix);
  if (parts.size() == 1)
    return storePart(matrix, 0, square, row, end, col);
  int64_t first = 0;
  for (Value part : parts) {
    int64_t behind = first + widthOf(part);
    auto compare = [&](arith::CmpIPredicate predicate, int64_t bound) {
      return b.create<arith::CmpIOp>(predicate, col, b.index(bound));
    };
    Value isThere =
        b.create<arith::AndIOp>(compare(arith::CmpIPredicate::uge, first),
                                compare(arith::CmpIPredicate::ult, behind));
    auto branch = b.create<scf::IfOp>(isThere, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    storePart(part, first, square, row, end, col);
    first = behind;
  }
}
