//===- VjpNamedRules.cpp - The derivatives of named ops -------------------===//

#include "Vjp.h"

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
    ArrayRef<int64_t> shape = Vjp::shapeOf(x);
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
    Value normal = v.mul(v.castTo(x, type), v.alongRows(rstd, Vjp::shapeOf(x)));
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
      op.getResult(), op.getLse(), op.getMask(), op.getRandom(),
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
