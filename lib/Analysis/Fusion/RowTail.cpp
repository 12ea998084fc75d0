//===- RowTail.cpp - What a row kernel computes after its sums ------------===//

#include "hone/Analysis/Fusion/RowTail.h"

#include "hone/Analysis/Fusion/RowSpace.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace hone;

namespace {
class TailFinder {
public:
  TailFinder(FusedOp group, const RowSpace &space, Value yielded)
      : body(group.getBodyBlock()), space(space), yielded(yielded) {}

  /// Whether the ops between the values that a kernel can read and `value` are
  /// those of a tail.
  bool visit(Value value);
  bool readsRows() const;
  int64_t bytesOfPoints() const;
  RowTail take(OpResult result);

private:
  bool isReadable(Value value);
  bool visitBroadcast(BroadcastOp op);

  Block &body;
  const RowSpace &space;
  Value yielded; ///< what the tail makes
  llvm::SetVector<Value> inputs;
  llvm::SmallPtrSet<Operation *, 16> ops;
};
} // namespace

static bool isComputedFloat(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  return isa<FloatType>(element) && !element.isF64();
}

/// Whether memory has an element of it per point.
bool TailFinder::isReadable(Value value) {
  bool isYielded =
      value != yielded &&
      llvm::is_contained(body.getTerminator()->getOperands(), value);
  return space.role(value) == Role::Full &&
         (isa<BlockArgument>(value) || isYielded);
}

/// Of what each row has, or of an argument that each column has.
bool TailFinder::visitBroadcast(BroadcastOp op) {
  Value vector = op.getOperand();
  int64_t last = shapeOf(op.getResult()).size() - 1;
  ArrayRef<int64_t> dims = op.getDims();
  bool isRow = space.role(vector) == Role::Row &&
               llvm::equal(dims, llvm::seq<int64_t>(0, last));
  bool isColumn = space.role(vector) == Role::Col &&
                  isa<BlockArgument>(vector) && dims == ArrayRef(last);
  if (vector.getDefiningOp<ConstantOp>() || (!isRow && !isColumn))
    return false;
  inputs.insert(vector);
  return true;
}

bool TailFinder::visit(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && ops.contains(op))
    return true;
  if (!isComputedFloat(value))
    return false;
  if (auto constant = dyn_cast_or_null<ConstantOp>(op)) {
    ops.insert(op);
    return isa<SplatElementsAttr>(constant.getValue());
  }
  if (isReadable(value)) {
    inputs.insert(value);
    return true;
  }
  if (!op || space.role(value) != Role::Full)
    return false;
  ops.insert(op);
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return isComputedFloat(broadcast.getOperand()) && visitBroadcast(broadcast);
  return op->hasTrait<OpTrait::Elementwise>() &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return visit(operand); });
}

bool TailFinder::readsRows() const {
  return llvm::any_of(
      inputs, [&](Value input) { return space.role(input) == Role::Row; });
}

int64_t TailFinder::bytesOfPoints() const {
  int64_t bytes = 0;
  for (Value input : inputs)
    if (space.role(input) == Role::Full)
      bytes += byteSize(input.getType());
  return bytes;
}

RowTail TailFinder::take(OpResult result) {
  RowTail tail{result, {}, inputs.takeVector()};
  for (Operation &op : body)
    if (ops.contains(&op))
      tail.ops.push_back(&op);
  return tail;
}

std::optional<RowTail> RowTail::of(OpResult result) {
  auto group = dyn_cast<FusedOp>(result.getOwner());
  if (!group || group.getFamily() != KernelFamily::row)
    return std::nullopt;
  std::optional<RowSpace> space = RowSpace::of(group.getBodyBlock());
  Value yielded = group.getBodyBlock().getTerminator()->getOperand(
      result.getResultNumber());
  if (!space || space->role(yielded) != Role::Full)
    return std::nullopt;
  TailFinder finder(group, *space, yielded);
  if (!finder.visit(yielded) || !finder.readsRows() ||
      finder.bytesOfPoints() >= 2 * byteSize(result.getType()))
    return std::nullopt;
  return finder.take(result);
}
