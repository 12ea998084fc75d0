//===- LowGradients.cpp - Gradients of matrices in bf16 -------------------===//

#include "Transforms/Precision/ElementTypes.h"
#include "hone/Transforms/Passes.h"

namespace hone {
#define GEN_PASS_DEF_LOWGRADIENTS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static RankedTensorType narrowed(Type type) {
  return cast<RankedTensorType>(type).clone(
      FloatType::getBF16(type.getContext()));
}

/// Vectors are few bytes, and their gradients long sums.
static bool isWideMatrix(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() >= 2 && tensor.getElementType().isF32();
}

/// Norms and updates compute in f32, whatever they read; the caller of a step
/// takes what it is given.
static bool takesNarrow(OpOperand &use) {
  Operation *reader = use.getOwner();
  if (isa<func::ReturnOp>(reader))
    return true;
  auto facts = dyn_cast<HoneOpInterface>(reader);
  return facts && facts.getKernelFamily() == KernelFamily::multiTensor;
}

static Value castTo(OpBuilder &builder, Type type, Value value) {
  return builder.create<CastOp>(value.getLoc(), type, value);
}

/// Whether `value` can be written as bf16 where it is made, and nothing else
/// reads what it is made of: a product of bf16 or the gradient of a table,
/// which add up in f32, and moves and sums of such.
static bool canBeNarrow(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto dot = dyn_cast_or_null<DotGeneralOp>(op))
    return getElementTypeOrSelf(dot.getLhs()).isBF16();
  if (isa_and_present<EmbeddingBwdOp>(op))
    return true;
  bool passesOn = op && (isa<AddOp>(op) || isMover(op));
  return passesOn && llvm::all_of(op->getOperands(), [](Value operand) {
           return operand.hasOneUse() && canBeNarrow(operand);
         });
}

/// Makes `value`, which can be, bf16 where it is made.
static void makeNarrow(Value value) {
  Operation *op = value.getDefiningOp();
  value.setType(narrowed(value.getType()));
  if (auto scatter = dyn_cast<EmbeddingBwdOp>(op)) {
    // The rows that it adds have the type of the sum.
    OpBuilder builder(scatter);
    Value grad = scatter.getGrad();
    scatter.getGradMutable().assign(
        castTo(builder, narrowed(grad.getType()), grad));
  } else if (!isa<DotGeneralOp>(op)) {
    for (Value operand : op->getOperands())
      makeNarrow(operand);
  }
}

/// Gives `value`, the gradient of one micro-batch, type bf16 for its readers.
static void narrowValue(Value value) {
  if (llvm::all_of(value.getUses(), takesNarrow) && canBeNarrow(value))
    return makeNarrow(value);
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  Value narrow = castTo(builder, narrowed(value.getType()), value);
  // What is scaled for a dump is what the update has read.
  Value wide = castTo(builder, value.getType(), narrow);
  for (OpOperand &use : llvm::make_early_inc_range(value.getUses()))
    if (use.getOwner() != narrow.getDefiningOp())
      use.set(takesNarrow(use) ? narrow : wide);
  if (wide.use_empty())
    wide.getDefiningOp()->erase();
}

/// `sum` and the terms of `share`, one after the other: what makes a term adds
/// it to what came before.
static Value addTerms(OpBuilder &builder, Value sum, Value share) {
  auto add = share.getDefiningOp<AddOp>();
  if (!add)
    return builder.create<AddOp>(share.getLoc(), sum, share);
  Value first = add.getLhs(), second = add.getRhs();
  if (second.getDefiningOp()->isBeforeInBlock(first.getDefiningOp()))
    std::swap(first, second);
  return addTerms(builder, addTerms(builder, sum, first), second);
}

/// Makes `add`, of `sum`, which holds bf16 already, and of a share of f32, a
/// sum in bf16: by the ops that make the share, or rounded behind f32.
static void narrowSum(BlockArgument sum, AddOp add) {
  OpOperand &own = add->getOpOperand(add.getLhs() == sum ? 0 : 1);
  Value share = add->getOperand(1 - own.getOperandNumber());
  OpBuilder builder(add);
  if (share.hasOneUse() && canBeNarrow(share)) {
    makeNarrow(share);
    add.getResult().replaceAllUsesWith(addTerms(builder, sum, share));
    return add.erase();
  }
  own.set(castTo(builder, add.getType(), sum));
  builder.setInsertionPointAfter(add);
  Value narrow = castTo(builder, sum.getType(), add);
  add.getResult().replaceAllUsesExcept(narrow, narrow.getDefiningOp());
}

/// Gradients that a function is handed: sums that @accumulate adds to, and that
/// @update reads.
static void narrowArguments(func::FuncOp func) {
  for (BlockArgument arg : func.getArguments()) {
    if (argString(func, arg.getArgNumber(), attr::kind) != kind::grad ||
        !isWideMatrix(arg.getType()))
      continue;
    arg.setType(narrowed(arg.getType()));
    for (Operation *reader : llvm::make_early_inc_range(arg.getUsers()))
      if (auto add = dyn_cast<AddOp>(reader))
        narrowSum(arg, add);
  }
}

/// Gradients that the updates of a whole step read.
static void narrowOperands(func::FuncOp func) {
  SmallVector<Value> gradients;
  for (Operation &op : func.front())
    if (isa<UpdateOpInterface>(op) && isWideMatrix(op.getOperand(1).getType()))
      gradients.push_back(op.getOperand(1));
  for (Value gradient : gradients)
    if (isWideMatrix(gradient.getType())) // two updates may read one
      narrowValue(gradient);
}

namespace {
struct LowGradients : hone::impl::LowGradientsBase<LowGradients> {
  using LowGradientsBase::LowGradientsBase;

  void runOnOperation() override {
    if (failed(verify()))
      return signalPassFailure();
    for (StringRef name : {"step", "accumulate", "update"}) {
      auto func = getOperation().lookupSymbol<func::FuncOp>(name);
      if (!func || type == "f32")
        continue;
      narrowArguments(func);
      narrowOperands(func);
      func.setFunctionType(
          FunctionType::get(&getContext(), func.front().getArgumentTypes(),
                            func.front().getTerminator()->getOperandTypes()));
    }
  }

  LogicalResult verify() {
    ModuleOp module = getOperation();
    if (type == "f32")
      return success();
    if (type != "bf16")
      return module.emitError("type of gradients is '")
             << type << "', expected f32 or bf16";
    StringRef precision = getPrecision(module);
    const PrecisionPolicy *policy = findPrecisionPolicy(precision);
    if (!policy || policy->low == PrecisionPolicy::Low::None)
      return module.emitError("type of gradients is bf16, and hone.precision "
                              "is '")
             << precision << "', whose products write f32; expected "
             << "--precision=bf16, fp16, bf16-sr or one of fp8 with it";
    if (isMeshInvariant(module))
      return module.emitError("type of gradients is bf16, whose sums round as "
                              "often as there are ranks; expected "
                              "--gradients=f32 with --exact");
    return success();
  }
};
} // namespace
