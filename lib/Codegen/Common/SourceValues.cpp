//===- SourceValues.cpp - Numbers that codes of fp8 are made of -----------===//

#include "SourceValues.h"

#include "ElementwiseArith.h"

#include "hone/Analysis/Fusion/FusedProduct.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace hone;

SmallVector<Value> hone::partsOf(Value matrix) {
  if (auto concat = matrix.getDefiningOp<ConcatOp>())
    return llvm::to_vector(concat.getInputs());
  return {matrix};
}

int64_t hone::widthOf(Value part) {
  return cast<ShapedType>(part.getType()).getDimSize(1);
}

//===----------------------------------------------------------------------===//
// Which ops are computed
//===----------------------------------------------------------------------===//

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

LogicalResult hone::checkSourceOps(plan::LaunchOp launch,
                                   ArrayRef<Value> parts) {
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

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Value SourceValues::repeat(Value scalar) {
  return builder.create<vector::BroadcastOp>(
      VectorType::get({vectorLanes}, scalar.getType()), scalar);
}

Value SourceValues::computeBroadcast(BroadcastOp op, Place &at) {
  auto input = cast<BlockArgument>(op.getOperand());
  return op.getDims().front() == 1 ? loadColumns(input, at)
                                   : repeat(loadRowScalar(input, at));
}

Value SourceValues::computeOp(Operation *op, Place &at) {
  Location loc = builder.getLoc();
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto splat = cast<DenseElementsAttr>(constant.getValue());
    return repeat(elementwise::constant(
        builder, loc, cast<TypedAttr>(splat.getSplatValue<Attribute>())));
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return computeBroadcast(broadcast, at);
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return computeRotation(rotationOf(reshape), at);
  if (std::optional<FusedProduct> sum = FusedProduct::of(op)) {
    Value lhs = compute(sum->product.getLhs(), at),
          rhs = compute(sum->product.getRhs(), at);
    return builder.create<math::FmaOp>(lhs, rhs, compute(sum->addend, at));
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(compute(operand, at));
  return elementwise::compute(builder, loc, op, operands);
}

Value SourceValues::compute(Value value, Place &at) {
  if (Value made = at.known.lookup(value))
    return made;
  auto input = dyn_cast<BlockArgument>(value);
  Value made =
      input ? loadInput(input, at) : computeOp(value.getDefiningOp(), at);
  at.known[value] = made;
  return made;
}
