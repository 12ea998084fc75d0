//===- DecomposeUpdates.cpp - Adafactor as primitives ---------------------===//

#include "hone/Transforms/Passes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hone {
#define GEN_PASS_DEF_DECOMPOSEUPDATES
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

namespace {
/// Writes one update in primitives, in fp32 or wider.
class Decomposer {
public:
  explicit Decomposer(AdafactorOp op)
      : op(op), b(op.getLoc(), op), full(type(op.getParam())) {}

  /// All results.
  SmallVector<Value> decompose();

private:
  RankedTensorType type(Value value) {
    auto given = cast<RankedTensorType>(value.getType());
    Type wide = getElementTypeOrSelf(op.getParam().getType()).isF64()
                    ? Type(b.getF64Type())
                    : Type(b.getF32Type());
    return RankedTensorType::get(given.getShape(), wide);
  }
  static RankedTensorType typeOf(Value value) {
    return cast<RankedTensorType>(value.getType());
  }
  Value castTo(Value value, Type element) {
    if (typeOf(value).getElementType() == element)
      return value;
    return b.create<CastOp>(
        RankedTensorType::get(typeOf(value).getShape(), element), value);
  }
  Value widen(Value value) { return castTo(value, full.getElementType()); }
  Value splat(RankedTensorType type, double value) {
    auto element = cast<FloatType>(type.getElementType());
    return b.create<ConstantOp>(DenseElementsAttr::get(
        type, b.getFloatAttr(element, value).getValue()));
  }
  /// A scalar; what the compute type rounds is a constant of f64 before.
  Value number(double value) {
    Value exact = splat(RankedTensorType::get({}, b.getF64Type()), value);
    return widen(exact);
  }
  Value number(const APFloat &value) { return number(value.convertToDouble()); }

  Value add(Value x, Value y) { return b.create<AddOp>(x, y); }
  Value sub(Value x, Value y) { return b.create<SubOp>(x, y); }
  Value mul(Value x, Value y) { return b.create<MulOp>(x, y); }
  Value div(Value x, Value y) { return b.create<DivOp>(x, y); }
  Value max(Value x, Value y) { return b.create<MaxOp>(x, y); }

  /// `value`, which has the dimensions `dims` of `to`, repeated along the rest.
  Value repeat(Value value, ArrayRef<int64_t> to, ArrayRef<int64_t> dims) {
    if (typeOf(value).getShape() == to)
      return value;
    return b.create<BroadcastOp>(
        RankedTensorType::get(to, typeOf(value).getElementType()), value,
        b.getDenseI64ArrayAttr(dims));
  }
  /// A scalar, for every element of `like`.
  Value every(Value value, Value like) {
    return repeat(value, typeOf(like).getShape(), {});
  }
  Value mean(Value value, int64_t dim) {
    Value sum = b.create<ReduceOp>(ReduceKind::sum, value, dim);
    // A division: the reciprocal would not be exact.
    return div(sum, splat(typeOf(sum), typeOf(value).getDimSize(dim)));
  }
  Value rootMeanSquare(Value value);
  /// old + share * (seen - old).
  Value blend(Value old, Value seen) {
    return add(old, mul(every(share, old), sub(seen, old)));
  }
  /// The new parameter and the new means, in the compute type.
  SmallVector<Value> update();
  /// Second moments of all elements, from the new means in `means`.
  Value blendMeans(Value gradient, SmallVector<Value> &means);

  AdafactorOp op;
  ImplicitLocOpBuilder b;
  RankedTensorType full;
  Value share; ///< of what is seen now in the new means
};
} // namespace

/// Row by row: a sum over all dimensions at once would be one long chain.
Value Decomposer::rootMeanSquare(Value value) {
  double count = typeOf(value).getNumElements();
  Value sum = mul(value, value);
  while (typeOf(sum).getRank() != 0)
    sum = b.create<ReduceOp>(ReduceKind::sum, sum, typeOf(sum).getRank() - 1);
  return b.create<SqrtOp>(div(sum, number(count)));
}

Value Decomposer::blendMeans(Value gradient, SmallVector<Value> &means) {
  Value squares = mul(gradient, gradient);
  OperandRange old = op.getVariances();
  if (old.size() == 1) {
    means = {blend(widen(old[0]), squares)};
    return means[0];
  }
  int64_t rank = full.getRank();
  Value rows = blend(widen(old[0]), mean(squares, rank - 1));
  Value columns = blend(widen(old[1]), mean(squares, rank - 2));
  means = {rows, columns};
  Value whole = mean(rows, rank - 2);
  whole = max(whole, every(number(op.getEps1()), whole));
  // [.., height] by [..], then [.., height] and [.., width] of [.., h, w].
  auto outer = llvm::to_vector(llvm::seq<int64_t>(0, rank - 2));
  SmallVector<int64_t> rowDims(outer), columnDims(outer);
  rowDims.push_back(rank - 2);
  columnDims.push_back(rank - 1);
  ArrayRef<int64_t> shape = full.getShape();
  Value scaled = div(rows, repeat(whole, typeOf(rows).getShape(), outer));
  return mul(repeat(scaled, shape, rowDims),
             repeat(columns, shape, columnDims));
}

SmallVector<Value> Decomposer::update() {
  Value param = widen(op.getParam()), count = widen(op.getStep());
  Value factor = widen(op.getGradScale());
  if (op.getMaximize())
    factor = b.create<NegOp>(factor);
  Value gradient = mul(widen(op.getGrad()), every(factor, param));
  share = b.create<PowOp>(count, number(op.getBeta2Decay()));
  Value rate = mul(widen(op.getLr()), number(op.getLrScale()));
  Value decay =
      mul(mul(rate, widen(op.getWeightDecay())), number(op.getDecayScale()));

  SmallVector<Value> means;
  Value moments = blendMeans(gradient, means);
  double eps1 = op.getEps1().convertToDouble();
  moments = max(moments, every(number(eps1 * eps1), moments));
  Value update = mul(gradient, b.create<RsqrtOp>(moments));

  Value size = max(number(op.getEps2()), rootMeanSquare(param));
  Value bound = b.create<RsqrtOp>(count);
  size = mul(size, b.create<MinOp>(rate, bound));
  Value excess = div(rootMeanSquare(update), number(op.getClipThreshold()));
  size = div(size, max(number(1.0), excess));
  Value kept = mul(param, every(sub(number(1.0), decay), param));
  means.insert(means.begin(), sub(kept, mul(every(size, update), update)));
  return means;
}

SmallVector<Value> Decomposer::decompose() {
  SmallVector<Value> olds = {op.getParam()};
  llvm::append_range(olds, op.getVariances());
  // There is no mean of no element.
  bool isEmpty = full.getNumElements() == 0;
  SmallVector<Value> means = isEmpty ? olds : update();
  for (auto [made, old] : llvm::zip_equal(means, olds)) {
    made = castTo(made, typeOf(old).getElementType());
    if (!op.getApply() || isEmpty)
      continue;
    Value pred = every(op.getApply(), old);
    made = b.create<SelectOp>(old.getType(), pred, made, old);
  }
  if (Value workingCopy = op.getNewWorkingCopy())
    means.push_back(castTo(means[0], typeOf(workingCopy).getElementType()));
  return means;
}

namespace {
struct DecomposeUpdates : hone::impl::DecomposeUpdatesBase<DecomposeUpdates> {
  void runOnOperation() override {
    SmallVector<AdafactorOp> updates;
    getOperation().walk([&](AdafactorOp op) { updates.push_back(op); });
    for (AdafactorOp op : updates) {
      op->replaceAllUsesWith(Decomposer(op).decompose());
      op.erase();
    }
  }
};
} // namespace
