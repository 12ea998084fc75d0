//===- ExpandWeights.cpp - Frozen weights expanded where they are read ----===//

#include "hone/IR/Hone.h"
#include "hone/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace hone {
#define GEN_PASS_DEF_EXPANDWEIGHTS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// Whether `value` is a parameter that no step changes.
static bool isFrozen(func::FuncOp func, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &func.front())
    return false;
  unsigned index = argument.getArgNumber();
  return argString(func, index, attr::kind) == kind::param &&
         !func.getArgAttr(index, attr::requiresGrad);
}

/// Whether `op` makes a wide weight from a stored one.
static bool isExpansion(func::FuncOp func, Operation *op) {
  if (isa<DequantizeOp>(op))
    return true;
  auto cast = dyn_cast<CastOp>(op);
  if (!cast || !isFrozen(func, cast.getOperand()))
    return false;
  auto from = dyn_cast<FloatType>(getElementTypeOrSelf(cast.getOperand()));
  auto to = dyn_cast<FloatType>(getElementTypeOrSelf(cast.getResult()));
  return from && to && from.getWidth() < to.getWidth();
}

/// Looks rows up in the narrow table: table widened, then picked, becomes
/// picked, then widened.
static void widenRows(CastOp widening) {
  for (OpOperand &use : llvm::make_early_inc_range(widening->getUses())) {
    auto embedding = dyn_cast<EmbeddingOp>(use.getOwner());
    if (!embedding || use.getOperandNumber() != 0)
      continue;
    OpBuilder builder(embedding);
    auto wide = cast<RankedTensorType>(embedding.getType());
    auto rows = builder.create<EmbeddingOp>(
        embedding.getLoc(),
        wide.clone(getElementTypeOrSelf(widening.getOperand())),
        widening.getOperand(), embedding.getIds());
    Value widened = builder.create<CastOp>(embedding.getLoc(), wide, rows);
    embedding.getResult().replaceAllUsesWith(widened);
    embedding.erase();
  }
}

/// Whether `op` only moves the elements of its one operand.
static bool isMove(Operation *op) {
  auto facts = dyn_cast<HoneOpInterface>(op);
  if (!facts || op->getNumOperands() != 1 || op->getNumResults() != 1)
    return false;
  KernelFamily family = facts.getKernelFamily();
  return (family == KernelFamily::view ||
          family == KernelFamily::dataMovement) &&
         facts.getNumericClass() == NumericClass::copy;
}

namespace {
/// The expansions of a function, and what only moves them.
class Expansion {
public:
  explicit Expansion(func::FuncOp func) : func(func) {}
  void run();

private:
  void find();
  void give(Operation *reader);

  func::FuncOp func;
  /// In program order: each op behind those whose results it reads.
  llvm::SetVector<Operation *> expanded;
};
} // namespace

void Expansion::find() {
  for (Operation &op : func.front().without_terminator())
    if (isExpansion(func, &op) ||
        (isMove(&op) && expanded.contains(op.getOperand(0).getDefiningOp())))
      expanded.insert(&op);
}

/// Clones what `reader` reads of expanded weights to where it stands.
void Expansion::give(Operation *reader) {
  OpBuilder builder(reader);
  IRMapping mapping;
  auto clone = [&](auto &self, Value value) -> Value {
    Operation *op = value.getDefiningOp();
    if (!op || !expanded.contains(op))
      return value;
    if (Value known = mapping.lookupOrNull(value))
      return known;
    for (Value operand : op->getOperands())
      self(self, operand);
    Operation *copy = builder.clone(*op, mapping);
    copy->setAttr(attr::clone, builder.getUnitAttr());
    return copy->getResult(0);
  };
  for (OpOperand &operand : reader->getOpOperands())
    operand.set(clone(clone, operand.get()));
}

void Expansion::run() {
  SmallVector<CastOp> casts;
  for (auto cast : func.front().getOps<CastOp>())
    if (isExpansion(func, cast))
      casts.push_back(cast);
  for (CastOp cast : casts)
    widenRows(cast);
  find();
  SmallVector<Operation *> readers;
  for (Operation &op : func.front())
    if (!expanded.contains(&op) &&
        llvm::any_of(op.getOperands(), [&](Value operand) {
          Operation *producer = operand.getDefiningOp();
          return producer && expanded.contains(producer);
        }))
      readers.push_back(&op);
  for (Operation *reader : readers)
    give(reader);
  for (Operation *op : llvm::reverse(expanded))
    if (op->use_empty())
      op->erase();
}

namespace {
struct ExpandWeights : hone::impl::ExpandWeightsBase<ExpandWeights> {
  void runOnOperation() override {
    if (!getOperation().isExternal() && getOperation().getBody().hasOneBlock())
      Expansion(getOperation()).run();
  }
};
} // namespace
