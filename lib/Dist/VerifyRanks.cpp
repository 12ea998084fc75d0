//===- VerifyRanks.cpp - Whether ranks agree where they must --------------===//

#include "hone/Dist/Passes.h"
#include "hone/Dist/Sharding.h"

#include "llvm/ADT/TypeSwitch.h"

namespace hone {
#define GEN_PASS_DEF_DISTVERIFY
#include "hone/Dist/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

namespace {
/// The axes along which ranks may hold different numbers in a value, and of
/// each the op (or the function, for an argument) where that began.
using Differences = llvm::SmallMapVector<unsigned, Operation *, 4>;

class RankAnalysis {
public:
  RankAnalysis(func::FuncOp func, const Mesh &mesh) : func(func), mesh(mesh) {}

  LogicalResult run();

private:
  void visit(Operation *op);
  LogicalResult checkResult(unsigned index, Value value);
  Axes dividing(ShardingAttr attr) const;

  func::FuncOp func;
  const Mesh &mesh;
  llvm::DenseMap<Value, Differences> differences;
};
} // namespace

/// The axes of the dimensions of `attr`, none where it is null.
Axes RankAnalysis::dividing(ShardingAttr attr) const {
  Axes axes;
  if (attr)
    for (const DimShards &dim : toSharding(attr, mesh).dims)
      llvm::append_range(axes, dim.axes);
  return axes;
}

void RankAnalysis::visit(Operation *op) {
  Differences found;
  for (Value operand : op->getOperands())
    for (auto [axis, begin] : differences[operand])
      found.insert({axis, begin});
  auto end = [&](ArrayAttr axes) {
    for (unsigned axis : axesOf(axes, mesh))
      found.erase(axis);
  };
  auto begin = [&](ArrayAttr axes) {
    for (unsigned axis : axesOf(axes, mesh))
      found.insert({axis, op});
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<AllReduceOp, AllGatherOp>([&](auto op) { end(op.getAxes()); })
      .Case<CoordinateOp, ShardOp>([&](auto op) { begin(op.getAxes()); });
  for (Value result : op->getResults())
    differences[result] = found;
}

LogicalResult RankAnalysis::checkResult(unsigned index, Value value) {
  auto attr = func.getResultAttrOfType<ShardingAttr>(index, shardingAttr);
  Axes allowed = dividing(attr);
  for (auto [axis, begin] : differences[value]) {
    if (llvm::is_contained(allowed, axis))
      continue;
    InFlightDiagnostic diag =
        func.emitError() << "result " << index
                         << " differs between ranks along axis \""
                         << mesh[axis].name
                         << "\", which does not divide it: expected a sum or "
                            "a gather over that axis";
    diag.attachNote(begin->getLoc()) << "ranks begin to differ here";
    return diag;
  }
  return success();
}

LogicalResult RankAnalysis::run() {
  Block &block = func.getBody().front();
  for (BlockArgument arg : block.getArguments())
    for (unsigned axis : dividing(func.getArgAttrOfType<ShardingAttr>(
             arg.getArgNumber(), shardingAttr)))
      differences[arg].insert({axis, func});
  for (Operation &op : block.without_terminator())
    visit(&op);
  for (auto [index, value] :
       llvm::enumerate(block.getTerminator()->getOperands()))
    if (failed(checkResult(index, value)))
      return failure();
  return success();
}

namespace {
struct DistVerify : hone::impl::DistVerifyBase<DistVerify> {
  void runOnOperation() override {
    FailureOr<Mesh> mesh = Mesh::of(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && failed(RankAnalysis(func, *mesh).run()))
        return signalPassFailure();
  }
};
} // namespace
