//===- Edits.cpp - Ways to make a module smaller --------------------------===//

#include "Edits.h"

#include "hone/IR/Hone.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using hone::Edit;

/// Ops inside functions in reverse order: users before what they use, ops of a
/// region before its parent.
static std::vector<Operation *> listInnerOps(ModuleOp module) {
  std::vector<Operation *> ops;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != module && op->getParentOp() != module)
      ops.push_back(op);
  });
  std::reverse(ops.begin(), ops.end());
  return ops;
}

static std::vector<Edit> listFunctions(ModuleOp module) {
  std::vector<Edit> edits;
  for (Operation &op : *module.getBody())
    edits.push_back([&op] { op.erase(); });
  return edits;
}

/// What can stand for `result`: an operand of the op with its type, or zeros.
/// Null for types without a constant.
static Value findReplacement(OpResult result) {
  for (Value operand : result.getOwner()->getOperands())
    if (operand.getType() == result.getType())
      return operand;
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return {};
  OpBuilder builder(result.getOwner());
  auto zeros = cast<ElementsAttr>(builder.getZeroAttr(type));
  return builder.create<hone::ConstantOp>(result.getLoc(), type, zeros);
}

static void replaceOp(Operation *op) {
  for (OpResult result : op->getResults())
    if (!result.use_empty())
      if (Value replacement = findReplacement(result))
        result.replaceAllUsesWith(replacement);
  if (op->use_empty())
    op->erase();
}

/// Each op replaced by what it reads, or by zeros. Constants are left: to
/// replace them by others has no end.
static std::vector<Edit> listOps(ModuleOp module) {
  std::vector<Edit> edits;
  for (Operation *op : listInnerOps(module)) {
    bool isConstant = op->hasTrait<OpTrait::ConstantLike>();
    if (!op->hasTrait<OpTrait::IsTerminator>() && !isConstant)
      edits.push_back([op] { replaceOp(op); });
  }
  return edits;
}

/// Operands of ops that take any number of them; others are then invalid.
static std::vector<Edit> listOperands(ModuleOp module) {
  std::vector<Edit> edits;
  for (Operation *op : listInnerOps(module))
    if (!op->hasTrait<OpTrait::IsTerminator>())
      for (unsigned index = op->getNumOperands(); index-- > 0;)
        edits.push_back([op, index] { op->eraseOperand(index); });
  return edits;
}

static void eraseResult(func::FuncOp function, unsigned index) {
  function.walk([&](func::ReturnOp op) { op->eraseOperand(index); });
  function.eraseResult(index);
}

/// Results of functions, from the last one, so that indices stay.
static std::vector<Edit> listResults(ModuleOp module) {
  std::vector<Edit> edits;
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned index = function.getNumResults(); index-- > 0;)
      edits.push_back([function, index] { eraseResult(function, index); });
  return edits;
}

/// Arguments of functions that nothing reads, from the last one.
static std::vector<Edit> listArguments(ModuleOp module) {
  std::vector<Edit> edits;
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : llvm::reverse(function.getArguments()))
      if (argument.use_empty())
        edits.push_back([function, index = argument.getArgNumber()]() mutable {
          function.eraseArgument(index);
        });
  return edits;
}

/// Attributes that no op defines: those of the module, of functions, of their
/// arguments and results, and what passes leave on ops.
static std::vector<Edit> listAttributes(ModuleOp module) {
  std::vector<Edit> edits;
  module.walk([&](Operation *op) {
    for (NamedAttribute attribute : op->getDiscardableAttrs())
      edits.push_back([op, name = attribute.getName()] {
        op->removeDiscardableAttr(name);
      });
    auto function = dyn_cast<FunctionOpInterface>(op);
    if (!function)
      return;
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      for (NamedAttribute attribute : function.getArgAttrs(index))
        edits.push_back([=, name = attribute.getName()]() mutable {
          function.removeArgAttr(index, name);
        });
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      for (NamedAttribute attribute : function.getResultAttrs(index))
        edits.push_back([=, name = attribute.getName()]() mutable {
          function.removeResultAttr(index, name);
        });
  });
  return edits;
}

llvm::ArrayRef<hone::EditKind> hone::getEditKinds() {
  static constexpr EditKind kinds[] = {
      {"functions", listFunctions}, {"ops", listOps},
      {"operands", listOperands},   {"results", listResults},
      {"arguments", listArguments}, {"attributes", listAttributes}};
  return kinds;
}

void hone::eraseDeadOps(ModuleOp module) {
  for (Operation *op : listInnerOps(module))
    if (isOpTriviallyDead(op))
      op->erase();
}
