//===- ContextParallel.cpp - Positions that an axis divides ---------------===//

#include "ContextParallel.h"

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

static Axes numbersOf(ArrayRef<StringAttr> names, const Mesh &mesh) {
  Axes axes;
  for (StringAttr name : names)
    axes.push_back(*mesh.find(name.getValue()));
  return axes;
}

namespace {
/// Seconds between ranks, of one attention and its gradient.
struct ContextSeconds {
  double gather = 0, heads = 0;
};
} // namespace

/// Keys and values are gathered twice, and their gradients scattered. With
/// heads, all that the two ops read and make goes through an all-to-all.
static ContextSeconds secondsOfContext(AttentionOp op, const InputAxes &inputs,
                                       ArrayRef<StringAttr> tensorAxes,
                                       const Mesh &mesh) {
  Axes along = numbersOf(inputs.positions, mesh);
  Group group = mesh.group(along);
  auto ranks = double(group.ranks());
  double others = double(mesh.count(numbersOf(inputs.batch, mesh)) *
                         mesh.count(numbersOf(tensorAxes, mesh)));
  auto shardBytes = [&](Value value) {
    return double(byteSize(value.getType())) / others / ranks;
  };
  auto seconds = [&](CollectiveKind kind, double bytes) {
    return secondsOf(kind, group, bytes);
  };
  ContextSeconds sum;
  for (Value value : {op.getKey(), op.getValue()}) {
    double bytes = shardBytes(value);
    sum.gather += 2 * seconds(CollectiveKind::allGather, bytes) +
                  seconds(CollectiveKind::reduceScatter, bytes * ranks);
    sum.heads += 2 * seconds(CollectiveKind::allToAll, bytes);
  }
  for (Value value : {op.getQuery(), op.getResult()})
    sum.heads += 2 * seconds(CollectiveKind::allToAll, shardBytes(value));
  return sum;
}

FailureOr<bool> dist::choosesHeads(func::FuncOp func, StringRef context,
                                   const InputAxes &inputs,
                                   ArrayRef<StringAttr> tensorAxes,
                                   const Mesh &mesh) {
  if (!llvm::is_contained({"gather", "heads", "auto"}, context))
    return func.emitError()
           << "context is '" << context << "', expected gather, heads or auto";
  if (context == "gather" || (context == "auto" && isMeshInvariant(func)))
    return false;
  int64_t ranks = mesh.count(numbersOf(inputs.positions, mesh)) *
                  mesh.count(numbersOf(tensorAxes, mesh));
  ContextSeconds all;
  for (auto op : func.getOps<AttentionOp>()) {
    int64_t heads = typeOf(op.getKey()).getDimSize(2);
    if (heads % ranks != 0 && context == "auto")
      return false;
    if (heads % ranks != 0)
      return op.emitOpError()
             << "has " << heads << " key heads, expected a multiple of "
             << ranks << ", the ranks along cp and tp together: type "
             << "--recipe=cp-gather, which needs no heads, or a smaller cp";
    ContextSeconds own = secondsOfContext(op, inputs, tensorAxes, mesh);
    all.gather += own.gather;
    all.heads += own.heads;
  }
  return context == "heads" || all.heads < all.gather;
}

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
