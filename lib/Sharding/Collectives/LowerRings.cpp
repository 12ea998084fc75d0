//===- LowerRings.cpp - Attention whose keys go around a ring -------------===//
//
// Each rank has two runs of positions, as far from the middle before it as
// behind it. In every step but the first, two runs of queries see a whole run
// of keys each, whatever the number of the rank: only which runs differs.
//
//===----------------------------------------------------------------------===//

#include "hone/IR/MergeOps.h"
#include "hone/Sharding/IR/RingOps.h"
#include "hone/Sharding/IR/Sharding.h"
#include "hone/Sharding/Passes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <limits>

namespace hone {
#define GEN_PASS_DEF_DISTLOWERRINGS
#include "hone/Sharding/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

using Shape = SmallVector<int64_t>;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {
/// A tensor of each of the two runs of positions of a rank.
struct Runs {
  Value first, second;
};

/// Builds around tensors of two runs side by side: [B, 2 C, heads, width], of
/// log-sum-exps [B, heads, 2 C]. Such a tensor is [B, 2, ...] "by runs" and
/// [2 B, ...] "as a batch".
class RingBuilder {
public:
  RingBuilder(Operation *op, ArrayAttr axes, FloatAttr scale, int64_t ranks,
              bool isBackward)
      : b(op->getLoc(), op), ranks(ranks), axes(axes), scale(scale),
        isBackward(isBackward) {
    scalar = RankedTensorType::get({}, b.getI64Type());
    number = b.create<CoordinateOp>(scalar, axes);
  }

  int64_t numRanks() const { return ranks; }

  /// Keys or values, or gradients of these, of the rank before.
  Value shift(Value value) {
    auto op = b.create<ShiftOp>(value.getType(), value, 1, axes);
    if (isBackward)
      op->setAttr(againAttr, b.getUnitAttr());
    return op;
  }
  /// What arrives in step `step` is of an earlier rank: i >= step.
  void enterStep(int64_t step) {
    // The backward part asks the opposite question. Else CSE would merge what
    // both choose, which would then stay in memory in between.
    auto predicate = isBackward ? CmpPredicate::lt : CmpPredicate::ge;
    Value bound = b.create<ConstantOp>(
        DenseElementsAttr::get(scalar, b.getI64IntegerAttr(step)));
    answer =
        b.create<CmpOp>(scalar.clone(b.getI1Type()), predicate, number, bound);
  }
  Value choose(Value ifEarlier, Value ifLater) {
    RankedTensorType type = typeOf(ifEarlier);
    Value everywhere = b.create<BroadcastOp>(type.clone(b.getI1Type()), answer,
                                             ArrayRef<int64_t>());
    if (isBackward)
      std::swap(ifEarlier, ifLater);
    return b.create<SelectOp>(everywhere, ifEarlier, ifLater);
  }

  Value byRuns(Value value);
  Value asBatch(Value byRuns);
  Value sideBySide(Runs runs);
  Runs apart(Value byRuns) { return {run(byRuns, 0), run(byRuns, 1)}; }
  /// Of an earlier rank both runs of queries see the first run of keys, of a
  /// later one the second run of queries sees both.
  Value chooseQueries(Value value) {
    Value own = byRuns(value);
    return asBatch(choose(own, twice(run(own, 1), own)));
  }
  Value chooseKeys(Value value) {
    Value own = byRuns(value);
    return asBatch(choose(twice(run(own, 0), own), own));
  }
  /// `batch`, [2 B, ...], by runs.
  Value runsOfBatch(Value batch) {
    Shape shape(typeOf(batch).getShape());
    shape[0] /= 2;
    shape.insert(shape.begin() + 1, 2);
    return reshape(batch, shape);
  }

  RankedTensorType wide(Value value) {
    Type element = elementOf(value);
    return typeOf(value).clone(element.isF64() ? element : b.getF32Type());
  }
  Value castTo(Value value, Type type) {
    Type element = getElementTypeOrSelf(type);
    if (elementOf(value) == element)
      return value;
    return b.create<CastOp>(typeOf(value).clone(element), value);
  }
  Value splat(Value like, double number) {
    RankedTensorType type = typeOf(like);
    return b.create<ConstantOp>(DenseElementsAttr::get(
        type, Attribute(b.getFloatAttr(type.getElementType(), number))));
  }
  Value add(Value x, Value y) { return b.create<AddOp>(x, y); }

  AttentionOp attend(Value query, Value key, Value value, bool causal);
  AttentionBwdOp differentiate(ValueRange operands, bool causal);
  MergeAttentionOp merge(Value result, Value lse, Value other, Value otherLse) {
    return b.create<MergeAttentionOp>(result.getType(), lse.getType(), result,
                                      lse, other, otherLse);
  }

private:
  Value reshape(Value value, ArrayRef<int64_t> shape) {
    return b.create<ReshapeOp>(typeOf(value).clone(shape), value);
  }
  Value run(Value byRuns, int64_t index);
  /// `run`, in place of each of the runs of `like`.
  Value twice(Value run, Value like) {
    SmallVector<int64_t> dims = {0};
    llvm::append_range(dims, llvm::seq<int64_t>(2, typeOf(like).getRank()));
    return b.create<BroadcastOp>(typeOf(like), run, dims);
  }

  ImplicitLocOpBuilder b;
  int64_t ranks;
  ArrayAttr axes;
  FloatAttr scale;
  bool isBackward;
  RankedTensorType scalar;
  Value number; ///< of the rank in the ring
  Value answer; ///< of the step's question
};
} // namespace

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

Value RingBuilder::byRuns(Value value) {
  Shape shape(typeOf(value).getShape());
  if (shape.size() == 4)
    return reshape(value, {shape[0], 2, shape[1] / 2, shape[2], shape[3]});
  Value apart = reshape(value, {shape[0], shape[1], 2, shape[2] / 2});
  return b.create<TransposeOp>(apart, ArrayRef<int64_t>{0, 2, 1, 3});
}

Value RingBuilder::asBatch(Value byRuns) {
  Shape shape(typeOf(byRuns).getShape().drop_front());
  shape[0] = 2 * typeOf(byRuns).getDimSize(0);
  return reshape(byRuns, shape);
}

/// Positions are the last dimension of log-sum-exps, and else the second.
Value RingBuilder::sideBySide(Runs runs) {
  RankedTensorType type = typeOf(runs.first);
  int64_t dim = type.getRank() == 4 ? 1 : 2;
  Shape shape(type.getShape());
  shape[dim] *= 2;
  return b.create<ConcatOp>(type.clone(shape),
                            ValueRange{runs.first, runs.second}, dim);
}

Value RingBuilder::run(Value byRuns, int64_t index) {
  Shape shape(typeOf(byRuns).getShape()),
      limits = shape, starts(shape.size(), 0), strides(shape.size(), 1);
  starts[1] = index;
  limits[1] = index + 1;
  shape[1] = 1;
  Value slice = b.create<SliceOp>(typeOf(byRuns).clone(shape), byRuns, starts,
                                  limits, strides);
  shape.erase(shape.begin() + 1);
  return reshape(slice, shape);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

AttentionOp RingBuilder::attend(Value query, Value key, Value value,
                                bool causal) {
  RankedTensorType type = wide(query);
  ArrayRef<int64_t> shape = type.getShape();
  auto result =
      type.clone({shape[0], shape[1], shape[2], shapeOf(value).back()});
  auto lse = type.clone({shape[0], shape[2], shape[1]});
  return b.create<AttentionOp>(
      TypeRange{result, lse}, query, key, value, ValueRange(), ValueRange(),
      causal ? b.getUnitAttr() : UnitAttr(), scale, b.getF64FloatAttr(0),
      b.getI64IntegerAttr(0), DenseI64ArrayAttr());
}

/// `operands` are those of hone.attention_bwd: the result's gradient, query,
/// key, value, the result and its log-sum-exp.
AttentionBwdOp RingBuilder::differentiate(ValueRange operands, bool causal) {
  SmallVector<Type> types;
  for (Value value : operands.slice(1, 3))
    types.push_back(wide(value));
  return b.create<AttentionBwdOp>(
      types, operands[0], operands[1], operands[2], operands[3], operands[4],
      operands[5], ValueRange(), ValueRange(),
      causal ? b.getUnitAttr() : UnitAttr(), scale, b.getF64FloatAttr(0),
      b.getI64IntegerAttr(0), DenseI64ArrayAttr());
}

namespace {
/// The keys and values that a rank has in a step of the ring. They are sent on
/// before the step reads them.
class KeysUnderWay {
public:
  KeysUnderWay(RingBuilder &ring, Value key, Value value)
      : key(key), value(value), ring(ring) {
    send(1);
  }

  void enterStep(int64_t step) {
    key = nextKey;
    value = nextValue;
    send(step + 1);
    ring.enterStep(step);
  }

  Value key, value;

private:
  /// Those of `step`, if there is one.
  void send(int64_t step) {
    if (step == ring.numRanks())
      return;
    nextKey = ring.shift(key);
    nextValue = ring.shift(value);
  }

  RingBuilder &ring;
  Value nextKey, nextValue;
};

/// Results of one run of queries over the keys so far.
struct Partial {
  Value result, lse;
};
} // namespace

static void mergeInto(RingBuilder &ring, Partial &own, Value result,
                      Value lse) {
  auto merged = ring.merge(own.result, own.lse, result, lse);
  own = {merged.getMerged(), merged.getMergedLse()};
}

static SmallVector<Value> lower(RingAttentionOp op, int64_t ranks) {
  RingBuilder ring(op, op.getAxes(), op.getScaleAttr(), ranks,
                   /*isBackward=*/false);
  KeysUnderWay keys(ring, op.getKey(), op.getValue());
  auto own = ring.attend(op.getQuery(), keys.key, keys.value, /*causal=*/true);
  Runs results = ring.apart(ring.byRuns(own.getResult())),
       lses = ring.apart(ring.byRuns(own.getLse()));
  Partial first = {results.first, lses.first},
          second = {results.second, lses.second};
  for (int64_t step = 1; step != ranks; ++step) {
    keys.enterStep(step);
    auto part =
        ring.attend(ring.chooseQueries(op.getQuery()),
                    ring.chooseKeys(keys.key), ring.chooseKeys(keys.value),
                    /*causal=*/false);
    results = ring.apart(ring.runsOfBatch(part.getResult()));
    lses = ring.apart(ring.runsOfBatch(part.getLse()));
    // The first half of the batch is of the first run of queries, or also of
    // the second.
    Value none =
        ring.splat(lses.first, -std::numeric_limits<double>::infinity());
    mergeInto(ring, first, results.first, ring.choose(lses.first, none));
    mergeInto(ring, second, results.second, lses.second);
    mergeInto(ring, second, results.first, ring.choose(none, lses.first));
  }
  return {ring.castTo(ring.sideBySide({first.result, second.result}),
                      op.getResult().getType()),
          ring.castTo(ring.sideBySide({first.lse, second.lse}),
                      op.getLse().getType())};
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

namespace {
/// Of one run of queries each, and of all keys and values of a rank.
struct Gradients {
  Runs query;
  Value key, value;
};
} // namespace

/// Of what the two halves of the batch give, the first run of keys gets both,
/// or each run gets one.
static Value gradientOfKeys(RingBuilder &ring, Value batch) {
  auto [first, second] = ring.apart(ring.runsOfBatch(batch));
  Value zero = ring.splat(first, 0);
  return ring.sideBySide(
      {ring.add(first, ring.choose(second, zero)), ring.choose(zero, second)});
}

static void addStep(RingBuilder &ring, Gradients &sums, AttentionBwdOp part) {
  auto [first, second] = ring.apart(ring.runsOfBatch(part.getQueryGrad()));
  Value zero = ring.splat(first, 0);
  sums.query.first = ring.add(sums.query.first, ring.choose(first, zero));
  sums.query.second =
      ring.add(ring.add(sums.query.second, second), ring.choose(zero, first));
  auto addKeys = [&](Value &sum, Value grad) {
    Value own = gradientOfKeys(ring, grad);
    sum = sum ? ring.add(ring.shift(sum), own) : own;
  };
  addKeys(sums.key, part.getKeyGrad());
  addKeys(sums.value, part.getValueGrad());
}

static SmallVector<Value> lower(RingAttentionBwdOp op, int64_t ranks) {
  RingBuilder ring(op, op.getAxes(), op.getScaleAttr(), ranks,
                   /*isBackward=*/true);
  KeysUnderWay keys(ring, op.getKey(), op.getValue());
  auto own = ring.differentiate(op->getOperands(), /*causal=*/true);
  // Gradients of keys and values begin with those of the rank before.
  Gradients sums = {ring.apart(ring.byRuns(own.getQueryGrad())), {}, {}};
  for (int64_t step = 1; step != ranks; ++step) {
    keys.enterStep(step);
    SmallVector<Value> operands = {
        ring.chooseQueries(op.getGrad()),   ring.chooseQueries(op.getQuery()),
        ring.chooseKeys(keys.key),          ring.chooseKeys(keys.value),
        ring.chooseQueries(op.getOutput()), ring.chooseQueries(op.getLse())};
    addStep(ring, sums, ring.differentiate(operands, /*causal=*/false));
  }
  auto home = [&](Value sum, Value part) {
    return sum ? ring.add(ring.shift(sum), part) : part;
  };
  Value queryGrad = ring.sideBySide(sums.query);
  Value keyGrad = home(sums.key, own.getKeyGrad());
  Value valueGrad = home(sums.value, own.getValueGrad());
  return {ring.castTo(queryGrad, op.getQueryGrad().getType()),
          ring.castTo(keyGrad, op.getKeyGrad().getType()),
          ring.castTo(valueGrad, op.getValueGrad().getType())};
}

template <typename RingOp>
static void lowerAll(ModuleOp module, const Mesh &mesh) {
  module.walk([&](RingOp op) {
    op->replaceAllUsesWith(lower(op, mesh.count(axesOf(op.getAxes(), mesh))));
    op.erase();
  });
}

namespace {
struct DistLowerRings : hone::impl::DistLowerRingsBase<DistLowerRings> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<Mesh> mesh = Mesh::of(module);
    if (failed(mesh))
      return signalPassFailure();
    lowerAll<RingAttentionOp>(module, *mesh);
    lowerAll<RingAttentionBwdOp>(module, *mesh);
  }
};
} // namespace
