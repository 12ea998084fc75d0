//===- QuantizeSources.cpp - Numbers that codes of fp8 are made of --------===//

#include "Codegen/Common/CodeArith.h"
#include "Codegen/Common/ElementwiseArith.h"
#include "Items.h"
#include "Magnitudes.h"
#include "SquareQuantizer.h"

#include "hone/Analysis/Fusion/FusedProduct.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace hone;
using namespace hone::square;

/// The parts of a matrix, side by side.
static SmallVector<Value> partsOf(Value matrix) {
  if (auto concat = matrix.getDefiningOp<ConcatOp>())
    return llvm::to_vector(concat.getInputs());
  return {matrix};
}

static bool isRotation(ReshapeOp op) {
  auto rope = op.getOperand().getDefiningOp<RopeOp>();
  auto heads = rope ? rope.getInput().getDefiningOp<ReshapeOp>() : ReshapeOp();
  return heads && isa<BlockArgument>(heads.getOperand()) &&
         isa<BlockArgument>(rope.getCos()) && isa<BlockArgument>(rope.getSin());
}

/// Whether the vectors of a thread can be computed.
static bool isComputed(Operation *op) {
  if (auto constant = dyn_cast<ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return isa<BlockArgument>(broadcast.getOperand()) &&
           broadcast.getDims().size() == 1;
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return isRotation(reshape);
  return op->hasTrait<OpTrait::Elementwise>();
}

/// An op of which the parts are made, and that cannot be computed; else null.
static Operation *findUnknown(ArrayRef<Value> parts) {
  llvm::SetVector<Value> values(parts.begin(), parts.end());
  for (size_t at = 0; at != values.size(); ++at) {
    Operation *op = values[at].getDefiningOp();
    if (!op)
      continue;
    if (!isComputed(op))
      return op;
    if (op->hasTrait<OpTrait::Elementwise>())
      values.insert(op->operand_begin(), op->operand_end());
  }
  return nullptr;
}

/// Parts begin where squares do, and rows of what is computed are whole
/// vectors.
LogicalResult QuantizeEmitter::checkSource() {
  SmallVector<Value> parts = partsOf(source);
  if (Operation *op = findUnknown(parts))
    return launch.emitOpError("makes codes of what '")
           << op->getName()
           << "' makes, expected elementwise ops, constants of one number, "
              "vectors repeated along rows or columns, and rotations of inputs";
  for (Value part : parts) {
    int64_t width = cast<ShapedType>(part.getType()).getDimSize(1);
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

/// A vector repeated along the rows or the columns.
Value QuantizeEmitter::computeBroadcast(BroadcastOp op, Place &at) {
  auto argument = cast<BlockArgument>(op.getOperand());
  const MatrixInput &input = inputs[argument.getArgNumber()];
  if (op.getDims().front() == 1) {
    Value &made = (*at.ofColumns)[op.getOperand()];
    if (!made) // which the first of the thread's rows makes
      made = loadRow(input, at.row, at.col);
    return made;
  }
  Value rowExists = inside(at.row, rows, side);
  Value scalar = rowExists
                     ? b.loadIf(rowExists, input.address, input.element, at.row)
                     : b.load(input.address, input.element, at.row);
  scalar = elementwise::fromMemory(b, b.getLoc(), scalar, input.element);
  return b.create<vector::BroadcastOp>(
      VectorType::get({lanes}, scalar.getType()), scalar);
}

Value QuantizeEmitter::computeOp(Operation *op, Place &at) {
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto splat = cast<DenseElementsAttr>(constant.getValue());
    Value scalar = elementwise::constant(
        b, b.getLoc(), cast<TypedAttr>(splat.getSplatValue<Attribute>()));
    return b.create<vector::BroadcastOp>(
        VectorType::get({lanes}, scalar.getType()), scalar);
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return computeBroadcast(broadcast, at);
  if (isa<ReshapeOp>(op))
    return computeRotation(op->getOperand(0).getDefiningOp<RopeOp>(), at);
  if (std::optional<FusedProduct> sum = FusedProduct::of(op)) {
    Value lhs = compute(sum->product.getLhs(), at),
          rhs = compute(sum->product.getRhs(), at);
    return b.create<math::FmaOp>(lhs, rhs, compute(sum->addend, at));
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(compute(operand, at));
  return elementwise::compute(b, b.getLoc(), op, operands);
}

/// Eight elements of a row of `value`, as they are computed with.
Value QuantizeEmitter::compute(Value value, Place &at) {
  if (Value made = at.known.lookup(value))
    return made;
  auto argument = dyn_cast<BlockArgument>(value);
  Value made = argument
                   ? loadRow(inputs[argument.getArgNumber()], at.row, at.col)
                   : computeOp(value.getDefiningOp(), at);
  at.known[value] = made;
  return made;
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
  llvm::DenseMap<Value, Value> ofColumns;
  for (int64_t number = 0; number < threadRows; ++number) {
    Place at;
    at.row = b.add(firstRow, number);
    at.col = col;
    at.ofColumns = &ofColumns;
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
  int64_t end = first + cast<ShapedType>(part.getType()).getDimSize(1);
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
