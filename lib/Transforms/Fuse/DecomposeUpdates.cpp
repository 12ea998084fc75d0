//===- DecomposeUpdates.cpp - Updates of a whole parameter as primitives --===//

#include "UpdateBuilder.h"
#include "hone/Transforms/Passes.h"

namespace hone {
#define GEN_PASS_DEF_DECOMPOSEUPDATES
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

namespace {
/// Writes one update of Adafactor in primitives, in fp32 or wider.
class Decomposer : UpdateBuilder {
public:
  explicit Decomposer(AdafactorOp op)
      : UpdateBuilder(op, op.getParam()), op(op), full(wide(op.getParam())) {}

  /// All results.
  SmallVector<Value> decompose();

private:
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
  RankedTensorType full;
  Value share; ///< of what is seen now in the new means
};
} // namespace

Value Decomposer::rootMeanSquare(Value value) {
  double count = typeOf(value).getNumElements();
  return b.create<SqrtOp>(div(sumOfSquares(value), number(count)));
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
  finish(means, olds, isEmpty ? Value() : op.getApply(),
         op.getNewWorkingCopy());
  return means;
}

template <typename OpTy>
static void decomposeAll(func::FuncOp func,
                         function_ref<SmallVector<Value>(OpTy)> decompose) {
  SmallVector<OpTy> updates;
  func.walk([&](OpTy op) { updates.push_back(op); });
  for (OpTy op : updates) {
    op->replaceAllUsesWith(decompose(op));
    op.erase();
  }
}

namespace {
struct DecomposeUpdates : hone::impl::DecomposeUpdatesBase<DecomposeUpdates> {
  void runOnOperation() override {
    decomposeAll<AdafactorOp>(getOperation(), [](AdafactorOp op) {
      return Decomposer(op).decompose();
    });
    decomposeAll<MuonOp>(getOperation(), decomposeMuon);
  }
};
} // namespace
