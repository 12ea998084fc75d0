//===- DecomposeMuon.cpp - Muon as products and elementwise ops -----------===//

#include "UpdateBuilder.h"

using namespace mlir;
using namespace hone;

namespace {
class MuonDecomposer : UpdateBuilder {
public:
  explicit MuonDecomposer(MuonOp op)
      : UpdateBuilder(op, op.getParam()), op(op) {}

  SmallVector<Value> decompose();

private:
  Value low(Value value) { return castTo(value, b.getBF16Type()); }
  Value high(Value value) { return castTo(value, b.getF32Type()); }
  Value exact(double value) {
    return splat(RankedTensorType::get({}, b.getF64Type()), value);
  }
  Value scaled(double factor, Value value) {
    return mul(every(high(exact(factor)), value), value);
  }
  /// x[i, k] * y[j, k] summed over k, or the other dimension of either; in f32.
  Value product(Value x, int64_t xContract, Value y, int64_t yContract);
  Value orthogonalize(Value matrix);

  MuonOp op;
};
} // namespace

Value MuonDecomposer::product(Value x, int64_t xContract, Value y,
                              int64_t yContract) {
  auto type = RankedTensorType::get({typeOf(x).getDimSize(1 - xContract),
                                     typeOf(y).getDimSize(1 - yContract)},
                                    b.getF32Type());
  return b.create<DotGeneralOp>(type, x, y, ArrayRef<int64_t>(),
                                ArrayRef<int64_t>(), ArrayRef(xContract),
                                ArrayRef(yContract));
}

/// The iteration, in bf16: what PyTorch rounds between its products is rounded
/// here, too.
Value MuonDecomposer::orthogonalize(Value matrix) {
  auto [first, third, fifth] =
      std::tuple(MuonOp::coefficients[0], MuonOp::coefficients[1],
                 MuonOp::coefficients[2]);
  Value x = high(low(matrix));
  Value norm = b.create<SqrtOp>(sumOfSquares(x));
  Value least = exact(op.getEps().convertToDouble());
  norm = max(high(low(norm)), high(low(least)));
  x = low(div(x, every(norm, x)));
  // The smaller of x x^T and x^T x.
  bool isWide = typeOf(x).getDimSize(0) <= typeOf(x).getDimSize(1);
  int64_t summed = isWide ? 1 : 0;
  for (int step = 0; step != MuonOp::iterations; ++step) {
    Value gram = low(product(x, summed, x, summed));
    Value squared = product(gram, 1, gram, 0);
    Value factor = low(add(scaled(third, high(gram)), scaled(fifth, squared)));
    Value moved = isWide ? product(factor, 1, x, 0) : product(x, 1, factor, 0);
    x = low(add(scaled(first, high(x)), moved));
  }
  return x;
}

SmallVector<Value> MuonDecomposer::decompose() {
  Value param = widen(op.getParam()), old = widen(op.getBuffer());
  Value factor = widen(op.getGradScale());
  if (op.getMaximize())
    factor = b.create<NegOp>(factor);
  Value gradient = mul(widen(op.getGrad()), every(factor, param));
  double momentum = op.getMomentum().convertToDouble();
  Value seen = every(number(1 - momentum), param);
  Value buffer = add(old, mul(seen, sub(gradient, old)));
  Value update = buffer;
  if (op.getNesterov())
    update = add(gradient,
                 mul(every(number(momentum), param), sub(buffer, gradient)));

  Value rate = mul(widen(op.getLr()), number(op.getLrScale()));
  Value decay =
      mul(mul(rate, widen(op.getWeightDecay())), number(op.getDecayScale()));
  Value kept = mul(param, every(sub(number(1.0), decay), param));
  Value move = widen(orthogonalize(update));
  Value size = mul(rate, number(op.getShapeScale()));
  SmallVector<Value> made = {sub(kept, mul(every(size, move), move)), buffer};
  finish(made, {op.getParam(), op.getBuffer()}, op.getApply(),
         op.getNewWorkingCopy());
  return made;
}

SmallVector<Value> hone::decomposeMuon(MuonOp op) {
  return MuonDecomposer(op).decompose();
}
