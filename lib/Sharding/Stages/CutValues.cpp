//===- CutValues.cpp - Where a forward part can be cut --------------------===//

#include "Sharding/Stages/CutValues.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

bool dist::isCastOrView(Operation &op) {
  auto hone = dyn_cast<HoneOpInterface>(op);
  return hone && op.getNumOperands() == 1 &&
         (hone.getNumericClass() == NumericClass::copy || isa<CastOp>(op));
}

Origins::Origins(func::FuncOp func) : func(func) {
  for (Operation &op : func.front()) {
    Origin origin = Origin::Free;
    for (Value operand : op.getOperands())
      origin = std::max(origin, of(operand));
    if (origin == Origin::Weight && !isCastOrView(op))
      origin = Origin::Activation;
    bool reads = llvm::any_of(
        op.getOperands(), [&](Value operand) { return readsInput(operand); });
    for (Value result : op.getResults()) {
      origins[result] = origin;
      if (reads)
        reading.insert(result);
      if (origin == Origin::Weight)
        weights[result] = parameterOf(op.getOperand(0));
    }
  }
}

Origin Origins::of(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return origins.lookup(value);
  StringRef kind = argString(func, argument.getArgNumber(), attr::kind);
  return kind == kind::param || kind == kind::workingCopy ? Origin::Weight
                                                          : Origin::Free;
}

bool Origins::readsInput(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return reading.contains(value);
  return argString(func, argument.getArgNumber(), attr::kind) == kind::input;
}

BlockArgument Origins::parameterOf(Value weight) const {
  if (auto argument = dyn_cast<BlockArgument>(weight))
    return argument;
  return weights.lookup(weight);
}

/// The last op that reads `value` on the way to the loss: new values of buffers
/// and checks of ids leave a stage as results of its own. Null if none does.
static Operation *lastReader(Value value,
                             llvm::function_ref<bool(Operation *)> isBeside) {
  Operation *last = nullptr;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    bool isOwnResult = isa<func::ReturnOp>(user) && use.getOperandNumber() != 0;
    if (!isOwnResult && !isBeside(user) &&
        (!last || last->isBeforeInBlock(user)))
      last = user;
  }
  return last;
}

CutValues dist::findCutValues(func::FuncOp func, const Origins &origins,
                              llvm::function_ref<bool(Operation *)> isBeside) {
  CutValues found;
  DenseMap<Operation *, SmallVector<Value>> ending; // by last reader
  DenseSet<Value> live;
  DenseMap<Operation *, unsigned> position;
  for (auto [index, op] : llvm::enumerate(func.front()))
    position[&op] = index;
  unsigned longest = 0;
  for (Operation &op : func.front().without_terminator()) {
    if (isBeside(&op))
      break; // they are the last
    for (Value value : ending.lookup(&op))
      live.erase(value);
    for (Value result : op.getResults()) {
      if (origins.of(result) != Origin::Activation)
        continue;
      Operation *last = lastReader(result, isBeside);
      if (!last)
        continue;
      ending[last].push_back(result);
      live.insert(result);
    }
    if (live.size() == 1) {
      Value value = *live.begin();
      bool isNew = found.cuts.empty() || found.cuts.back().value != value;
      bool isLoss = lastReader(value, isBeside) == func.front().getTerminator();
      if (isNew && !isLoss &&
          isa<FloatType>(getElementTypeOrSelf(value.getType())))
        found.cuts.push_back({value, &op});
      continue;
    }
    for (Value value : live) {
      unsigned length = position[lastReader(value, isBeside)] -
                        position[value.getDefiningOp()];
      if (length > longest) {
        longest = length;
        found.longest = value;
      }
    }
  }
  return found;
}
