//===- StagedParts.cpp - Kernels whose state lies in the second arena -----===//
//
// A kernel that is the first to read an argument of the second arena is a part.
// While a part runs, the state of the next one is copied up and that of the one
// before is copied down: three parts have memory at a time. State that kernels
// only read is not copied down, and has memory up to its last reader. The lives
// of the storages say so, and the packer needs to know nothing else.
//
//===----------------------------------------------------------------------===//

#include "FunctionPlanner.h"

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
  for (Operation *user : argument.getUsers()) {
    auto group = dyn_cast<FusedOp>(user);
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
      successor && successor.getDefiningOp() == first && argument.hasOneUse();
  if (areKernels && isReplaced == isWritten)
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
    arguments[*group].push_back(argument);
  }
  for (auto group : block.getOps<FusedOp>())
    if (auto found = arguments.find(group); found != arguments.end()) {
      partOf[group] = parts.size();
      parts.push_back({group, found->second, {}});
      for (BlockArgument argument : found->second)
        parts.back().results.push_back(successors.lookup(argument));
    }
  if (!parts.empty())
    copiesBegin = firstCopyUp();
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

void FunctionPlanner::emitWait(OpBuilder &builder, size_t part,
                               plan::Direction to) {
  if (to == plan::Direction::up || parts[part].copiesDown())
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
}
