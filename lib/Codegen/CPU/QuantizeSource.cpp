//===- QuantizeSource.cpp - Numbers that codes are made of ----------------===//

#include "QuantizeSource.h"

#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/RopePair.h"

#include "hone/Analysis/Fusion/FusedProduct.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace hone;

/// The parts of a matrix, side by side.
static SmallVector<Value> partsOf(Value matrix) {
  if (auto concat = matrix.getDefiningOp<ConcatOp>())
    return llvm::to_vector(concat.getInputs());
  return {matrix};
}

static int64_t widthOf(Value part) {
  return cast<ShapedType>(part.getType()).getDimSize(1);
}

/// The rotation of an input's heads that `op` has as a matrix, or null.
static RopeOp rotationOf(ReshapeOp op) {
  auto rope = op.getOperand().getDefiningOp<RopeOp>();
  auto heads = rope ? rope.getInput().getDefiningOp<ReshapeOp>() : ReshapeOp();
  bool isOfInputs = heads && isa<BlockArgument>(heads.getOperand()) &&
                    isa<BlockArgument>(rope.getCos()) &&
                    isa<BlockArgument>(rope.getSin());
  return isOfInputs ? rope : RopeOp();
}

static bool isComputed(Operation *op) {
  if (auto constant = dyn_cast<ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return isa<BlockArgument>(broadcast.getOperand()) &&
           broadcast.getDims().size() == 1;
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return bool(rotationOf(reshape));
  return op->hasTrait<OpTrait::Elementwise>();
}

LogicalResult MatrixSource::check(plan::LaunchOp launch, Value matrix) {
  SmallVector<Value> parts = partsOf(matrix);
  for (Value part : parts)
    if (int64_t width = widthOf(part);
        width % kernelLanes != 0 ||
        (parts.size() > 1 && width % codesSide != 0))
      return launch.emitOpError("makes codes of parts ")
             << width << " wide, expected multiples of "
             << (parts.size() > 1 ? codesSide : kernelLanes);
  llvm::SetVector<Value> values(parts.begin(), parts.end());
  for (size_t at = 0; at != values.size(); ++at) {
    Operation *op = values[at].getDefiningOp();
    if (!op)
      continue;
    if (!isComputed(op))
      return launch.emitOpError("makes codes of what '")
             << op->getName()
             << "' makes, expected elementwise ops, constants of one number, "
                "vectors repeated along rows or columns, and rotations of "
                "inputs";
    if (op->hasTrait<OpTrait::Elementwise>())
      values.insert(op->operand_begin(), op->operand_end());
  }
  return success();
}

Value MatrixSource::bufferOf(Value argument) {
  return b.buffer(cast<BlockArgument>(argument).getArgNumber());
}

Value MatrixSource::computeOp(Operation *op, Place &at) {
  Location loc = b.getLoc();
  auto repeat = [&](Value scalar) -> Value {
    return b.create<vector::BroadcastOp>(
        VectorType::get({kernelLanes}, scalar.getType()), scalar);
  };
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto splat = cast<DenseElementsAttr>(constant.getValue());
    return repeat(elementwise::constant(
        b, loc, cast<TypedAttr>(splat.getSplatValue<Attribute>())));
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    Value vector = bufferOf(broadcast.getOperand());
    if (broadcast.getDims().front() == 1)
      return b.loadVector(vector, at.col, b.getF32Type());
    Value scalar = b.create<memref::LoadOp>(vector, at.row);
    return repeat(b.convertFloat(scalar, b.getF32Type()));
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return computeRotation(rotationOf(reshape), at);
  if (std::optional<FusedProduct> sum = FusedProduct::of(op)) {
    Value lhs = compute(sum->product.getLhs(), at),
          rhs = compute(sum->product.getRhs(), at);
    return b.create<math::FmaOp>(lhs, rhs, compute(sum->addend, at));
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(compute(operand, at));
  return elementwise::compute(b, loc, op, operands);
}

/// A vector of a row of `value`, as it is computed with.
Value MatrixSource::compute(Value value, Place &at) {
  if (Value made = at.known.lookup(value))
    return made;
  Value made =
      isa<BlockArgument>(value)
          ? b.loadVector(bufferOf(value), {at.row, at.col}, b.getF32Type())
          : computeOp(value.getDefiningOp(), at);
  at.known[value] = made;
  return made;
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
  SmallVector<int64_t> even, odd, joined;
  for (int64_t pair = 0; pair < pairs; ++pair) {
    even.push_back(2 * pair);
    odd.push_back(2 * pair + 1);
    joined.append({pair, pairs + pair});
  }
  Value angle[] = {position, b.create<arith::DivUIOp>(inHead, b.index(2))};
  auto load = [&](Value table) {
    return b.loadVector(bufferOf(table), angle, b.getF32Type(), {}, pairs);
  };
  auto [x, y] = turnPair(b, op, b.create<vector::ShuffleOp>(own, own, even),
                         b.create<vector::ShuffleOp>(own, own, odd),
                         load(op.getCos()), load(op.getSin()));
  return b.create<vector::ShuffleOp>(x, y, joined);
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
