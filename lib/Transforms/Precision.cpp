//===- Precision.cpp - What the passes of mixed precision share -----------===//

#include "Precision.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace hone;

FailureOr<FloatType> hone::lowTypeOf(StringRef policy, MLIRContext *context) {
  return llvm::StringSwitch<FailureOr<FloatType>>(policy)
      .Cases("fp32", "tf32", FloatType())
      .Cases("bf16", "bf16-sr", FloatType::getBF16(context))
      .Case("fp16", FloatType::getF16(context))
      .Default(failure());
}

StringRef hone::getPrecision(ModuleOp module) {
  auto policy = module->getAttrOfType<StringAttr>(attr::precision);
  return policy ? policy.getValue() : StringRef("fp32");
}

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

bool hone::isMover(Operation *op) {
  auto facts = dyn_cast<HoneOpInterface>(op);
  if (!facts || isa<CastOp, GroupOp>(op) || op->getNumOperands() != 1 ||
      op->getNumResults() != 1)
    return false;
  KernelFamily family = facts.getKernelFamily();
  bool moves = family == KernelFamily::view || family == KernelFamily::move ||
               family == KernelFamily::map;
  return moves && facts.getNumericClass() == NumericClass::exact &&
         isFloat(op->getOperand(0)) &&
         getElementTypeOrSelf(op->getOperand(0)) ==
             getElementTypeOrSelf(op->getResult(0));
}

SmallVector<OpOperand *> hone::findTiedOperands(Operation *op) {
  SmallVector<OpOperand *> tied;
  if (isa<CastOp, CrossEntropyOp>(op))
    return tied;
  Value mask, cos, sin;
  if (auto attention = dyn_cast<AttentionOp>(op))
    mask = attention.getMask();
  if (auto rope = dyn_cast<RopeOp>(op)) {
    cos = rope.getCos();
    sin = rope.getSin();
  }
  for (OpOperand &operand : op->getOpOperands())
    if (isFloat(operand.get()) && operand.get() != mask &&
        operand.get() != cos && operand.get() != sin)
      tied.push_back(&operand);
  return tied;
}

DenseSet<Value> hone::findWeighted(func::FuncOp func) {
  DenseSet<Value> weighted;
  for (BlockArgument arg : func.getArguments())
    if (argString(func, arg.getArgNumber(), attr::kind) == kind::param)
      weighted.insert(arg);
  for (Operation &op : func.front())
    if (llvm::any_of(op.getOperands(),
                     [&](Value v) { return weighted.contains(v); }))
      weighted.insert(op.result_begin(), op.result_end());
  return weighted;
}
