//===- Passes.cpp - Propagation as a pass ---------------------------------===//

#include "hone/Sharding/Passes.h"

#include "Sharding/Propagate/Propagation.h"

namespace hone {
#define GEN_PASS_DEF_DISTPROPAGATE
#include "hone/Sharding/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

/// The sharding of a value with the priorities at which its dimensions got it,
/// and from which annotation.
static ShardingAttr describe(Value value, const Propagation &propagation,
                             const Mesh &mesh, MLIRContext *context) {
  ShardingAttr plain = toAttr(propagation.of(value), mesh, context);
  SmallVector<DimAttr> dims;
  for (auto [index, dim] : llvm::enumerate(plain.getDims()))
    dims.push_back(DimAttr::get(
        context, dim.getAxes(), dim.getCuts(), dim.getSnake(),
        /*isOpen=*/false,
        dim.getAxes().empty() ? 0 : propagation.priorityOf(value, index),
        dim.getAxes().empty() ? StringAttr()
                              : propagation.sourceOf(value, index)));
  return ShardingAttr::get(context, dims, {}, ReduceKind::sum);
}

/// `sharding`, of an argument that is partial as `annotated`, if it is.
static ShardingAttr withTerms(ShardingAttr sharding, ShardingAttr annotated) {
  if (!annotated || annotated.getPartial().empty())
    return sharding;
  return ShardingAttr::get(sharding.getContext(), sharding.getDims(),
                           annotated.getPartial(), annotated.getKind());
}

namespace {
struct DistPropagate : hone::impl::DistPropagateBase<DistPropagate> {
  void runOnOperation() override {
    FailureOr<Mesh> mesh = Mesh::of(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && failed(propagate(func, *mesh)))
        return signalPassFailure();
  }

  LogicalResult propagate(func::FuncOp func, const Mesh &mesh);
};
} // namespace

LogicalResult DistPropagate::propagate(func::FuncOp func, const Mesh &mesh) {
  FailureOr<Propagation> propagation = Propagation::run(func, mesh);
  if (failed(propagation))
    return failure();
  MLIRContext *context = &getContext();
  auto attrOf = [&](Value value) {
    return describe(value, *propagation, mesh, context);
  };
  Block &block = func.getBody().front();
  for (BlockArgument arg : block.getArguments())
    if (isa<RankedTensorType>(arg.getType()))
      func.setArgAttr(
          arg.getArgNumber(), shardingAttr,
          withTerms(attrOf(arg), func.getArgAttrOfType<ShardingAttr>(
                                     arg.getArgNumber(), shardingAttr)));
  for (Operation &op : block.without_terminator()) {
    SmallVector<Attribute> shardings;
    for (Value result : op.getResults())
      shardings.push_back(attrOf(result));
    op.setAttr(shardingsAttr, ArrayAttr::get(context, shardings));
  }
  for (auto [index, value] :
       llvm::enumerate(block.getTerminator()->getOperands()))
    if (!func.getResultAttr(index, shardingAttr))
      func.setResultAttr(index, shardingAttr, attrOf(value));
  return success();
}
