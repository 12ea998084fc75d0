//===- VerifyGroups.cpp - Border check after fusion -----------------------===//

#include "hone/Analysis/Fusion/CollectiveGroups.h"
#include "hone/Analysis/Fusion/ContractionGroups.h"
#include "hone/Analysis/Fusion/RowSpace.h"
#include "hone/Analysis/Fusion/UpdateGroups.h"
#include "hone/Analysis/Layout/Views.h"
#include "hone/Sharding/IR/Dist.h"
#include "hone/Transforms/Passes.h"

namespace hone {
#define GEN_PASS_DEF_VERIFYGROUPS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// A group for a row kernel: one space, in which every result has an element
/// per point or per row, is the only one, or a sum.
static LogicalResult verifyRowSpace(FusedOp group, ArrayRef<Operation *> ops) {
  std::optional<RowSpace> space = RowSpace::of(group.getBodyBlock());
  if (!space)
    return group.emitOpError()
           << "has family " << stringifyKernelFamily(group.getFamily())
           << " but fits no row space";
  for (auto [index, value] :
       llvm::enumerate(group.getBodyBlock().getTerminator()->getOperands())) {
    Role role = space->role(value);
    if (role == Role::Col || role == Role::Cyclic)
      return group.emitOpError()
             << "yields value " << index
             << ", which every row would write, expected one that a single "
                "row makes";
  }
  return success();
}

/// Families whose kernels step over strides.
static bool takesStrides(FusedOp group) {
  return llvm::is_contained({KernelFamily::attention, KernelFamily::map,
                             KernelFamily::row, KernelFamily::rope,
                             KernelFamily::dataMovement, KernelFamily::line},
                            group.getFamily());
}

/// Whether kernels that write strided parts make `value`, possibly behind a
/// reshape.
static bool isMadeWithStrides(Value value) {
  if (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  auto group = value.getDefiningOp<FusedOp>();
  return group && takesStrides(group);
}

/// Whether only kernels that read strided parts read `value`, possibly behind
/// reshapes.
static bool isReadWithStrides(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *reader) {
    if (auto reshape = dyn_cast<ReshapeOp>(reader))
      return isReadWithStrides(reshape.getResult());
    auto group = dyn_cast<FusedOp>(reader);
    return group && takesStrides(group);
  });
}

/// Whether a group makes `value`, possibly behind a reshape.
static bool isMadeByGroup(Value value) {
  if (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  return value.getDefiningOp<FusedOp>() && value.hasOneUse();
}

/// Every group reads and writes a contiguous part.
static LogicalResult verifyView(Operation *op) {
  if (auto slice = dyn_cast<SliceOp>(op);
      slice && !isContiguous(slice) && !isReadWithStrides(slice.getResult()))
    return op->emitOpError("is in no group, but something that takes no "
                           "strides reads it");
  auto concat = dyn_cast<ConcatOp>(op);
  if (!concat)
    return success();
  if (!isContiguous(concat) &&
      !llvm::all_of(concat.getInputs(), isMadeWithStrides))
    return op->emitOpError("is in no group, but has an operand made by "
                           "something that takes no strides");
  if (!llvm::all_of(concat.getInputs(), isMadeByGroup))
    return op->emitOpError("is in no group, but has an operand that no group "
                           "makes for it alone");
  return success();
}

/// A contraction with an epilogue that the target's library has.
static LogicalResult verifyContraction(FusedOp group, ArrayRef<Operation *> ops,
                                       const TargetDescription &target) {
  std::optional<ContractionForm> form = ContractionForm::read(ops);
  if (!form)
    return group.emitOpError(
        "holds ops that no library call computes with a product");
  bool keepsInput = form->gelu && !form->gelu.getInput().hasOneUse();
  std::string why = form->whyNot(target, keepsInput);
  if (!why.empty())
    return group.emitOpError() << "is no call that the target has: " << why;
  return success();
}

/// Updates that one kernel can make.
static LogicalResult verifyUpdates(FusedOp group, ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    if (!isa<UpdateOpInterface>(op) || updateKey(op) != updateKey(ops.front()))
      return group.emitOpError("holds updates that differ in more than shapes");
  return success();
}

/// Whether `op` adds two vectors that the group reads.
static bool isVectorSumInGroup(Operation *op) {
  return isa<AddOp>(op) &&
         cast<RankedTensorType>(op->getResult(0).getType()).getRank() == 1 &&
         llvm::all_of(op->getOperands(), llvm::IsaPred<BlockArgument>);
}

static LogicalResult verifyGroup(FusedOp group,
                                 const TargetDescription &target) {
  SmallVector<Operation *> ops;
  for (Operation &op : group.getBodyBlock().without_terminator())
    ops.push_back(&op);
  switch (group.getFamily()) {
  case KernelFamily::map:
  case KernelFamily::row:
    return verifyRowSpace(group, ops);
  case KernelFamily::collective:
    if (ops.size() != 1)
      return group.emitOpError()
             << "holds " << ops.size() << " ops, expected the collective alone";
    if (dist::isAsync(ops.front()) && !waitFor(group))
      return group.emitOpError("only begins, expected one reader that waits "
                               "for it");
    return success();
  case KernelFamily::contraction:
  case KernelFamily::convolution:
  case KernelFamily::groupedContraction:
  case KernelFamily::line:
  case KernelFamily::rope:
  case KernelFamily::attention:
  case KernelFamily::gather:
  case KernelFamily::multiTensor: {
    if (isa<UpdateOpInterface>(ops.front()))
      return verifyUpdates(group, ops);
    if (group.getFamily() == KernelFamily::multiTensor &&
        llvm::all_of(ops, isVectorSumInGroup))
      return success();
    auto own = llvm::count_if(ops, [&](Operation *op) {
      return cast<HoneOpInterface>(op).getKernelFamily() == group.getFamily();
    });
    if (own != 1)
      return group.emitOpError()
             << "holds " << own << " ops of its family "
             << stringifyKernelFamily(group.getFamily()) << ", expected 1";
    return group.getFamily() == KernelFamily::contraction
               ? verifyContraction(group, ops, target)
               : success();
  }
  case KernelFamily::dataMovement:
  case KernelFamily::column:
  case KernelFamily::view:
    return success();
  }
  llvm_unreachable("unknown family");
}

namespace {
struct VerifyGroups : hone::impl::VerifyGroupsBase<VerifyGroups> {
  void runOnOperation() override {
    if (!getOperation().getBody().hasOneBlock()) {
      getOperation().emitError("has no body of one block");
      return signalPassFailure();
    }
    FailureOr<TargetDescription> target =
        getTarget(getOperation()->getParentOfType<ModuleOp>());
    if (failed(target))
      return signalPassFailure();
    for (Operation &op : getOperation().getBody().front()) {
      if (auto group = dyn_cast<FusedOp>(op)) {
        if (failed(verifyGroup(group, *target)))
          return signalPassFailure();
        continue;
      }
      if (!isStorageView(&op) && !isa<func::ReturnOp>(op)) {
        op.emitOpError("is in no group, expected a view or the return here");
        return signalPassFailure();
      }
      if (failed(verifyView(&op)))
        return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
