//===- CollectiveGroups.cpp - Collectives among groups --------------------===//

#include "hone/Analysis/Fusion/CollectiveGroups.h"

#include "hone/Sharding/IR/Dist.h"

using namespace mlir;
using namespace hone;

Operation *hone::collectiveIn(Operation *op) {
  auto group = dyn_cast_or_null<FusedOp>(op);
  if (!group || group.getFamily() != KernelFamily::collective)
    return nullptr;
  return &group.getBodyBlock().front();
}

bool hone::endsCollective(FusedOp group) {
  return isa_and_present<dist::WaitOp>(collectiveIn(group));
}

FusedOp hone::waitFor(FusedOp begin) {
  Operation *op = collectiveIn(begin);
  if (!dist::isAsync(op) || !begin->hasOneUse())
    return {};
  auto reader = dyn_cast<FusedOp>(*begin->user_begin());
  return reader && endsCollective(reader) ? reader : FusedOp();
}

int64_t hone::largestCollectiveResult(func::FuncOp func) {
  int64_t largest = 0;
  for (auto group : func.getOps<FusedOp>())
    if (collectiveIn(group))
      largest = std::max(largest, byteSize(group.getResult(0).getType()));
  return largest;
}
