//===- StagedParts.cpp - Kernels whose state lies in the second arena -----===//
//
// A kernel that is the first to read an argument of the second arena is a part.
// While a part runs, the state of the next one is copied up and that of the one
// before is copied down: three parts have memory at a time. State that kernels
// only read is not copied down, and has memory up to its last reader. State
// that kernels only write is copied down with the part that the kernel is or
// follows. The lives of the storages say so, and the packer needs to know
// nothing else.
//
//===----------------------------------------------------------------------===//

#include "FunctionPlanner.h"
#include "MovedValues.h"

#include "hone/Analysis/Cost/HostLink.h"
#include "hone/Analysis/Cost/KernelCost.h"

using namespace mlir;
using namespace hone;

/// The kernel that reads `argument` of the second arena first, where one kernel
/// reads it and writes `successor` over it, or where kernels only read it.
FailureOr<FusedOp> FunctionPlanner::firstReader(BlockArgument argument,
                                                Value successor) {
  FusedOp first;
  bool areKernels = true;
  int64_t readers = 0;
  for (Operation *user : argument.getUsers()) {
    auto group = dyn_cast<FusedOp>(user);
    if (group && isReload(group))
      continue;
    ++readers;
    areKernels &= bool(group);
    if (group && (!first || group->isBeforeInBlock(first)))
      first = group;
  }
  unsigned index = argument.getArgNumber();
  bool isReplaced = llvm::any_of(
      func.front().getTerminator()->getOpOperands(), [&](OpOperand &operand) {
        auto donor = func.getResultAttrOfType<IntegerAttr>(
            operand.getOperandNumber(), attr::donates);
        return donor && donor.getInt() == index;
      });
  bool isWritten =
      successor && successor.getDefiningOp() == first && readers == 1;
  if (areKernels && (isReplaced == isWritten || readers == 0))
    return first;
  return func.emitError()
         << "argument " << index << " ('" << argString(func, index, attr::fqn)
         << "') lies in the second arena, expected one kernel that reads "
            "it and writes its new value over it, or kernels that read it";
}

/// Finds the parts, in the order of their kernels.
LogicalResult FunctionPlanner::planStages() {
  DenseMap<Value, Value> successors;
  for (auto &[result, argument] : takesOver)
    if (llvm::is_contained(argument.getUsers(), result.getDefiningOp()))
      successors[argument] = result;
  llvm::DenseMap<Operation *, SmallVector<BlockArgument>> arguments;
  for (BlockArgument argument : block.getArguments()) {
    if (!stateOf(argument).isOnHost() || argument.use_empty())
      continue;
    FailureOr<FusedOp> group =
        firstReader(argument, successors.lookup(argument));
    if (failed(group))
      return failure();
    if (*group)
      arguments[*group].push_back(argument);
  }
  if (failed(findMade()))
    return failure();
  for (auto group : block.getOps<FusedOp>()) {
    auto found = arguments.find(group);
    auto makes = made.find(group);
    if (found != arguments.end() || (makes != made.end() && parts.empty())) {
      partOf[group] = parts.size();
      parts.push_back({group, arguments.lookup(group), {}, {}});
      for (BlockArgument argument : parts.back().arguments)
        parts.back().results.push_back(successors.lookup(argument));
    }
    if (makes != made.end()) {
      partOfMade[group] = parts.size() - 1;
      llvm::append_range(parts.back().made, makes->second);
    }
  }
  if (!parts.empty())
    copiesBegin = firstCopyUp();
  return success();
}

/// Finds the state of the second arena that kernels write and do not read.
LogicalResult FunctionPlanner::findMade() {
  for (OpOperand &operand : block.getTerminator()->getOpOperands()) {
    auto donor = func.getResultAttrOfType<IntegerAttr>(
        operand.getOperandNumber(), attr::donates);
    if (!donor)
      continue;
    BlockArgument argument = block.getArgument(donor.getInt());
    Value result = operand.get();
    bool isRead = llvm::any_of(argument.getUsers(),
                               [](Operation *user) { return !isReload(user); });
    if (!stateOf(argument).isOnHost() || isRead)
      continue;
    if (takesOver.lookup(result) != argument || !result.hasOneUse())
      return func.emitError()
             << "argument " << donor.getInt() << " ('"
             << argString(func, donor.getInt(), attr::fqn)
             << "') lies in the second arena, expected one kernel that makes "
                "its new value, which no other reads";
    made[result.getDefiningOp()].push_back({result, argument});
  }
  return success();
}

/// The op before which the copies of the first part begin: so early that they
/// are done when it runs, and no earlier, as they need memory.
Operation *FunctionPlanner::firstCopyUp() const {
  int64_t bytes = 0;
  for (BlockArgument argument : parts.front().arguments)
    bytes += byteSize(argument.getType());
  double needed = secondsUp(hostLinkOf(target), bytes);
  Operation *op = parts.front().group;
  while (needed > 0 && op->getPrevNode()) {
    op = op->getPrevNode();
    if (auto group = dyn_cast<FusedOp>(op))
      needed -= kernelSeconds(group, target);
  }
  return op;
}

/// Gives the storages of the parts their lives: from where copies up begin to
/// where copies down are waited for, or to the last reader. Other arguments of
/// the second arena have no memory in this function.
void FunctionPlanner::findStageLives() {
  for (Storage &storage : storages)
    if (storage.isStaged)
      storage.first = -1;
  for (auto [index, part] : llvm::enumerate(parts)) {
    int64_t first =
        position[index == 0 ? copiesBegin
                            : parts[index - 1].group.getOperation()];
    int64_t downEnd =
        index + 2 < parts.size() ? position[parts[index + 2].group] - 1 : end;
    for (const MadeState &state : part.made) {
      Storage &storage = storages[places[state.argument].storage];
      storage.first = position[state.result.getDefiningOp()];
      storage.last = downEnd;
      for (auto &[value, argument] : takesOver) // what it is made from in place
        if (argument == state.argument)
          storage.first =
              std::min(storage.first, position[value.getDefiningOp()]);
    }
    for (auto [argument, result] : llvm::zip(part.arguments, part.results)) {
      Storage &storage = storages[places[argument].storage];
      storage.first = first;
      storage.last = downEnd;
      if (result)
        continue;
      storage.last = first;
      for (Operation *user : argument.getUsers())
        storage.last = std::max(storage.last, position[user]);
    }
  }
}

/// The token of the copies of a part in one direction.
static int64_t tokenOf(size_t part, plan::Direction to) {
  return 2 * int64_t(part) + (to == plan::Direction::down);
}

void FunctionPlanner::emitCopies(OpBuilder &builder, size_t part,
                                 plan::Direction to) {
  const StagedPart &staged = parts[part];
  for (auto [argument, result] : llvm::zip(staged.arguments, staged.results)) {
    Value copied = to == plan::Direction::up ? Value(argument) : result;
    if (!copied)
      continue;
    builder.create<plan::CopyOp>(FusedOp(staged.group).getLoc(), to,
                                 bufferFor(builder, copied),
                                 stateOf(argument).offset, tokenOf(part, to));
  }
}

void FunctionPlanner::emitCopyDown(OpBuilder &builder, const MadeState &state,
                                   size_t part) {
  builder.create<plan::CopyOp>(state.result.getLoc(), plan::Direction::down,
                               bufferFor(builder, state.result),
                               stateOf(state.argument).offset,
                               tokenOf(part, plan::Direction::down));
}

void FunctionPlanner::emitWait(OpBuilder &builder, size_t part,
                               plan::Direction to) {
  const StagedPart &staged = parts[part];
  if (to == plan::Direction::up ? !staged.arguments.empty()
                                : staged.copiesDown())
    builder.create<plan::WaitOp>(parts[part].group.getLoc(), tokenOf(part, to));
}

/// What comes before an op: the memory of the part before the last is waited
/// for, the next part is copied up into such, and what the op reads is there.
void FunctionPlanner::emitBefore(OpBuilder &builder, Operation *op) {
  emitMovesBefore(builder, op);
  if (op == copiesBegin)
    emitCopies(builder, 0, plan::Direction::up);
  if (op == block.getTerminator())
    for (size_t part = parts.size() - std::min<size_t>(parts.size(), 2);
         part != parts.size(); ++part)
      emitWait(builder, part, plan::Direction::down);
  auto found = partOf.find(op);
  if (found == partOf.end())
    return;
  size_t part = found->second;
  if (part >= 2)
    emitWait(builder, part - 2, plan::Direction::down);
  if (part + 1 < parts.size())
    emitCopies(builder, part + 1, plan::Direction::up);
  emitWait(builder, part, plan::Direction::up);
}

void FunctionPlanner::emitAfter(OpBuilder &builder, Operation *op) {
  emitMovesAfter(builder, op);
  if (auto found = partOf.find(op); found != partOf.end())
    emitCopies(builder, found->second, plan::Direction::down);
  for (const MadeState &state : made.lookup(op))
    emitCopyDown(builder, state, partOfMade.lookup(op));
}
