//===- SharedValues.cpp - What all micro-batches have in common -----------===//

#include "SharedValues.h"

#include "hone/Analysis/Layout/Views.h"
#include "hone/IR/Hone.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace hone;

static bool replacesBuffer(func::FuncOp func, StringRef name) {
  for (unsigned result = 0; result != func.getNumResults(); ++result)
    if (resultString(func, result, attr::kind) == kind::buffer &&
        resultString(func, result, attr::fqn) == name)
      return true;
  return false;
}

/// A buffer that no result replaces, also not of another chunk.
static bool isConstantBuffer(BlockArgument argument) {
  auto func = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  unsigned index = argument.getArgNumber();
  StringRef name = argString(func, index, attr::fqn);
  if (argString(func, index, attr::kind) != kind::buffer ||
      replacesBuffer(func, name))
    return false;
  auto module = func->getParentOfType<ModuleOp>();
  return !module ||
         llvm::none_of(module.getOps<func::FuncOp>(), [&](func::FuncOp other) {
           return replacesBuffer(other, name);
         });
}

static bool doesLittle(Operation *op) {
  auto group = dyn_cast<FusedOp>(op);
  return isViewOfOperand(op) ||
         (group && (group.getFamily() == KernelFamily::map ||
                    group.getFamily() == KernelFamily::dataMovement));
}

bool SharedValues::has(Value value) {
  if (auto known = found.find(value); known != found.end())
    return known->second;
  auto argument = dyn_cast<BlockArgument>(value);
  bool isShared =
      argument ? isConstantBuffer(argument)
               : doesLittle(value.getDefiningOp()) &&
                     llvm::all_of(value.getDefiningOp()->getOperands(),
                                  [&](Value operand) { return has(operand); });
  return found[value] = isShared;
}
