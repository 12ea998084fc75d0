//===- LocalLoss.cpp - Cross entropy on parts of the vocabulary -----------===//
//
// Vocabulary-parallel loss (Shoeybi et al., 2019), with the op itself on each
// rank's classes: it gives the log-sum-exp of a part, and for the rank that has
// the target the loss within its part. Ranks exchange three numbers per row:
// the largest log-sum-exp, the sum of the others against it, and the loss.
//
//===----------------------------------------------------------------------===//

#include "LocalOps.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

namespace {
/// Writes the loss, or its gradient, of a rank.
template <typename LossOp> class LossBuilder {
public:
  LossBuilder(ImplicitLocOpBuilder &b, const SplitOp &split, LossOp op,
              Value logits, Value targets)
      : b(b), split(split), op(op), logits(logits), targets(targets),
        full(cast<RankedTensorType>(logits.getType())),
        rows(RankedTensorType::get(full.getShape().drop_back(), compute())),
        classes(split.factors.back().axes),
        smoothing(op.getLabelSmoothing().convertToDouble()) {}

  SmallVector<Value> forward();
  SmallVector<Value> backward(Value grad, Value lse);
  /// Where ranks have all classes of their rows: a mean is a sum over a number
  /// that is counted apart.
  SmallVector<Value> forwardOfRows();
  SmallVector<Value> backwardOfRows(Value grad, Value lse);

private:
  Type compute() const {
    Type element = full.getElementType();
    return element.isF64() ? element : Type(b.getF32Type());
  }
  Value widen(Value value) { return castTo(value, compute()); }
  Value castTo(Value value, Type element) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getElementType() == element)
      return value;
    return b.create<CastOp>(type.clone(element), value);
  }
  RankedTensorType flags(RankedTensorType type) {
    return type.clone(b.getI1Type());
  }
  Value reduce(ReduceKind kind, Value value, ArrayRef<unsigned> axes) {
    if (axes.empty())
      return value;
    return b.create<AllReduceOp>(value.getType(), kind, value,
                                 namesOf(axes, split.mesh, b.getContext()));
  }
  /// One element per row, for each of its classes.
  Value perRow(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    return b.create<BroadcastOp>(full.clone(type.getElementType()), value,
                                 dims);
  }
  Value sumAll(Value value) {
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rows.getRank()));
    return dims.empty() ? value
                        : b.create<ReduceOp>(ReduceKind::sum, value, dims);
  }

  int64_t ownClasses() const { return full.getShape().back(); }
  /// Classes of all ranks, padding aside.
  int64_t allClasses() {
    return op.getWidth() ? int64_t(op.getWidth())
                         : ownClasses() * split.mesh.count(classes);
  }
  Value firstClass(RankedTensorType type) {
    return firstPosition(b, type, ownClasses(), classes, split.mesh);
  }
  Value isCounted();
  Value count();
  Value whereClassCounts(Value value, double otherwise);
  Value own(Value isOwn, Value value) {
    return b.create<SelectOp>(isOwn, value, splat(b, rows, 0));
  }
  Value smooth(Value loss, Value lse);

  ImplicitLocOpBuilder &b;
  const SplitOp &split;
  LossOp op;
  Value logits, targets;
  RankedTensorType full, rows;
  Axes classes;
  double smoothing;
};
} // namespace

/// i1 per row: the target is not the ignored one. A type that does not hold it
/// has none such.
template <typename LossOp> Value LossBuilder<LossOp>::isCounted() {
  auto type = cast<RankedTensorType>(targets.getType());
  auto index = int64_t(op.getIgnoreIndex());
  if (!llvm::isIntN(type.getElementTypeBitWidth(), index))
    return splat(b, flags(rows), 1);
  return b.create<CmpOp>(flags(rows), CmpPredicate::ne, targets,
                         splat(b, type, double(index)));
}

/// The rows of all ranks that count.
template <typename LossOp> Value LossBuilder<LossOp>::count() {
  Axes along;
  for (const DimShards &factor : split.factors.drop_back())
    llvm::append_range(along, factor.axes);
  return reduce(ReduceKind::sum, sumAll(castTo(isCounted(), compute())), along);
}

/// `value` at classes that are no padding.
template <typename LossOp>
Value LossBuilder<LossOp>::whereClassCounts(Value value, double otherwise) {
  if (allClasses() == ownClasses() * split.mesh.count(classes))
    return value;
  auto index = full.clone(b.getI64Type());
  Value position = b.create<AddOp>(b.create<IotaOp>(index, full.getRank() - 1),
                                   firstClass(index));
  Value counts = b.create<CmpOp>(flags(full), CmpPredicate::lt, position,
                                 splat(b, index, double(allClasses())));
  auto type = cast<RankedTensorType>(value.getType());
  return b.create<SelectOp>(counts, value, splat(b, type, otherwise));
}

/// (1 - s) loss + s (lse - mean of the logits).
template <typename LossOp>
Value LossBuilder<LossOp>::smooth(Value loss, Value lse) {
  if (smoothing == 0)
    return loss;
  Value sum = b.create<ReduceOp>(
      ReduceKind::sum, whereClassCounts(widen(logits), 0), full.getRank() - 1);
  sum = reduce(ReduceKind::sum, sum, classes);
  Value mean = b.create<DivOp>(sum, splat(b, rows, double(allClasses())));
  Value even = b.create<SubOp>(lse, mean);
  return b.create<AddOp>(b.create<MulOp>(loss, splat(b, rows, 1 - smoothing)),
                         b.create<MulOp>(even, splat(b, rows, smoothing)));
}

template <typename LossOp> SmallVector<Value> LossBuilder<LossOp>::forward() {
  auto loss = cast<RankedTensorType>(op->getResult(0).getType());
  auto lseType = rows.clone(getElementTypeOrSelf(op->getResult(1).getType()));
  LocalIds found = findIds(b, targets, ownClasses(), classes, split.mesh);
  // Within the part of a rank; rows whose target another has are not asked for.
  auto part = b.create<CrossEntropyOp>(
      TypeRange{rows, rows}, LossReduction::none,
      whereClassCounts(logits, -std::numeric_limits<double>::infinity()),
      found.ids, /*ignore_index=*/-1, APFloat(0.0), /*width=*/0);
  Value most = reduce(ReduceKind::max, part.getLse(), classes);
  Value share = b.create<ExpOp>(b.create<SubOp>(part.getLse(), most));
  Value lse = b.create<AddOp>(
      most, b.create<LogOp>(reduce(ReduceKind::sum, share, classes)));
  Value beyond = b.create<SubOp>(lse, part.getLse());
  Value row = own(found.isOwn, b.create<AddOp>(part.getLoss(), beyond));
  row = smooth(reduce(ReduceKind::sum, row, classes), lse);
  row = own(isCounted(), row);
  if (op.getReduction() != LossReduction::none)
    row = sumAll(row);
  if (op.getReduction() == LossReduction::mean)
    row = b.create<DivOp>(row, count());
  return {castTo(row, loss.getElementType()),
          castTo(lse, lseType.getElementType())};
}

template <typename LossOp>
SmallVector<Value> LossBuilder<LossOp>::backward(Value grad, Value lse) {
  Value weight = widen(grad);
  if (op.getReduction() == LossReduction::mean)
    weight = b.create<DivOp>(weight, count());
  if (op.getReduction() != LossReduction::none && rows.getRank() != 0)
    weight = b.create<BroadcastOp>(rows, weight, ArrayRef<int64_t>());
  weight = own(isCounted(), weight);

  auto wide = full.clone(compute());
  Value share =
      b.create<ExpOp>(b.create<SubOp>(widen(logits), perRow(widen(lse))));
  auto index = full.clone(b.getI64Type());
  Value position = b.create<AddOp>(b.create<IotaOp>(index, full.getRank() - 1),
                                   firstClass(index));
  Value isTarget = b.create<CmpOp>(flags(full), CmpPredicate::eq, position,
                                   perRow(castTo(targets, b.getI64Type())));
  Value expected = b.create<SelectOp>(isTarget, splat(b, wide, 1 - smoothing),
                                      splat(b, wide, 0));
  Value dx = b.create<SubOp>(share, expected);
  if (smoothing != 0)
    dx = b.create<SubOp>(dx, splat(b, wide, smoothing / double(allClasses())));
  dx = whereClassCounts(b.create<MulOp>(dx, perRow(weight)), 0);
  return {castTo(dx, full.getElementType())};
}

template <typename LossOp>
SmallVector<Value> LossBuilder<LossOp>::forwardOfRows() {
  assert(op.getReduction() == LossReduction::mean && "others are as they are");
  Type scalar = op->getResult(0).getType();
  auto lse = rows.clone(getElementTypeOrSelf(op->getResult(1).getType()));
  auto sum = b.create<CrossEntropyOp>(
      TypeRange{scalar, lse}, LossReduction::sum, logits, targets,
      op.getIgnoreIndex(), op.getLabelSmoothing(), op.getWidth());
  Value mean = b.create<DivOp>(widen(sum.getLoss()), count());
  return {castTo(mean, getElementTypeOrSelf(scalar)), sum.getLse()};
}

template <typename LossOp>
SmallVector<Value> LossBuilder<LossOp>::backwardOfRows(Value grad, Value lse) {
  assert(op.getReduction() == LossReduction::mean && "others are as they are");
  Value share = b.create<DivOp>(widen(grad), count());
  return {b.create<CrossEntropyBwdOp>(full, LossReduction::sum,
                                      castTo(share, getElementTypeOrSelf(grad)),
                                      logits, targets, lse, op.getIgnoreIndex(),
                                      op.getLabelSmoothing(), op.getWidth())};
}

SmallVector<Value> dist::emitLoss(ImplicitLocOpBuilder &b, const SplitOp &split,
                                  CrossEntropyOp op, ValueRange operands) {
  LossBuilder<CrossEntropyOp> loss(b, split, op, operands[0], operands[1]);
  return split.factors.back().isWhole() ? loss.forwardOfRows() : loss.forward();
}

SmallVector<Value> dist::emitLoss(ImplicitLocOpBuilder &b, const SplitOp &split,
                                  CrossEntropyBwdOp op, ValueRange operands) {
  LossBuilder<CrossEntropyBwdOp> loss(b, split, op, operands[1], operands[2]);
  return split.factors.back().isWhole()
             ? loss.backwardOfRows(operands[0], operands[3])
             : loss.backward(operands[0], operands[3]);
}
