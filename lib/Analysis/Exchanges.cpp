//===- Exchanges.cpp - Collectives among groups ---------------------------===//

#include "hone/Analysis/Exchanges.h"

#include "hone/Dist/Dist.h"

using namespace mlir;
using namespace hone;

Operation *hone::exchangeIn(Operation *op) {
  auto group = dyn_cast_or_null<GroupOp>(op);
  if (!group || group.getFamily() != KernelFamily::collective)
    return nullptr;
  return &group.getBodyBlock().front();
}

GroupOp hone::waitFor(GroupOp begin) {
  Operation *op = exchangeIn(begin);
  if (!op || !op->hasAttr(dist::asyncAttr))
    return {};
  return cast<GroupOp>(*begin->user_begin());
}
