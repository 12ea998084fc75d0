//===- LossScaling.cpp - Dynamic loss scaling of fp16 ---------------------===//

#include "LossScaling.h"

using namespace mlir;
using namespace hone;

/// The scale stops growing here: gradients that are all zero bear any scale,
/// and an infinite one never comes back.
static constexpr double largestScale = 0x1p64;

LossScale hone::advance(ImplicitLocOpBuilder &b, const LossScale &old,
                        Value finite, int64_t growthInterval) {
  auto number = cast<RankedTensorType>(old.scale.getType());
  auto count = cast<RankedTensorType>(old.goodSteps.getType());
  auto f = [&](double value) -> Value {
    Attribute attr = b.getFloatAttr(number.getElementType(), value);
    return b.create<ConstantOp>(DenseElementsAttr::get(number, attr));
  };
  auto i = [&](int64_t value) -> Value {
    return b.create<ConstantOp>(
        DenseElementsAttr::get(count, b.getI64IntegerAttr(value)));
  };
  auto choose = [&](Value pred, Value x, Value y) -> Value {
    return b.create<SelectOp>(x.getType(), pred, x, y);
  };
  Value good = choose(finite, b.create<AddOp>(old.goodSteps, i(1)), i(0));
  Value grows = b.create<CmpOp>(finite.getType(), CmpPredicate::ge, good,
                                i(growthInterval));
  Value grown =
      b.create<MinOp>(b.create<MulOp>(old.scale, f(2.0)), f(largestScale));
  Value shrunk = b.create<MulOp>(old.scale, f(0.5));
  return {choose(finite, choose(grows, grown, old.scale), shrunk),
          choose(grows, i(0), good),
          b.create<AddOp>(old.updates, b.create<CastOp>(count, finite))};
}
