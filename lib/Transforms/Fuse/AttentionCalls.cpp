//===- AttentionCalls.cpp - Attention as calls of a library ---------------===//
//
// A rank under context parallelism has runs of queries, each of which begins
// at a position of its own. A library knows of one such position per sequence,
// so each run is a call. Its gradients of keys and values stand for the keys up
// to its last query only: what a library leaves past them is not read.
//
//===----------------------------------------------------------------------===//

#include "AttentionCalls.h"

#include "hone/Analysis/Attention/Problem.h"
#include "hone/IR/QueryPositions.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace hone;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The dimension of positions, in tensors of heads and in log-sum-exps.
static constexpr int64_t positions = 1, lsePositions = 2;

namespace {
/// Writes the calls of one attention op, right before it.
class CallBuilder {
public:
  CallBuilder(Operation *op, const AttentionParts &parts)
      : b(op->getLoc(), op), op(op), parts(parts), runs(parts.runs()),
        length(typeOf(parts.query).getDimSize(positions) / runs),
        element(elementOf(parts.query)) {}

  /// What replaces the results of the op.
  SmallVector<Value> forward();
  SmallVector<Value> backward();

  SmallVector<Operation *> calls;

private:
  Value run(Value value, int64_t dim, int64_t index);
  Value join(size_t result, int64_t dim);
  Value castTo(Value value, Type element);
  Value seenKeys(Value grad, Value first);
  Value sumOfKeys(size_t result);
  template <typename AttentionLike> AttentionLike clone(int64_t index);

  ImplicitLocOpBuilder b;
  Operation *op;
  const AttentionParts &parts;
  int64_t runs, length; ///< of a run
  Type element;         ///< of operands
};
} // namespace

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// The part of run `index` along `dim`. A log-sum-exp of calls that were split
/// before is that call's own: no kernel copies it out of all of them.
Value CallBuilder::run(Value value, int64_t dim, int64_t index) {
  if (runs == 1)
    return value;
  auto joined = value.getDefiningOp<ConcatOp>();
  if (joined && dim == lsePositions && int64_t(joined.getDim()) == dim &&
      int64_t(joined.getInputs().size()) == runs)
    return joined.getInputs()[index];
  SmallVector<int64_t> shape(typeOf(value).getShape()), limits = shape,
                                                        starts(shape.size(), 0);
  shape[dim] /= runs;
  starts[dim] = index * shape[dim];
  limits[dim] = starts[dim] + shape[dim];
  return b.create<SliceOp>(typeOf(value).clone(shape), value, starts, limits,
                           SmallVector<int64_t>(shape.size(), 1));
}

Value CallBuilder::castTo(Value value, Type element) {
  if (elementOf(value) == element)
    return value;
  return b.create<CastOp>(typeOf(value).clone(element), value);
}

/// A result of all calls side by side along `dim`, in the type of the op's.
Value CallBuilder::join(size_t result, int64_t dim) {
  SmallVector<Value> values;
  for (Operation *call : calls)
    values.push_back(call->getResult(result));
  auto type = cast<RankedTensorType>(op->getResult(result).getType());
  Value joined = values.front();
  if (runs > 1)
    joined = b.create<ConcatOp>(type.clone(elementOf(joined)), values,
                                uint64_t(dim));
  return castTo(joined, type.getElementType());
}

/// The operands of an op that run over queries, with that dimension.
static SmallVector<std::pair<OpOperand *, int64_t>> ofQueries(AttentionOp op) {
  return {{&op.getQueryMutable(), positions}};
}
static SmallVector<std::pair<OpOperand *, int64_t>>
ofQueries(AttentionBwdOp op) {
  return {{&op.getGradMutable(), positions},
          {&op.getQueryMutable(), positions},
          {&op.getOutputMutable(), positions},
          {&op.getLseMutable(), lsePositions}};
}

/// The attention of one run, with results of the op's types.
template <typename AttentionLike>
AttentionLike CallBuilder::clone(int64_t index) {
  auto call = cast<AttentionLike>(b.clone(*op));
  b.setInsertionPoint(call);
  for (auto [operand, dim] : ofQueries(call))
    operand->set(run(operand->get(), dim, index));
  if (parts.first)
    call.getMasksMutable()
        .slice(call.getMasks().size() - 1, 1)
        .assign(run(parts.first, 0, index));
  b.setInsertionPoint(op);
  calls.push_back(call);
  return call;
}

SmallVector<Value> CallBuilder::forward() {
  for (int64_t index = 0; index != runs; ++index) {
    auto call = clone<AttentionOp>(index);
    SmallVector<int64_t> shape(call.getResult().getType().getShape());
    shape[positions] = length;
    call.getResult().setType(RankedTensorType::get(shape, element));
    shape = llvm::to_vector(call.getLse().getType().getShape());
    shape[lsePositions] = length;
    call.getLse().setType(call.getLse().getType().clone(shape));
  }
  return {join(0, positions), join(1, lsePositions)};
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// A gradient of keys, which is 0 past the last query of a run that begins at
/// `first`. What is there in `grad` a library may leave undefined.
Value CallBuilder::seenKeys(Value grad, Value first) {
  RankedTensorType type = typeOf(grad), indices = type.clone(b.getI32Type());
  RankedTensorType one = RankedTensorType::get({1}, b.getI32Type());
  Value count = b.create<ConstantOp>(
      DenseElementsAttr::get(one, b.getI32IntegerAttr(int32_t(length))));
  Value end = b.create<AddOp>(b.create<CastOp>(one, first), count);
  end = b.create<ReshapeOp>(one.clone(ArrayRef<int64_t>()), end);
  Value isSeen =
      b.create<CmpOp>(type.clone(b.getI1Type()), CmpPredicate::lt,
                      b.create<IotaOp>(indices, uint64_t(positions)),
                      b.create<BroadcastOp>(indices, end, ArrayRef<int64_t>()));
  Value zero = b.create<ConstantOp>(DenseElementsAttr::get(
      type, Attribute(b.getFloatAttr(type.getElementType(), 0))));
  return b.create<SelectOp>(isSeen, grad, zero);
}

/// The sum of what all calls give, rounded to the type of the op's result.
Value CallBuilder::sumOfKeys(size_t result) {
  Value sum;
  for (Operation *call : calls) {
    Value grad = call->getResult(result);
    if (parts.readsFirst())
      grad = seenKeys(grad, readAttention(call)->first);
    if (runs > 1)
      grad = castTo(grad, b.getF32Type());
    sum = sum ? b.create<AddOp>(sum, grad).getResult() : grad;
  }
  return castTo(sum, elementOf(op->getResult(result)));
}

SmallVector<Value> CallBuilder::backward() {
  for (int64_t index = 0; index != runs; ++index) {
    auto call = clone<AttentionBwdOp>(index);
    for (Value result : call->getResults())
      result.setType(typeOf(result).clone(element));
    SmallVector<int64_t> shape(call.getQueryGrad().getType().getShape());
    shape[positions] = length;
    call.getQueryGrad().setType(call.getQueryGrad().getType().clone(shape));
  }
  return {join(0, positions), sumOfKeys(1), sumOfKeys(2)};
}

/// Whether the op is one call: queries of one run, and nothing to round or to
/// leave out of its results.
static bool isCall(Operation *op, const AttentionParts &parts) {
  Type element = elementOf(parts.query);
  size_t rounded = parts.isBackward ? 3 : 1; // lse is no such result
  return parts.runs() == 1 && !(parts.isBackward && parts.readsFirst()) &&
         llvm::all_of(op->getResults().take_front(rounded), [&](Value result) {
           return elementOf(result) == element;
         });
}

SmallVector<Operation *> hone::splitIntoCalls(Operation *op) {
  AttentionParts parts = *readAttention(op);
  if (isCall(op, parts))
    return {op};
  CallBuilder builder(op, parts);
  op->replaceAllUsesWith(parts.isBackward ? builder.backward()
                                          : builder.forward());
  op->erase();
  return std::move(builder.calls);
}
