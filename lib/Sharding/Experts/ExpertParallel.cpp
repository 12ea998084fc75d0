//===- ExpertParallel.cpp - Experts that an axis divides ------------------===//

#include "ExpertParallel.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

FailureOr<llvm::StringSet<>> dist::findExperts(func::FuncOp func,
                                               StringAttr axis) {
  llvm::StringSet<> names;
  for (auto op : func.getOps<BlockGroupedDotOp>()) {
    Value weight = op.getWeight();
    while (auto cast = weight.getDefiningOp<CastOp>())
      weight = cast.getOperand();
    auto arg = dyn_cast<BlockArgument>(weight);
    if (!arg)
      return op.emitError("has a weight that is computed, expected a "
                          "parameter, which axis ")
             << axis << " divides";
    names.insert(
        func.getArgAttrOfType<StringAttr>(arg.getArgNumber(), attr::fqn)
            .getValue());
  }
  if (names.empty())
    return func.emitError("has no experts (dist-block-experts), expected some "
                          "that axis ")
           << axis << " divides";
  return names;
}

namespace {
class BlockDivider {
public:
  BlockDivider(MLIRContext *context, ArrayRef<StringAttr> blockAxes,
               ArrayRef<StringAttr> groupAxes)
      : context(context), rows{dimOf(groupAxes), dimOf(blockAxes)} {
    SmallVector<StringAttr> all(blockAxes);
    llvm::append_range(all, groupAxes);
    tokens = {dimOf(all)};
    sent = {dimOf({}), dimOf(all)};
  }

  void divide(BlockEmbeddingOp op);
  void divide(BlockEmbeddingBwdOp op);
  void divide(BlockExchangeOp op);

private:
  DimAttr dimOf(ArrayRef<StringAttr> axes) {
    return DimAttr::get(context, axes, {}, /*isOpen=*/false, /*priority=*/0);
  }
  static int64_t rankOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getRank();
  }
  static bool isOfGroup(Value table) { return rankOf(table) == 4; }
  ArrayRef<DimAttr> ofTable(Value table) const {
    return isOfGroup(table) ? ArrayRef(rows) : tokens;
  }
  ConstrainOp constrained(Value value, ArrayRef<DimAttr> leading);
  void constrainOperand(OpOperand &operand, ArrayRef<DimAttr> dims) {
    operand.set(constrained(operand.get(), dims));
  }
  void constrainResult(Value result, ArrayRef<DimAttr> dims) {
    ConstrainOp op = constrained(result, dims);
    result.replaceAllUsesExcept(op, op);
  }

  MLIRContext *context;
  /// Of leading dimensions. `sent` are rows on the side of tokens.
  SmallVector<DimAttr> rows, tokens, sent;
};
} // namespace

ConstrainOp BlockDivider::constrained(Value value, ArrayRef<DimAttr> leading) {
  SmallVector<DimAttr> dims(leading);
  dims.resize(rankOf(value), dimOf({}));
  OpBuilder builder(context);
  builder.setInsertionPointAfterValue(value);
  return builder.create<ConstrainOp>(
      value.getLoc(), value,
      ShardingAttr::get(context, dims, {}, ReduceKind::sum));
}

/// Between the results of a group and their sum, forward or backward.
static bool isMoved(Operation *op) {
  return isa_and_present<SelectOp, CastOp, ReshapeOp>(op);
}

/// The sum over groups has the blocks of tables in dimension 1: what it adds is
/// divided by groups there too.
void BlockDivider::divide(BlockEmbeddingOp op) {
  SmallVector<Operation *> users(op.getResult().getUsers());
  for (Operation *user : users) {
    while (isMoved(user) && user->hasOneUse())
      user = *user->user_begin();
    if (auto sum = dyn_cast<ReduceOp>(user); sum && isOfGroup(op.getTable()))
      constrainOperand(sum.getOperandMutable(), rows);
  }
  constrainOperand(op.getTableMutable(), ofTable(op.getTable()));
  constrainResult(op.getResult(), rows);
}

/// So are the copies of its gradient for each group.
void BlockDivider::divide(BlockEmbeddingBwdOp op) {
  Operation *made = op.getGrad().getDefiningOp();
  while (isMoved(made))
    made = made->getOperand(isa<SelectOp>(made) ? 1 : 0).getDefiningOp();
  if (auto copies = dyn_cast_or_null<BroadcastOp>(made);
      copies && isOfGroup(op.getResult()))
    constrainResult(copies.getResult(), rows);
  constrainOperand(op.getGradMutable(), rows);
  constrainResult(op.getResult(), ofTable(op.getResult()));
}

/// What an all-to-all is of: blocks on one side, groups on the other.
void BlockDivider::divide(BlockExchangeOp op) {
  bool isReverse = op.getReverse();
  constrainOperand(op.getOperandMutable(), isReverse ? rows : sent);
  constrainResult(op.getResult(), isReverse ? sent : rows);
}

void dist::divideBlocks(func::FuncOp func, ArrayRef<StringAttr> blockAxes,
                        ArrayRef<StringAttr> groupAxes) {
  BlockDivider divider(func.getContext(), blockAxes, groupAxes);
  func.walk([&](BlockEmbeddingOp op) { divider.divide(op); });
  func.walk([&](BlockEmbeddingBwdOp op) { divider.divide(op); });
  func.walk([&](BlockExchangeOp op) { divider.divide(op); });
}
