//===- VerifyGroups.cpp - Border check after fusion -----------------------===//

#include "hone/Analysis/RowSpace.h"
#include "hone/Transforms/Passes.h"

namespace hone {
#define GEN_PASS_DEF_VERIFYGROUPS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static LogicalResult verifyGroup(GroupOp group) {
  SmallVector<Operation *> ops;
  for (Operation &op : group.getBodyBlock().without_terminator())
    ops.push_back(&op);
  switch (group.getFamily()) {
  case KernelFamily::map:
    if (ops.size() == 1 && isa<RopeOp>(ops.front()))
      return success();
    [[fallthrough]];
  case KernelFamily::row:
    if (!RowSpace::find(ops))
      return group.emitOpError() << "has family "
                                 << stringifyKernelFamily(group.getFamily())
                                 << " but fits no row space";
    return success();
  case KernelFamily::contraction:
  case KernelFamily::attention:
  case KernelFamily::gather:
  case KernelFamily::multi: {
    auto own = llvm::count_if(ops, [&](Operation *op) {
      return cast<HoneOpInterface>(op).getKernelFamily() == group.getFamily();
    });
    if (own != 1)
      return group.emitOpError()
             << "holds " << own << " ops of its family "
             << stringifyKernelFamily(group.getFamily()) << ", expected 1";
    return success();
  }
  case KernelFamily::move:
  case KernelFamily::column:
  case KernelFamily::view:
    return success();
  }
  llvm_unreachable("unknown family");
}

namespace {
struct VerifyGroups : hone::impl::VerifyGroupsBase<VerifyGroups> {
  void runOnOperation() override {
    for (Operation &op : getOperation().getBody().front()) {
      if (auto group = dyn_cast<GroupOp>(op)) {
        if (failed(verifyGroup(group)))
          return signalPassFailure();
        continue;
      }
      if (!isa<ReshapeOp, SliceOp, ConcatOp, func::ReturnOp>(op)) {
        op.emitOpError("is in no group, expected a view or the return here");
        return signalPassFailure();
      }
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
