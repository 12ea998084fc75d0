//===- GroupSlices.cpp - Parts of a kernel that make some results ---------===//

#include "hone/Analysis/Recompute/GroupSlices.h"

#include "hone/Analysis/Fusion/RowSpace.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace hone;

static Value yieldedBy(FusedOp group, unsigned result) {
  return group.getBodyBlock().getTerminator()->getOperand(result);
}

bool hone::isSliceable(FusedOp group) {
  bool isRow = group.getFamily() == KernelFamily::row ||
               group.getFamily() == KernelFamily::map;
  return isRow && group.getNumResults() > 1;
}

GroupSlice hone::wholeGroup(FusedOp group) {
  GroupSlice slice;
  slice.group = group;
  slice.family = group.getFamily();
  slice.needed.assign(llvm::seq<unsigned>(0, group.getNumResults()).begin(),
                      llvm::seq<unsigned>(0, group.getNumResults()).end());
  slice.inputs.assign(llvm::seq<unsigned>(0, group.getNumOperands()).begin(),
                      llvm::seq<unsigned>(0, group.getNumOperands()).end());
  for (Operation &op : group.getBodyBlock().without_terminator())
    slice.ops.push_back(&op);
  return slice;
}

/// Fills in the family of a slice of a row kernel; false when its ops are no
/// kernel of rows, or one that would write a result once per row.
static bool findFamily(GroupSlice &slice) {
  std::optional<RowSpace> space = RowSpace::find(slice.ops);
  if (!space)
    return false;
  for (unsigned result : slice.needed) {
    Role role = space->role(yieldedBy(slice.group, result));
    if (role == Role::Col || role == Role::Cyclic)
      return false;
  }
  slice.family = space->hasReduction() || space->hasPartialSums()
                     ? KernelFamily::row
                     : KernelFamily::map;
  return true;
}

std::optional<GroupSlice>
hone::sliceGroup(FusedOp group, ArrayRef<unsigned> needed,
                 function_ref<bool(unsigned)> isGiven) {
  if (needed.size() == group.getNumResults())
    return wholeGroup(group);
  if (!isSliceable(group))
    return std::nullopt;
  GroupSlice slice;
  slice.group = group;
  slice.needed.assign(needed.begin(), needed.end());
  llvm::sort(slice.needed);
  DenseMap<Value, unsigned> given;
  for (unsigned result = 0; result != group.getNumResults(); ++result)
    if (!llvm::is_contained(slice.needed, result) && isGiven(result))
      given.try_emplace(yieldedBy(group, result), result);

  llvm::SmallPtrSet<Operation *, 16> ops;
  llvm::SmallSetVector<unsigned, 4> inputs, read;
  SmallVector<Value> open;
  for (unsigned result : slice.needed)
    open.push_back(yieldedBy(group, result));
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      inputs.insert(argument.getArgNumber());
    } else if (auto found = given.find(value); found != given.end()) {
      read.insert(found->second);
    } else if (ops.insert(value.getDefiningOp()).second) {
      llvm::append_range(open, value.getDefiningOp()->getOperands());
    }
  }
  for (Operation &op : group.getBodyBlock().without_terminator())
    if (ops.contains(&op))
      slice.ops.push_back(&op);
  slice.inputs = inputs.takeVector();
  slice.given = read.takeVector();
  llvm::sort(slice.inputs);
  llvm::sort(slice.given);
  if (!findFamily(slice))
    return std::nullopt;
  return slice;
}

FusedOp hone::buildSlice(OpBuilder &builder, const GroupSlice &slice,
                         function_ref<Value(Value)> valueOf) {
  FusedOp group = slice.group;
  SmallVector<Value> inputs, inner; // and what stands for them in the body
  for (unsigned input : slice.inputs) {
    inputs.push_back(valueOf(group.getOperand(input)));
    inner.push_back(group.getBodyBlock().getArgument(input));
  }
  for (unsigned result : slice.given) {
    inputs.push_back(valueOf(group.getResult(result)));
    inner.push_back(yieldedBy(group, result));
  }
  SmallVector<Type> types;
  for (unsigned result : slice.needed)
    types.push_back(group.getResult(result).getType());
  auto made =
      builder.create<FusedOp>(group.getLoc(), types, slice.family, inputs);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&made.getBody());
  IRMapping mapping;
  for (auto [input, value] : llvm::zip_equal(inputs, inner))
    mapping.map(value, body->addArgument(input.getType(), input.getLoc()));
  for (Operation *op : slice.ops)
    builder.clone(*op, mapping);
  SmallVector<Value> yielded;
  for (unsigned result : slice.needed)
    yielded.push_back(mapping.lookup(yieldedBy(group, result)));
  builder.create<YieldOp>(group.getLoc(), yielded);
  return made;
}

bool hone::dropUnread(FusedOp &group) {
  SmallVector<unsigned> read;
  for (OpResult result : group->getResults())
    if (!result.use_empty())
      read.push_back(result.getResultNumber());
  if (read.empty()) {
    group.erase();
    return false;
  }
  auto slice = sliceGroup(group, read, [](unsigned) { return false; });
  if (!slice || read.size() == group.getNumResults())
    return true;
  OpBuilder builder(group);
  FusedOp smaller =
      buildSlice(builder, *slice, [](Value value) { return value; });
  smaller->setDiscardableAttrs(group->getDiscardableAttrDictionary());
  for (auto [result, made] : llvm::zip_equal(read, smaller.getResults()))
    group.getResult(result).replaceAllUsesWith(made);
  group.erase();
  group = smaller;
  return true;
}
