//===- RowTail.cpp - What a row kernel computes after its sums ------------===//

#include "hone/Analysis/Fusion/RowTail.h"

#include "hone/Analysis/Fusion/FusedProduct.h"
#include "hone/Analysis/Fusion/RowSpace.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace hone;

namespace {
/// Ops of a row kernel that another kernel has.
struct KernelPart {
  llvm::SmallPtrSet<Operation *, 16> ops;
  llvm::SetVector<Value> yielded;

  bool readsOnce(Value value) const;
  bool keepsProducts() const;
};

class TailFinder {
public:
  TailFinder(FusedOp group, const RowSpace &space, Value yielded)
      : body(group.getBodyBlock()), space(space), yielded(yielded) {}

  /// Whether the ops between the values that a kernel can read and `value` are
  /// those of a tail.
  bool visit(Value value);
  bool readsRows() const;
  bool hasAmax() const;
  int64_t bytesOfPoints() const;
  bool keepsProducts() const;
  RowTail take(OpResult result);

private:
  bool isReadable(Value value);
  bool visitBroadcast(BroadcastOp op);
  KernelPart rest() const;

  Block &body;
  const RowSpace &space;
  Value yielded; ///< what the tail makes
  llvm::SetVector<Value> inputs;
  llvm::SmallPtrSet<Operation *, 16> ops;
};
} // namespace

bool hone::isComputedFloat(Value value) {
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

/// Whether the kernel finds the largest magnitude of what the tail makes.
bool TailFinder::hasAmax() const {
  return llvm::any_of(body.getOps<AmaxOp>(), [&](AmaxOp amax) {
    Value value = amax.getOperand();
    while (auto reshape = value.getDefiningOp<ReshapeOp>())
      value = reshape.getOperand();
    return value == yielded;
  });
}

int64_t TailFinder::bytesOfPoints() const {
  int64_t bytes = 0;
  for (Value input : inputs)
    if (space.role(input) == Role::Full)
      bytes += byteSize(input.getType());
  return bytes;
}

bool KernelPart::readsOnce(Value value) const {
  int64_t inOps = llvm::count_if(value.getUses(), [&](OpOperand &use) {
    return ops.contains(use.getOwner());
  });
  return inOps + int64_t(yielded.contains(value)) == 1;
}

/// Whether the part rounds the products that the row kernel rounds.
bool KernelPart::keepsProducts() const {
  return llvm::all_of(ops, [&](Operation *op) {
    std::optional<FusedProduct> whole = FusedProduct::of(op);
    auto own = FusedProduct::find(op, [&](MulOp product) {
      return ops.contains(product) && readsOnce(product);
    });
    return whole.has_value() == own.has_value() &&
           (!whole || whole->product == own->product);
  });
}

/// What the row kernel computes without the tail.
KernelPart TailFinder::rest() const {
  KernelPart part;
  OperandRange results = body.getTerminator()->getOperands();
  for (Value value : results)
    if (value != yielded || llvm::count(results, yielded) > 1)
      part.yielded.insert(value);
  for (Value input : inputs)
    if (!isa<BlockArgument>(input))
      part.yielded.insert(input);
  SmallVector<Value> open = llvm::to_vector(part.yielded);
  while (!open.empty())
    if (Operation *op = open.pop_back_val().getDefiningOp();
        op && part.ops.insert(op).second)
      llvm::append_range(open, op->getOperands());
  return part;
}

bool TailFinder::keepsProducts() const {
  KernelPart tail = {ops, {}};
  tail.yielded.insert(yielded);
  return tail.keepsProducts() && rest().keepsProducts();
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
  if (!group || !llvm::is_contained({KernelFamily::row, KernelFamily::map},
                                    group.getFamily()))
    return std::nullopt;
  std::optional<RowSpace> space = RowSpace::of(group.getBodyBlock());
  Value yielded = group.getBodyBlock().getTerminator()->getOperand(
      result.getResultNumber());
  if (!space || space->role(yielded) != Role::Full)
    return std::nullopt;
  TailFinder finder(group, *space, yielded);
  if (!finder.visit(yielded) || (!finder.readsRows() && !finder.hasAmax()) ||
      finder.bytesOfPoints() >= 2 * byteSize(result.getType()) ||
      !finder.keepsProducts())
    return std::nullopt;
  return finder.take(result);
}
