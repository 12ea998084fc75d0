//===- VjpNamedRules.cpp - The derivatives of named ops -------------------===//

#include "Vjp.h"
#include "hone/Sharding/IR/Dist.h"

using namespace mlir;
using namespace hone;

static void layerNormRule(LayerNormOp op, Vjp &v) {
  Value x = op.getInput(), mean = op.getMean(), rstd = op.getRstd();
  if (v.needs(x))
    v.add(x, v.make<LayerNormBwdOp>(x.getType(), v.g, x, mean, rstd,
                                    op.getScale(), op.getWidth()));
  v.g = v.keepFirst(v.g, op.getWidth());
  if (v.needs(op.getScale())) {
    Type type = Vjp::typeOf(mean).getElementType();
    ArrayRef<int64_t> shape = shapeOf(x);
    Value centred = v.sub(v.castTo(x, type), v.alongRows(mean, shape));
    Value normal = v.mul(centred, v.alongRows(rstd, shape));
    v.add(op.getScale(),
          v.sumRows(v.mul(v.castTo(v.g, type), normal), op.getScale()));
  }
  if (v.needs(op.getBias()))
    v.add(op.getBias(), v.sumRows(v.g, op.getBias()));
}

static void rmsNormRule(RmsNormOp op, Vjp &v) {
  Value x = op.getInput(), rstd = op.getRstd();
  if (v.needs(x))
    v.add(x, v.make<RmsNormBwdOp>(x.getType(), v.g, x, rstd, op.getScale(),
                                  op.getWidth()));
  v.g = v.keepFirst(v.g, op.getWidth());
  if (v.needs(op.getScale())) {
    Type type = Vjp::typeOf(rstd).getElementType();
    Value normal = v.mul(v.castTo(x, type), v.alongRows(rstd, shapeOf(x)));
    v.add(op.getScale(),
          v.sumRows(v.mul(v.castTo(v.g, type), normal), op.getScale()));
  }
}

static void crossEntropyRule(CrossEntropyOp op, Vjp &v) {
  v.add(op.getLogits(),
        v.make<CrossEntropyBwdOp>(op.getLogits().getType(), op.getReduction(),
                                  v.g, op.getLogits(), op.getTargets(),
                                  op.getLse(), op.getIgnoreIndex(),
                                  op.getLabelSmoothing(), op.getWidth()));
}

static void attentionRule(AttentionOp op, Vjp &v) {
  v.refuse(op.getMask(), "mask");
  Value q = op.getQuery(), k = op.getKey(), x = op.getValue();
  auto bwd = v.builder.create<AttentionBwdOp>(
      v.loc, TypeRange{q.getType(), k.getType(), x.getType()}, v.g, q, k, x,
      op.getResult(), op.getLse(), op.getMasks(), op.getRandom(),
      op.getCausalAttr(), op.getScaleAttr(), op.getDropoutAttr(),
      op.getSaltAttr(), op.getWholeAttr());
  v.add(q, bwd.getQueryGrad());
  v.add(k, bwd.getKeyGrad());
  v.add(x, bwd.getValueGrad());
}

static void ropeRule(RopeOp op, Vjp &v) {
  v.refuse(op.getCos(), "cos table");
  v.refuse(op.getSin(), "sin table");
  v.add(op.getInput(),
        v.make<RopeOp>(v.g.getType(), op.getStyle(), v.g, op.getCos(),
                       op.getSin(), !op.getInverse()));
}

//===----------------------------------------------------------------------===//
// Convolution and pooling
//===----------------------------------------------------------------------===//

/// Makes `OpT` of two tensors of the convolution `op`, as the type of `like`.
/// Both have the element type of the operands of `op`: a wider cotangent is
/// rounded, so that this product too has low-precision operands.
template <typename OpT, typename FromT>
static Value convolve(Vjp &v, FromT op, Value first, Value second, Value like) {
  Type element = Vjp::typeOf(op->getOperand(0)).getElementType();
  return v.make<OpT>(like.getType(), v.castTo(first, element),
                     v.castTo(second, element), op.getStrides(), op.getLow(),
                     op.getHigh(), op.getDilations(), op.getDepthwise());
}

static void convRule(ConvOp op, Vjp &v) {
  Value x = op.getInput(), w = op.getWeight();
  if (v.needs(x))
    v.add(x, convolve<ConvBwdInputOp>(v, op, v.g, w, x));
  if (v.needs(w))
    v.add(w, convolve<ConvBwdWeightOp>(v, op, x, v.g, w));
}

/// A transposed convolution of the forward pass.
static void convBwdInputRule(ConvBwdInputOp op, Vjp &v) {
  Value y = op.getGrad(), w = op.getWeight();
  if (v.needs(y))
    v.add(y, convolve<ConvOp>(v, op, v.g, w, y));
  if (v.needs(w))
    v.add(w, convolve<ConvBwdWeightOp>(v, op, v.g, y, w));
}

static void maxPoolRule(MaxPoolOp op, Vjp &v) {
  v.add(op.getInput(),
        v.make<MaxPoolBwdOp>(op.getInput().getType(), v.g, op.getTaps(),
                             op.getSizes(), op.getStrides(), op.getLow(),
                             op.getHigh(), op.getDilations()));
}

//===----------------------------------------------------------------------===//
// Products of groups of rows
//===----------------------------------------------------------------------===//

template <typename DotOp, typename BwdWeightOp>
static void groupedDotRule(DotOp op, Vjp &v) {
  Value x = op.getInput(), w = op.getWeight(), ends = op.getEnds();
  Value g = v.castTo(v.g, Vjp::typeOf(x).getElementType());
  if (v.needs(x))
    v.add(x, v.make<DotOp>(x.getType(), g, w, ends,
                           3 - int64_t(op.getContract())));
  if (v.needs(w)) {
    bool isPlain = op.getContract() == 1;
    v.add(w, v.make<BwdWeightOp>(w.getType(), isPlain ? x : g, isPlain ? g : x,
                                 ends));
  }
}

//===----------------------------------------------------------------------===//
// Elements picked by index
//===----------------------------------------------------------------------===//

static void takeAlongRule(TakeAlongOp op, Vjp &v) {
  v.add(op.getOperand(),
        v.make<PutAlongOp>(op.getOperand().getType(), ReduceKind::sum, v.g,
                           op.getIds(), op.getDim()));
}

static void putAlongRule(PutAlongOp op, Vjp &v) {
  if (op.getKind() != ReduceKind::sum)
    return v.refuse(op.getUpdates(), "updates");
  v.add(op.getUpdates(), v.make<TakeAlongOp>(op.getUpdates().getType(), v.g,
                                             op.getIds(), op.getDim()));
}

/// Each row gets the gradients of the rows that it was copied to, which the way
/// back picks.
static void blockPermuteRule(dist::BlockPermuteOp op, Vjp &v) {
  int64_t perRow = op.picksPerRow();
  SmallVector<int64_t> rows(shapeOf(op.getRows()));
  auto type = Vjp::typeOf(op.getRows());
  bool isTotal = op.getTotal() && shapeOf(op.getIds()) == shapeOf(op.getBack());
  rows[2] *= perRow;
  Value picked = v.make<dist::BlockPermuteOp>(
      type.clone(rows), v.g, op.getBack(), op.getIds(), isTotal);
  if (perRow != 1) {
    rows[2] /= perRow;
    rows.insert(rows.begin() + 3, perRow);
    picked = v.make<ReduceOp>(ReduceKind::sum,
                              v.make<ReshapeOp>(type.clone(rows), picked), 3);
  }
  v.add(op.getRows(), picked);
}

void hone::addNamedRules(RuleTable &t) {
  t.add<LayerNormOp>(layerNormRule);
  t.add<RmsNormOp>(rmsNormRule);
  t.add<SoftmaxOp>([](SoftmaxOp op, Vjp &v) {
    v.add(op.getInput(), v.make<SoftmaxBwdOp>(v.g.getType(), v.g,
                                              op.getResult(), op.getWidth()));
  });
  t.add<CrossEntropyOp>(crossEntropyRule);
  t.add<AttentionOp>(attentionRule);
  t.add<RopeOp>(ropeRule);
  t.add<ConvOp>(convRule);
  t.add<ConvBwdInputOp>(convBwdInputRule);
  t.add<MaxPoolOp>(maxPoolRule);
  t.add<GroupedDotOp>(groupedDotRule<GroupedDotOp, GroupedDotBwdWeightOp>);
  t.add<dist::BlockGroupedDotOp>(
      groupedDotRule<dist::BlockGroupedDotOp,
                     dist::BlockGroupedDotBwdWeightOp>);
  t.add<dist::BlockEmbeddingOp>([](dist::BlockEmbeddingOp op, Vjp &v) {
    v.add(op.getTable(), v.make<dist::BlockEmbeddingBwdOp>(
                             op.getTable().getType(), v.g, op.getIds()));
  });
  t.add<dist::BlockPermuteOp>(blockPermuteRule);
  t.add<dist::BlockExchangeOp>([](dist::BlockExchangeOp op, Vjp &v) {
    v.add(op.getOperand(),
          v.make<dist::BlockExchangeOp>(op.getOperand().getType(), v.g,
                                        !op.getReverse()));
  });
  t.add<TakeAlongOp>(takeAlongRule);
  t.add<PutAlongOp>(putAlongRule);
  t.add<GeluOp>([](GeluOp op, Vjp &v) {
    v.add(op.getInput(), v.make<GeluBwdOp>(v.g.getType(), op.getApproximate(),
                                           v.g, op.getInput()));
  });
  t.add<DropoutOp>([](DropoutOp op, Vjp &v) {
    v.add(op.getInput(),
          v.make<DropoutOp>(v.g.getType(), v.g, op.getRng(), op.getOrigin(),
                            op.getP(), op.getSalt(), op.getWholeAttr()));
  });
}
