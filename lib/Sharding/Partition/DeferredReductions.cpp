//===- DeferredReductions.cpp - Which sums over ranks may wait ------------===//

#include "DeferredReductions.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

DeferredReductions::DeferredReductions(func::FuncOp func, const Mesh &mesh) {
  Block &block = func.getBody().front();
  for (OpOperand &operand : block.getTerminator()->getOpOperands())
    if (auto attr = func.getResultAttrOfType<ShardingAttr>(
            operand.getOperandNumber(), shardingAttr))
      expected[operand.get()] = toSharding(attr, mesh).partial;
  for (Operation &op : llvm::reverse(block.without_terminator()))
    visit(&op);
}

void DeferredReductions::visit(Operation *op) {
  auto facts = dyn_cast<HoneOpInterface>(op);
  if (!facts || op->getNumResults() != 1)
    return;
  Value result = op->getResult(0);
  for (ArrayRef<unsigned> set : facts.getLinearOperands()) {
    int64_t bytes = 0;
    for (unsigned index : set)
      bytes += byteSize(op->getOperand(index).getType());
    bool merges = set.size() > 1 || byteSize(result.getType()) < bytes ||
                  merged.contains(result);
    for (unsigned index : set) {
      Value operand = op->getOperand(index);
      if (!operand.hasOneUse())
        continue;
      if (Axes axes = expected.lookup(result); !axes.empty())
        expected[operand] = axes;
      if (merges)
        merged.insert(operand);
    }
  }
}
