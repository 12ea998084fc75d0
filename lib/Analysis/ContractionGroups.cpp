//===- ContractionGroups.cpp - What a product computes besides ------------===//

#include "hone/Analysis/ContractionGroups.h"

#include "hone/Analysis/FusionGroups.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace hone;

/// The only op that reads `value`, or null.
static Operation *onlyReader(Value value) {
  return value.hasOneUse() ? *value.user_begin() : nullptr;
}

/// `other` operand of an addition that reads `value` once.
static Value otherOperand(AddOp add, Value value) {
  return add.getLhs() == value ? add.getRhs() : add.getLhs();
}

/// A vector along the last dimension of `type`, broadcast to it.
static bool isBiasOf(Value value, RankedTensorType type) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  return broadcast && broadcast.getDims().size() == 1 &&
         broadcast.getDims()[0] == type.getRank() - 1;
}

/// Whether the product's last dimension is exactly the free dimensions of rhs:
/// then a bias runs along columns of the library's matrix.
static bool hasColumnLastDim(DotGeneralOp dot) {
  return dot.getRhsFree().size() == 1;
}

// product (+ bias along the last dimension) (+ addend of the product's type)
SmallVector<ContractionGroup> hone::planContractions(Block &block) {
  SmallVector<ContractionGroup> groups;
  llvm::SmallPtrSet<Operation *, 32> taken;
  for (auto dot : block.getOps<DotGeneralOp>()) {
    SmallVector<Operation *> ops = {dot};
    Value value = dot.getResult();
    auto type = cast<RankedTensorType>(dot.getType());
    bool biased = false;
    while (auto add = dyn_cast_if_present<AddOp>(onlyReader(value))) {
      if (taken.contains(add) || add.getLhs() == add.getRhs())
        break;
      Value other = otherOperand(add, value);
      bool isBias = !biased && isBiasOf(other, type) && hasColumnLastDim(dot);
      if (isBias) {
        Operation *broadcast = other.getDefiningOp();
        if (!broadcast->hasOneUse() || taken.contains(broadcast))
          break;
        ops.push_back(broadcast);
        ops.push_back(add);
        value = add.getResult();
        biased = true;
        continue;
      }
      // The addend must exist before the product: a value that is computed
      // from other products is fine, since this one has a single reader.
      if (Operation *producer = other.getDefiningOp();
          producer && isFreeValue(producer))
        break;
      ops.push_back(add);
      value = add.getResult();
      break;
    }
    llvm::sort(
        ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    taken.insert(ops.begin(), ops.end());
    groups.push_back({dot, std::move(ops)});
  }
  return groups;
}
