//===- QuantizeRotations.cpp - Rotary embeddings that codes are made of ---===//

#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/RopePair.h"
#include "SquareQuantizer.h"

using namespace mlir;
using namespace hone;
using namespace hone::square;

namespace {
/// Where a thread's elements lie in the heads of their row.
struct HeadPlace {
  Value position; ///< of the row in its sequence
  Value column;   ///< in the head
};
} // namespace

static HeadPlace placeInHead(DeviceBuilder &b, RopeOp op, Value row,
                             Value col) {
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  return {b.create<arith::RemUIOp>(row, b.number(row, shape[1])),
          b.create<arith::RemUIOp>(col, b.number(col, shape[3]))};
}

/// `count` cosines or sines from pair `first` on.
static Value loadAngles(DeviceBuilder &b, const MatrixInput &table,
                        Value position, Value first, int64_t count) {
  Value loaded = b.load(table.address, VectorType::get({count}, table.element),
                        b.linearize({position, first}, {table.pitch, 1}));
  return elementwise::fromMemory(b, b.getLoc(), loaded, table.element);
}

/// The thread's elements of a rotation of the input's heads. Their partners in
/// the other half of the head are read, too, which another thread of the row
/// has; both are turned, so that the arithmetic is that of a rotation's own
/// kernel.
Value QuantizeEmitter::computeRotation(RopeOp op, Place &at) {
  Value matrix = op.getInput().getDefiningOp<ReshapeOp>().getOperand();
  const MatrixInput &cosines = inputOf(op.getCos()),
                    &sines = inputOf(op.getSin());
  HeadPlace place = placeInHead(b, op, at.row, at.col);
  Value column = place.column;
  Value own = compute(matrix, at), turned;
  auto angles = [&](const MatrixInput &table, Value first, int64_t count) {
    return loadAngles(b, table, place.position, first, count);
  };
  if (op.getStyle() == RopeStyle::half) {
    int64_t half = shapeOf(op.getResult())[3] / 2;
    Value size = b.number(column, half);
    Value isFirst = b.less(column, size);
    auto choose = [&](Value first, Value second) {
      return b.create<arith::SelectOp>(isFirst, first, second).getResult();
    };
    Value col = choose(b.add(at.col, half),
                       b.create<arith::SubIOp>(at.col, b.number(at.col, half)));
    Value angle = b.create<arith::RemUIOp>(column, size);
    Value other = loadRow(inputOf(matrix), at.row, col);
    auto [x, y] =
        turnPair(b, op, choose(own, other), choose(other, own),
                 angles(cosines, angle, lanes), angles(sines, angle, lanes));
    turned = choose(x, y);
  } else {
    constexpr int64_t pairs = lanes / 2;
    NeighbourLanes neighbours(pairs);
    Value angle = b.create<arith::DivUIOp>(column, b.number(column, 2));
    auto [x, y] =
        turnPair(b, op, b.create<vector::ShuffleOp>(own, own, neighbours.even),
                 b.create<vector::ShuffleOp>(own, own, neighbours.odd),
                 angles(cosines, angle, pairs), angles(sines, angle, pairs));
    turned = b.create<vector::ShuffleOp>(x, y, neighbours.joined);
  }
  return elementwise::cast(b, b.getLoc(), turned, elementOf(op.getResult()));
}
