//===- ContextParallel.cpp - Positions that an axis divides ---------------===//

#include "ContextParallel.h"

#include "hone/Sharding/IR/RingOps.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

DimAttr dist::zigzagOf(ArrayRef<StringAttr> axes, int64_t size,
                       int64_t priority, bool isOpen) {
  return DimAttr::get(axes.front().getContext(), axes, {size / 2}, isOpen,
                      priority, /*snake=*/true);
}

std::optional<unsigned> dist::dimOfPositions(RankedTensorType type,
                                             int64_t positions) {
  for (int64_t dim = 1; dim < type.getRank(); ++dim)
    if (type.getDimSize(dim) == positions)
      return dim;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

/// `value` in `shape`: what was reshaped to it, or a reshape of it.
static Value reshaped(ImplicitLocOpBuilder &b, Value value,
                      ArrayRef<int64_t> shape) {
  for (Value from = value;;) {
    if (typeOf(from).getShape() == shape)
      return from;
    auto reshape = from.getDefiningOp<ReshapeOp>();
    if (!reshape)
      break;
    from = reshape.getOperand();
  }
  return b.create<ReshapeOp>(typeOf(value).clone(shape), value);
}

/// Replaces `old` by `made`, in whose shape most readers want it.
static void replaceReshaped(ImplicitLocOpBuilder &b, Value old, Value made) {
  if (old.getType() == made.getType())
    return old.replaceAllUsesWith(made);
  for (Operation *user : llvm::make_early_inc_range(old.getUsers()))
    if (auto reshape = dyn_cast<ReshapeOp>(user);
        reshape && reshape.getType() == made.getType()) {
      reshape.getResult().replaceAllUsesWith(made);
      reshape.erase();
    }
  if (!old.use_empty())
    old.replaceAllUsesWith(
        b.create<ReshapeOp>(cast<RankedTensorType>(old.getType()), made));
}

/// The shape that a reshape merged the rows of `logits` from; null: none did.
static ArrayRef<int64_t> mergedFrom(Value logits) {
  auto reshape = logits.getDefiningOp<ReshapeOp>();
  if (!reshape)
    return {};
  ArrayRef<int64_t> from = typeOf(reshape.getOperand()).getShape();
  bool areRows = from.size() > typeOf(logits).getShape().size() &&
                 from.back() == typeOf(logits).getShape().back();
  return areRows ? from : ArrayRef<int64_t>();
}

template <typename LossOp> static void separateRowsOf(LossOp op) {
  ArrayRef<int64_t> from = mergedFrom(op.getLogits());
  if (from.empty())
    return;
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Operation *apart = b.clone(*op);
  ArrayRef<int64_t> rows = from.drop_back();
  for (OpOperand &operand : apart->getOpOperands()) {
    Value value = operand.get();
    if (value == op.getLogits())
      operand.set(reshaped(b, value, from));
    else if (typeOf(value).getRank() != 0) // targets, and in backward lse
      operand.set(reshaped(b, value, rows));
  }
  for (auto [old, made] :
       llvm::zip_equal(op->getResults(), apart->getResults())) {
    if (typeOf(old).getRank() == 0)
      continue;
    bool isGradient = old.getType() == op.getLogits().getType();
    made.setType(typeOf(old).clone(isGradient ? from : rows));
  }
  apart->moveBefore(op);
  for (auto [old, made] :
       llvm::zip_equal(op->getResults(), apart->getResults()))
    replaceReshaped(b, old, made);
  op->erase();
}

void dist::separateRows(func::FuncOp func) {
  SmallVector<Operation *> losses;
  for (Operation &op : func.getBody().front())
    if (isa<CrossEntropyOp, CrossEntropyBwdOp>(op))
      losses.push_back(&op);
  for (Operation *op : losses) {
    SmallVector<Value> read(op->getOperands());
    if (auto loss = dyn_cast<CrossEntropyOp>(op))
      separateRowsOf(loss);
    else
      separateRowsOf(cast<CrossEntropyBwdOp>(op));
    for (Value value : read)
      if (auto reshape = value.getDefiningOp<ReshapeOp>();
          reshape && reshape.use_empty())
        reshape.erase();
  }
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

namespace {
/// Moves tensors [batch, position, head, width] between the two divisions.
class HeadDivider {
public:
  HeadDivider(const InputAxes &inputs, ArrayRef<StringAttr> tensorAxes)
      : inputs(inputs), tensorAxes(tensorAxes) {}

  void divide(AttentionOp op) {
    divideOperands(
        {op.getQueryMutable(), op.getKeyMutable(), op.getValueMutable()});
    divideResult(op.getResult());
  }
  void divide(AttentionBwdOp op) {
    divideOperands({op.getGradMutable(), op.getQueryMutable(),
                    op.getKeyMutable(), op.getValueMutable()});
    for (Value grad : op.getResults())
      divideResult(grad);
  }

private:
  void divideOperands(ArrayRef<std::reference_wrapper<OpOperand>> operands) {
    for (OpOperand &operand : operands) {
      Value &heads = byHeads[operand.get()];
      if (!heads)
        heads = constrain(operand.get(), /*isByHeads=*/true);
      operand.set(heads);
    }
  }

  /// The gradient reads the result as it is made.
  void divideResult(Value result) {
    Value heads = constrain(result, /*isByHeads=*/true);
    Value positions = constrain(heads, /*isByHeads=*/false);
    result.replaceUsesWithIf(positions, [&](OpOperand &use) {
      return use.getOwner() != heads.getDefiningOp() &&
             !isa<AttentionBwdOp>(use.getOwner());
    });
    result.replaceUsesWithIf(heads, [](OpOperand &use) {
      return isa<AttentionBwdOp>(use.getOwner());
    });
  }

  Value constrain(Value value, bool isByHeads) {
    MLIRContext *context = value.getContext();
    auto dimOf = [&](ArrayRef<StringAttr> axes, int64_t priority) {
      return DimAttr::get(context, axes, {}, /*isOpen=*/false, priority);
    };
    SmallVector<StringAttr> heads(tensorAxes);
    if (isByHeads)
      heads.push_back(inputs.positions);
    DimAttr whole = dimOf({}, 0);
    DimAttr positions =
        isByHeads ? whole
                  : zigzagOf(inputs.positions, typeOf(value).getDimSize(1));
    auto sharding = ShardingAttr::get(context,
                                      {dimOf(inputs.batch, 0), positions,
                                       dimOf(heads, tensorPriority), whole},
                                      {}, ReduceKind::sum);
    OpBuilder builder(context);
    builder.setInsertionPointAfterValue(value);
    return builder.create<ConstrainOp>(value.getLoc(), typeOf(value), value,
                                       sharding);
  }

  const InputAxes &inputs;
  ArrayRef<StringAttr> tensorAxes;
  llvm::DenseMap<Value, Value> byHeads; ///< of operands
};
} // namespace

void dist::divideHeads(func::FuncOp func, const InputAxes &inputs,
                       ArrayRef<StringAttr> tensorAxes) {
  HeadDivider divider(inputs, tensorAxes);
  for (Operation &op : llvm::make_early_inc_range(func.getBody().front())) {
    if (auto attention = dyn_cast<AttentionOp>(op))
      divider.divide(attention);
    else if (auto backward = dyn_cast<AttentionBwdOp>(op))
      divider.divide(backward);
  }
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

std::string dist::whyNoRing(AttentionOp op) {
  int64_t queries = typeOf(op.getQuery()).getDimSize(1),
          keys = typeOf(op.getKey()).getDimSize(1);
  if (op.getRng())
    return "has dropout, whose random numbers a ring does not draw";
  if (op.getSegments())
    return "has packed documents, which a ring does not keep apart";
  if (op.getMask())
    return "has a mask besides the causal one, as of a window of positions";
  if (!op.getCausal())
    return "is not causal";
  if (queries != keys)
    return "has " + std::to_string(queries) + " queries and " +
           std::to_string(keys) + " keys";
  return "";
}

void dist::makeRings(func::FuncOp func, StringAttr axis) {
  for (Operation &op : llvm::make_early_inc_range(func.getBody().front())) {
    OpBuilder b(&op);
    ArrayAttr axes = b.getArrayAttr(axis);
    Operation *ring = nullptr;
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      assert(whyNoRing(attention).empty() && "nothing may be left out");
      ring = b.create<RingAttentionOp>(op.getLoc(), op.getResultTypes(),
                                       attention.getQuery(), attention.getKey(),
                                       attention.getValue(), axes,
                                       attention.getScaleAttr());
    } else if (auto backward = dyn_cast<AttentionBwdOp>(op)) {
      ring = b.create<RingAttentionBwdOp>(
          op.getLoc(), op.getResultTypes(), backward.getGrad(),
          backward.getQuery(), backward.getKey(), backward.getValue(),
          backward.getOutput(), backward.getLse(), axes,
          backward.getScaleAttr());
    }
    if (!ring)
      continue;
    op.replaceAllUsesWith(ring);
    op.erase();
  }
}
