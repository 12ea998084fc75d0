//===- Autodiff.cpp - From @forward to @gradient and @evaluate ------------===//

#include "GradientPath.h"
#include "Transforms/Step/LossScaling.h"
#include "VjpRules.h"
#include "hone/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace hone {
#define GEN_PASS_DEF_AUTODIFF
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// A copy of `func` under another name, placed after `previous`.
static func::FuncOp cloneAs(func::FuncOp func, StringRef name,
                            Operation *previous) {
  func::FuncOp copy = func.clone();
  copy.setName(name);
  previous->getBlock()->getOperations().insertAfter(Block::iterator(previous),
                                                    copy.getOperation());
  return copy;
}

static void dropStopGradients(func::FuncOp func) {
  for (auto op :
       llvm::make_early_inc_range(func.front().getOps<StopGradientOp>())) {
    op.replaceAllUsesWith(op.getOperand());
    op.erase();
  }
}

/// Leaves of every select_mode what training reads, or else evaluation.
static void selectMode(func::FuncOp func, bool isTraining) {
  for (auto op :
       llvm::make_early_inc_range(func.front().getOps<SelectModeOp>())) {
    op.replaceAllUsesWith(isTraining ? op.getTraining() : op.getEvaluation());
    op.erase();
  }
}

static void eraseDead(func::FuncOp func) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(func.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// Appends the argument by which the cotangent of the loss is multiplied.
static Value addScale(func::FuncOp func, Value loss) {
  Builder b(func.getContext());
  NamedAttrList attrs;
  attrs.append(attr::kind, b.getStringAttr(kind::scalar));
  attrs.append(attr::fqn, b.getStringAttr(lossscaling::cotangent));
  unsigned index = func.getNumArguments();
  func.insertArgument(index, loss.getType(),
                      attrs.getDictionary(func.getContext()), loss.getLoc());
  return func.getArgument(index);
}

/// The values of a custom gradient are what comes after it reads.
static void dropCustomGradients(func::FuncOp func) {
  for (auto op :
       llvm::make_early_inc_range(func.front().getOps<CustomGradientOp>())) {
    op.replaceAllUsesWith(op.getValues());
    op.erase();
  }
}

/// Appends the walk backwards to `func`, a copy of the forward function, and
/// returns the gradients of the requested arguments besides the loss.
static LogicalResult differentiate(func::FuncOp func, double seed,
                                   bool isScaled) {
  Operation *end = func.front().getTerminator();
  Value loss = end->getOperand(0);
  DenseSet<Value> active = findTrainedValues(func);
  DenseSet<Value> reached = findOnPath(func, loss, active);
  if (reached.empty())
    return func.emitError("the loss depends on no parameter that requires a "
                          "gradient, expected at least one");

  SmallVector<Operation *> ops;
  for (Operation &op : func.front().without_terminator())
    ops.push_back(&op);

  OpBuilder builder(end);
  Location seedLoc = NameLoc::get(builder.getStringAttr("seed"), loss.getLoc());
  auto one = [&](Value like, double number) -> Value {
    auto type = cast<RankedTensorType>(like.getType());
    Attribute value = builder.getFloatAttr(type.getElementType(), number);
    return builder.create<ConstantOp>(seedLoc,
                                      DenseElementsAttr::get(type, value));
  };
  Cotangents cotangents(active);
  Value cotangent = one(loss, seed);
  if (isScaled)
    cotangent = builder.create<MulOp>(seedLoc, addScale(func, loss), cotangent);
  cotangents.add(builder, seedLoc, loss, cotangent);
  for (Operation *op : llvm::reverse(ops)) {
    bool needed = llvm::any_of(op->getResults(), [&](Value result) {
      return cotangents.lookup(result) != nullptr;
    });
    if (needed && failed(applyVjpRule(op, builder, cotangents)))
      return failure();
  }

  // The reached arguments get their gradient; the loss depends on no other.
  SmallVector<Value> results = {loss};
  SmallVector<Type> resultTypes = {loss.getType()};
  SmallVector<Attribute> resultAttrs = {func.getResultAttrDict(0)};
  for (BlockArgument arg : func.getArguments()) {
    unsigned index = arg.getArgNumber();
    if (!func.getArgAttr(index, attr::requiresGrad))
      continue;
    Value gradient = cotangents.lookup(arg);
    results.push_back(gradient ? gradient : one(arg, 0.0));
    resultTypes.push_back(arg.getType());
    NamedAttrList attrs;
    attrs.append(attr::kind, builder.getStringAttr(kind::grad));
    attrs.append(attr::fqn, func.getArgAttr(index, attr::fqn));
    if (Attribute parts = func.getArgAttr(index, attr::parts))
      attrs.append(attr::parts, parts);
    resultAttrs.push_back(attrs.getDictionary(func.getContext()));
  }
  // New values of buffers and checks of ids stay behind them.
  for (unsigned index = 1; index != func.getNumResults(); ++index) {
    results.push_back(end->getOperand(index));
    resultTypes.push_back(results.back().getType());
    resultAttrs.push_back(func.getResultAttrDict(index));
  }
  end->setOperands(results);
  func.setFunctionType(
      builder.getFunctionType(func.getArgumentTypes(), resultTypes));
  func.setAllResultAttrs(resultAttrs);
  return success();
}

/// A parameter that the loss does not reach has no gradient in PyTorch and is
/// left alone by its optimizers; here it no longer requires one.
static void freezeUnreached(func::FuncOp func) {
  DenseSet<Value> reached =
      findOnPath(func, func.front().getTerminator()->getOperand(0),
                 findTrainedValues(func));
  if (reached.empty())
    return;
  for (BlockArgument arg : func.getArguments()) {
    unsigned index = arg.getArgNumber();
    if (!func.getArgAttr(index, attr::requiresGrad) || reached.contains(arg))
      continue;
    func.emitWarning("no gradient of the loss reaches parameter '")
        << argString(func, index, attr::fqn) << "': it is not trained";
    func.removeArgAttr(index, attr::requiresGrad);
  }
}

/// Evaluation leaves buffers as they are.
static void dropBufferResults(func::FuncOp func) {
  llvm::BitVector dropped(func.getNumResults());
  for (unsigned index : findResults(func, kind::buffer))
    dropped.set(index);
  func.front().getTerminator()->eraseOperands(dropped);
  func.eraseResults(dropped);
}

/// Turns a copy of the forward function into the evaluation: dropout is the
/// identity, and the generator's key goes unless something else draws from it.
static void buildEvaluate(func::FuncOp func) {
  selectMode(func, /*isTraining=*/false);
  dropBufferResults(func);
  for (Operation &op : llvm::make_early_inc_range(func.front())) {
    if (auto dropout = dyn_cast<DropoutOp>(op)) {
      dropout.replaceAllUsesWith(dropout.getInput());
      dropout.erase();
    } else if (auto attention = dyn_cast<AttentionOp>(op)) {
      attention.getRandomMutable().clear();
      attention.setDropout(APFloat(0.0));
      attention.setSalt(0);
    }
  }
  dropStopGradients(func);
  dropCustomGradients(func);
  eraseDead(func);
  for (BlockArgument arg : llvm::reverse(func.getArguments()))
    if (argString(func, arg.getArgNumber(), attr::kind) == kind::rng &&
        arg.use_empty())
      func.eraseArgument(arg.getArgNumber());
}

namespace {
struct Autodiff : hone::impl::AutodiffBase<Autodiff> {
  using AutodiffBase::AutodiffBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    auto forward = module.lookupSymbol<func::FuncOp>("forward");
    if (!forward)
      return module.emitError("has no function @forward");
    for (StringRef name : {"gradient", "evaluate"})
      if (module.lookupSymbol(name))
        return module.emitError("has a function @")
               << name << " already, expected @forward alone";
    if (!forward.getBody().hasOneBlock() || !returnsOneLoss(forward))
      return forward.emitError(
          "is no function of one block that returns one loss");
    Value loss = forward.front().getTerminator()->getOperand(0);
    if (!isa<FloatType>(getElementTypeOrSelf(loss.getType())))
      return forward.emitError("returns a loss that is no floating-point "
                               "tensor, expected one");

    freezeUnreached(forward);
    func::FuncOp gradient = cloneAs(forward, "gradient", forward);
    selectMode(gradient, /*isTraining=*/true);
    if (failed(differentiate(gradient, seed, scaleLoss)))
      return failure();
    dropStopGradients(gradient);
    dropCustomGradients(gradient);
    eraseDead(gradient);
    gradient->setAttr(attr::seed, Builder(&getContext()).getF64FloatAttr(seed));
    buildEvaluate(cloneAs(forward, "evaluate", gradient));
    return success();
  }
};
} // namespace
