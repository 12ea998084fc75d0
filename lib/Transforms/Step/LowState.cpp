//===- LowState.cpp - Parameters and moments in bf16 alone ----------------===//

#include "Transforms/Precision/ElementTypes.h"
#include "Transforms/Step/OptimizerSettings.h"
#include "hone/Transforms/Passes.h"

namespace hone {
#define GEN_PASS_DEF_LOWSTATE
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static Type narrowed(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.clone(FloatType::getBF16(type.getContext()));
}

/// Moves a widening cast behind its reader where that only moves or picks rows,
/// so that no table is widened as a whole.
static void sinkWidening(CastOp widening) {
  for (OpOperand &use : llvm::make_early_inc_range(widening->getUses())) {
    Operation *reader = use.getOwner();
    bool picks = isMover(reader) ||
                 (isa<EmbeddingOp>(reader) && use.getOperandNumber() == 0);
    if (!picks)
      continue;
    OpBuilder builder(reader);
    Operation *copy = builder.clone(*reader);
    copy->setOperand(use.getOperandNumber(), widening.getOperand());
    Value moved = copy->getResult(0);
    moved.setType(narrowed(moved.getType()));
    auto after = builder.create<CastOp>(reader->getLoc(),
                                        reader->getResult(0).getType(), moved);
    reader->replaceAllUsesWith(after);
    reader->erase();
    sinkWidening(after);
  }
}

/// Gives the argument type bf16; readers besides updates widen it.
static void narrowArgument(BlockArgument arg) {
  Type wide = arg.getType();
  arg.setType(narrowed(wide));
  auto isReader = [](OpOperand &use) {
    return !isa<UpdateOpInterface>(use.getOwner()) &&
           !isa<func::ReturnOp>(use.getOwner());
  };
  if (llvm::none_of(arg.getUses(), isReader))
    return;
  OpBuilder builder(arg.getContext());
  builder.setInsertionPointToStart(arg.getOwner());
  auto widening = builder.create<CastOp>(arg.getLoc(), wide, arg);
  arg.replaceUsesWithIf(widening, [&](OpOperand &use) {
    return use.getOwner() != widening && isReader(use);
  });
  sinkWidening(widening);
}

/// The generator's key of `func`, added where it has none.
static Value findKey(func::FuncOp func) {
  for (BlockArgument arg : func.getArguments())
    if (argString(func, arg.getArgNumber(), attr::kind) == kind::rng)
      return arg;
  Builder b(func.getContext());
  NamedAttrList attrs;
  attrs.append(attr::kind, b.getStringAttr(kind::rng));
  attrs.append(attr::fqn, b.getStringAttr("rng"));
  unsigned index = func.getNumArguments();
  func.insertArgument(index, RankedTensorType::get({3}, b.getI64Type()),
                      attrs.getDictionary(func.getContext()), func.getLoc());
  return func.getArgument(index);
}

/// Lets the updates in `func` write bf16, rounded at random.
static LogicalResult roundUpdates(func::FuncOp func) {
  int64_t salt = firstUpdateSalt;
  for (Operation &op : func.front()) {
    if (!isa<UpdateOpInterface>(op))
      continue;
    auto update = dyn_cast<StochasticUpdateOpInterface>(op);
    if (!update)
      return op.emitOpError("rounds to nearest only, expected an update that "
                            "can round its state in bf16 at random");
    update.getRngMutable().assign(findKey(func));
    update.setSalt(salt++);
    for (AliasPair pair : cast<HoneOpInterface>(op).getReusableOperands())
      op.getResult(pair.result).setType(op.getOperand(pair.operand).getType());
  }
  return success();
}

/// Parameters and their moments, which are named `<moment>.<parameter>`; other
/// state of the optimizer is exact.
static bool isLowState(func::FuncOp func, BlockArgument arg) {
  StringRef kind = argString(func, arg.getArgNumber(), attr::kind);
  auto type = cast<RankedTensorType>(arg.getType());
  bool isMoment = kind == kind::opt &&
                  argString(func, arg.getArgNumber(), attr::fqn).contains('.');
  return (kind == kind::param || isMoment) && type.getElementType().isF32();
}

namespace {
struct LowState : hone::impl::LowStateBase<LowState> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (StringRef name :
         {"step", "accumulate", "update", "evaluate", "generate"}) {
      auto func = module.lookupSymbol<func::FuncOp>(name);
      if (!func)
        continue;
      for (BlockArgument arg : func.getArguments())
        if (isLowState(func, arg))
          narrowArgument(arg);
      if (failed(roundUpdates(func)))
        return signalPassFailure();
      func.setFunctionType(
          FunctionType::get(&getContext(), func.front().getArgumentTypes(),
                            func.front().getTerminator()->getOperandTypes()));
    }
  }
};
} // namespace
