//===- ForwardPart.cpp - What the loss of a step is made from -------------===//

#include "hone/Analysis/Recompute/ForwardPart.h"

#include "hone/Analysis/Layout/Views.h"

using namespace mlir;
using namespace hone;

ForwardPart::ForwardPart(func::FuncOp func) : ops(forwardOps(func)) {}

bool ForwardPart::isReadAfter(Value value) const {
  if (!contains(value.getDefiningOp()))
    return false;
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (user->hasTrait<OpTrait::IsTerminator>())
      return false;
    if (!contains(user))
      return true;
    return isStorageView(user) && isReadAfter(user->getResult(0));
  });
}
