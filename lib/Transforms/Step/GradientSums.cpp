//===- GradientSums.cpp - Arguments that hold gradients -------------------===//

#include "GradientSums.h"

#include "base/GradientSums.h"
#include "hone/Sharding/IR/Dist.h"

using namespace mlir;
using namespace hone;

DictionaryAttr hone::describeGradient(StepFunction &step, const Trained &t,
                                      StringRef name) {
  NamedAttrList attrs(step.describe(kind::grad, name));
  if (t.parts)
    attrs.append(attr::parts, t.parts);
  return attrs.getDictionary(step.builder.getContext());
}

OperandRange hone::gradientsOf(func::FuncOp gradient) {
  return gradient.front().getTerminator()->getOperands().drop_front();
}

SmallVector<Value, 2> hone::termsOf(Value gradient, bool isInvariant) {
  auto sum = gradient.getDefiningOp<AddOp>();
  auto isTerm = [](Value term) {
    Operation *op = term.getDefiningOp();
    return op && !isa<AddOp>(op) && !isa<dist::DistDialect>(op->getDialect());
  };
  if (!isInvariant || !sum || !llvm::all_of(sum->getOperands(), isTerm))
    return {gradient};
  return SmallVector<Value, 2>(sum->getOperands());
}

SmallVector<BlockArgument, 2> hone::addGradients(StepFunction &step,
                                                 const Trained &t,
                                                 Value gradient,
                                                 bool isInvariant) {
  auto add = [&](StringRef name) {
    return step.addArgument(t.param.getType(), describeGradient(step, t, name),
                            step.builder.getLoc());
  };
  SmallVector<BlockArgument, 2> sums = {add(t.name)};
  if (termsOf(gradient, isInvariant).size() == 2)
    sums.push_back(add(honert::secondGradientSum(t.name)));
  return sums;
}
