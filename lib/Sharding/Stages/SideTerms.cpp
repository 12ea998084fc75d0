//===- SideTerms.cpp - Terms of the loss beside the last layer ------------===//

#include "Sharding/Stages/SideTerms.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

using OpSet = llvm::SmallPtrSet<Operation *, 32>;

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

/// The operand through which `op` hands on one term, scaled or rounded.
static Value scaledTerm(Operation *op, const Origins &origins) {
  if (isCastOrView(*op))
    return op->getOperand(0);
  if (!isa<MulOp, DivOp>(op))
    return nullptr;
  bool isScaled = origins.of(op->getOperand(1)) == Origin::Free;
  bool isScale =
      isa<MulOp>(op) && origins.of(op->getOperand(0)) == Origin::Free;
  return isScaled ? op->getOperand(0) : isScale ? op->getOperand(1) : nullptr;
}

/// The values that `loss` is a sum of; the ops that add and scale them go to
/// `sum`.
static SmallVector<Value> findTerms(Value loss, const Origins &origins,
                                    OpSet &sum) {
  SmallVector<Value> terms, work = {loss};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || origins.of(value) == Origin::Free)
      continue;
    if (isa<AddOp>(op))
      llvm::append_range(work, op->getOperands());
    else if (Value term = scaledTerm(op, origins))
      work.push_back(term);
    else {
      terms.push_back(value);
      continue;
    }
    sum.insert(op);
  }
  return terms;
}

/// The ops that `value` is made of.
static OpSet backwardSlice(Value value) {
  OpSet slice;
  SmallVector<Value> work = {value};
  while (!work.empty())
    if (Operation *op = work.pop_back_val().getDefiningOp();
        op && slice.insert(op).second)
      llvm::append_range(work, op->getOperands());
  return slice;
}

/// The main term reads most parameters, those of the head too; among equals it
/// is made of most ops.
static OpSet findMainSlice(ArrayRef<Value> terms, const Origins &origins) {
  OpSet main;
  std::pair<size_t, size_t> most;
  for (Value term : terms) {
    OpSet slice = backwardSlice(term);
    llvm::SmallPtrSet<Value, 16> weights;
    for (Operation *op : slice)
      for (Value operand : op->getOperands())
        if (isa<BlockArgument>(operand) &&
            origins.of(operand) == Origin::Weight)
          weights.insert(operand);
    std::pair<size_t, size_t> counts(weights.size(), slice.size());
    if (counts <= most)
      continue;
    most = counts;
    main = std::move(slice);
  }
  return main;
}

/// Ops that `value` is made of by integers and copies, from values that are
/// neither: cloned before `builder`'s place.
static Value computeAgain(Value value, const Origins &origins,
                          OpBuilder &builder, IRMapping &again) {
  Operation *op = value.getDefiningOp();
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(value.getType()));
  if (!op || origins.of(value) != Origin::Activation ||
      (isFloat && !isCastOrView(*op) && !isa<StopGradientOp>(op)))
    return value;
  if (Value known = again.lookupOrNull(value))
    return known;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(computeAgain(operand, origins, builder, again));
  Operation *clone = builder.clone(*op);
  clone->setOperands(operands);
  again.map(op->getResults(), clone->getResults());
  return again.lookup(value);
}

SideTerms SideTerms::moveToEnd(func::FuncOp func, const Origins &origins) {
  SideTerms side;
  Operation *end = func.front().getTerminator();
  OpSet sum;
  SmallVector<Value> terms = findTerms(end->getOperand(0), origins, sum);
  if (terms.size() < 2)
    return side;
  OpSet main = findMainSlice(terms, origins);
  OpSet moved(sum.begin(), sum.end());
  for (Value term : terms)
    for (Operation *op : backwardSlice(term))
      if (!main.contains(op) && origins.of(op->getResult(0)) != Origin::Free &&
          origins.of(op->getResult(0)) != Origin::Weight)
        moved.insert(op);

  IRMapping again;
  SmallVector<Operation *> inOrder;
  for (Operation &op : func.front().without_terminator()) {
    bool follows = llvm::any_of(op.getOperands(), [&](Value operand) {
      return moved.contains(operand.getDefiningOp());
    });
    if (follows)
      moved.insert(&op);
    if (moved.contains(&op))
      inOrder.push_back(&op);
  }
  for (Operation *op : inOrder) {
    op->moveBefore(end);
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands())
      if (Operation *from = operand.get().getDefiningOp();
          from && main.contains(from))
        operand.set(computeAgain(operand.get(), origins, builder, again));
  }
  side.ops.insert(moved.begin(), moved.end());
  for (auto [before, after] : again.getValueMap())
    side.ops.insert(after.getDefiningOp());
  return side;
}

SmallVector<Value> SideTerms::readsUpTo(Operation *last, Value handedOn,
                                        const Origins &origins) const {
  llvm::SetVector<Value> reads;
  for (Operation &op : *last->getBlock()) {
    if (!ops.contains(&op))
      continue;
    for (Value operand : op.getOperands()) {
      Operation *from = operand.getDefiningOp();
      if (from && !ops.contains(from) && operand != handedOn &&
          origins.of(operand) == Origin::Activation &&
          (from == last || from->isBeforeInBlock(last)))
        reads.insert(operand);
    }
  }
  return reads.takeVector();
}

void SideTerms::replaceReads(Value before, Value after) const {
  before.replaceUsesWithIf(
      after, [&](OpOperand &use) { return ops.contains(use.getOwner()); });
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// Of a handed on value: rows and columns, of which a vector has one.
static RankedTensorType withColumns(RankedTensorType type) {
  if (type.getRank() != 1)
    return type;
  return RankedTensorType::get({type.getNumElements(), 1},
                               type.getElementType());
}

/// Of `side` as rows and columns beside `value`; null if it has other rows.
static RankedTensorType rowsBeside(RankedTensorType value,
                                   RankedTensorType side) {
  if (value.getRank() == 0)
    return {};
  SmallVector<int64_t> shape(withColumns(value).getShape());
  int64_t rows = 1, seen = 1;
  for (int64_t size : ArrayRef(shape).drop_back())
    rows *= size;
  if (llvm::none_of(side.getShape(),
                    [&](int64_t size) { return (seen *= size) == rows; }))
    return {};
  shape.back() = side.getNumElements() / rows;
  return RankedTensorType::get(shape, side.getElementType());
}

static Value castTo(OpBuilder &builder, Value value, Type element) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == element)
    return value;
  return builder.create<CastOp>(value.getLoc(), type.clone(element), value);
}

static Value reshapeTo(OpBuilder &builder, Value value, RankedTensorType type) {
  if (value.getType() == type)
    return value;
  return builder.create<ReshapeOp>(value.getLoc(), type, value);
}

bool dist::hasRowsOf(Value side, Value value) {
  return bool(rowsBeside(cast<RankedTensorType>(value.getType()),
                         cast<RankedTensorType>(side.getType())));
}

Value dist::packColumns(OpBuilder &builder, Value value,
                        ArrayRef<Value> sides) {
  auto type = withColumns(cast<RankedTensorType>(value.getType()));
  Type element = type.getElementType();
  for (Value side : sides)
    if (Type own = getElementTypeOrSelf(side.getType());
        own.getIntOrFloatBitWidth() > element.getIntOrFloatBitWidth())
      element = own;
  SmallVector<Value> parts = {
      castTo(builder, reshapeTo(builder, value, type), element)};
  SmallVector<int64_t> shape(type.getShape());
  for (Value side : sides) {
    RankedTensorType rows =
        rowsBeside(type, cast<RankedTensorType>(side.getType()));
    shape.back() += rows.getShape().back();
    parts.push_back(castTo(builder, reshapeTo(builder, side, rows), element));
  }
  return builder.create<ConcatOp>(value.getLoc(),
                                  RankedTensorType::get(shape, element), parts,
                                  /*dim=*/type.getRank() - 1);
}

SmallVector<Value> dist::unpackColumns(OpBuilder &builder, Value packed,
                                       Value value, ArrayRef<Value> sides) {
  auto whole = cast<RankedTensorType>(packed.getType());
  auto type = withColumns(cast<RankedTensorType>(value.getType()));
  SmallVector<Value> parts = {value};
  parts.append(sides.begin(), sides.end());
  int64_t begin = 0;
  SmallVector<Value> results;
  for (Value part : parts) {
    auto own = cast<RankedTensorType>(part.getType());
    RankedTensorType rows = part == value ? type : rowsBeside(type, own);
    SmallVector<int64_t> starts(whole.getRank(), 0), ends(whole.getShape());
    starts.back() = begin;
    ends.back() = begin += rows.getShape().back();
    Value slice = builder.create<SliceOp>(
        packed.getLoc(), rows.clone(whole.getElementType()), packed, starts,
        ends, SmallVector<int64_t>(whole.getRank(), 1));
    slice = castTo(builder, slice, own.getElementType());
    results.push_back(reshapeTo(builder, slice, own));
  }
  return results;
}
