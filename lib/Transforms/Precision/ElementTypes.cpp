//===- ElementTypes.cpp - What the passes of mixed precision share --------===//

#include "ElementTypes.h"

using namespace mlir;
using namespace hone;

ArrayRef<PrecisionPolicy> hone::getPrecisionPolicies() {
  using Low = PrecisionPolicy::Low;
  static constexpr PrecisionPolicy policies[] = {
      {"fp32"},
      {"tf32"},
      {"bf16", Low::BF16},
      {"fp16", Low::F16, /*scalesLoss=*/true},
      {"bf16-sr", Low::BF16, /*scalesLoss=*/false, /*hasLowState=*/true},
      {"fp8", Low::BF16, false, false, Fp8Scaling::tensor},
      {"fp8-block", Low::BF16, false, false, Fp8Scaling::block},
      {"mxfp8", Low::BF16, false, false, Fp8Scaling::mx}};
  return policies;
}

const PrecisionPolicy *hone::findPrecisionPolicy(StringRef name) {
  for (const PrecisionPolicy &policy : getPrecisionPolicies())
    if (policy.name == name)
      return &policy;
  return nullptr;
}

std::string hone::listPrecisionPolicies() {
  std::string names;
  ArrayRef<PrecisionPolicy> policies = getPrecisionPolicies();
  for (const PrecisionPolicy &policy : policies.drop_back())
    names += (names.empty() ? "" : ", ") + policy.name.str();
  return names + " or " + policies.back().name.str();
}

FailureOr<FloatType> hone::lowTypeOf(StringRef name, MLIRContext *context) {
  const PrecisionPolicy *policy = findPrecisionPolicy(name);
  if (!policy)
    return failure();
  switch (policy->low) {
  case PrecisionPolicy::Low::None:
    return FloatType();
  case PrecisionPolicy::Low::BF16:
    return FloatType::getBF16(context);
  case PrecisionPolicy::Low::F16:
    return FloatType::getF16(context);
  }
  llvm_unreachable("unknown type");
}

StringRef hone::getPrecision(ModuleOp module) {
  auto policy = module->getAttrOfType<StringAttr>(attr::precision);
  return policy ? policy.getValue()
                : StringRef(getPrecisionPolicies().front().name);
}

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

bool hone::isMover(Operation *op) {
  auto facts = dyn_cast<HoneOpInterface>(op);
  if (!facts || isa<FusedOp>(op) || op->getNumOperands() != 1 ||
      op->getNumResults() != 1)
    return false;
  KernelFamily family = facts.getKernelFamily();
  bool moves = family == KernelFamily::view ||
               family == KernelFamily::dataMovement ||
               family == KernelFamily::map;
  return moves && facts.getNumericClass() == NumericClass::copy &&
         isFloat(op->getOperand(0)) &&
         getElementTypeOrSelf(op->getOperand(0)) ==
             getElementTypeOrSelf(op->getResult(0));
}

SmallVector<OpOperand *> hone::findTiedOperands(Operation *op) {
  SmallVector<OpOperand *> tied;
  auto facts = dyn_cast<HoneOpInterface>(op);
  for (OpOperand &operand : op->getOpOperands())
    if (facts && isFloat(operand.get()) &&
        !facts.hasOwnElementType(operand.getOperandNumber()))
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
