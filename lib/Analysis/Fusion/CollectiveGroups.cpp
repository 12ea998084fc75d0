//===- CollectiveGroups.cpp - Collectives among groups --------------------===//

#include "hone/Analysis/Fusion/CollectiveGroups.h"

#include "hone/Sharding/IR/Dist.h"

using namespace mlir;
using namespace hone;

Operation *hone::exchangeIn(Operation *op) {
  auto group = dyn_cast_or_null<GroupOp>(op);
  if (!group || group.getFamily() != KernelFamily::collective)
    return nullptr;
  return &group.getBodyBlock().front();
}

bool hone::endsCollective(GroupOp group) {
  return isa_and_present<dist::WaitOp>(exchangeIn(group));
}

GroupOp hone::waitFor(GroupOp begin) {
  Operation *op = exchangeIn(begin);
  if (!dist::isAsync(op) || !begin->hasOneUse())
    return {};
  auto reader = dyn_cast<GroupOp>(*begin->user_begin());
  return reader && endsCollective(reader) ? reader : GroupOp();
}
