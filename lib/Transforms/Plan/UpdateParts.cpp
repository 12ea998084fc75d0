//===- UpdateParts.cpp - Kernels that update state of the second arena ----===//

#include "UpdateParts.h"

#include "hone/Analysis/Layout/Views.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace hone;

/// A kernel that computes `ops` of `group`, which has no other ops between them
/// and its operands.
static void makePart(OpBuilder &builder, FusedOp group,
                     ArrayRef<Operation *> ops) {
  Block &body = group.getBodyBlock();
  llvm::SmallDenseSet<Operation *> own(ops.begin(), ops.end());
  SmallVector<OpResult> results; // of the group
  for (OpResult result : group->getResults()) {
    Value inside = body.getTerminator()->getOperand(result.getResultNumber());
    if (own.contains(inside.getDefiningOp()))
      results.push_back(result);
  }
  llvm::SmallSetVector<unsigned, 16> read;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand))
        read.insert(argument.getArgNumber());
  SmallVector<Value> inputs;
  for (unsigned index : read)
    inputs.push_back(group.getInputs()[index]);
  SmallVector<Type> types;
  for (OpResult result : results)
    types.push_back(result.getType());
  auto part =
      builder.create<FusedOp>(group.getLoc(), types, group.getFamily(), inputs);
  part->setDiscardableAttrs(group->getDiscardableAttrDictionary());
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&part.getBody());
  IRMapping mapping;
  for (unsigned index : read)
    mapping.map(
        body.getArgument(index),
        block->addArgument(group.getInputs()[index].getType(), group.getLoc()));
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  SmallVector<Value> yielded;
  for (auto [result, made] : llvm::zip_equal(results, part.getResults())) {
    yielded.push_back(mapping.lookup(
        body.getTerminator()->getOperand(result.getResultNumber())));
    result.replaceAllUsesWith(made);
  }
  builder.create<YieldOp>(group.getLoc(), yielded);
}

/// Whether the ops of `group` compute from its operands alone, so that each may
/// be in a kernel of its own.
static bool isDivisible(FusedOp group) {
  if (group.getFamily() != KernelFamily::multiTensor)
    return false;
  return llvm::all_of(
      group.getBodyBlock().without_terminator(), [](Operation &op) {
        return llvm::all_of(op.getOperands(), [](Value operand) {
          return isa<BlockArgument>(operand);
        });
      });
}

/// What `op` reads of `away`.
static int64_t bytesAway(Operation *op, const llvm::DenseSet<Value> &away) {
  int64_t bytes = 0;
  for (Value operand : op->getOperands())
    if (away.contains(operand))
      bytes += byteSize(operand.getType());
  return bytes;
}

/// Orders parts, of which the largest comes first: between two large ones come
/// `smallBetween` small ones. Three have memory at a time.
static void
interleaveSmallParts(SmallVectorImpl<std::pair<FusedOp, int64_t>> &parts,
                     int smallBetween) {
  SmallVector<std::pair<FusedOp, int64_t>> order;
  size_t large = 0, small = parts.size();
  while (large != small) {
    order.push_back(parts[large++]);
    for (int count = 0; count != smallBetween && large != small; ++count)
      order.push_back(parts[--small]);
  }
  parts.assign(order.begin(), order.end());
}

/// Puts updates that are kernels of their own, as of weights with codes, into
/// the order in which divideUpdate() puts those of one kernel: the largest
/// first; or into one that needs less memory.
static void orderParts(func::FuncOp func, const llvm::DenseSet<Value> &away,
                       int smallBetween) {
  SmallVector<std::pair<FusedOp, int64_t>> parts;
  for (auto group : func.front().getOps<FusedOp>()) {
    int64_t bytes = bytesAway(group, away);
    bool isEarly = llvm::all_of(group.getOperands(), [&](Value operand) {
      Operation *maker = operand.getDefiningOp();
      return !maker || parts.empty() ||
             maker->isBeforeInBlock(parts.front().first);
    });
    if (bytes > 0 && isEarly && group.getFamily() == KernelFamily::multiTensor)
      parts.push_back({group, bytes});
  }
  if (parts.size() < 2)
    return;
  Block::iterator at(parts.front().first);
  llvm::sort(parts, [](auto &a, auto &b) {
    return a.second != b.second ? a.second > b.second
                                : a.first->isBeforeInBlock(b.first);
  });
  interleaveSmallParts(parts, smallBetween);
  for (auto &[group, bytes] : parts) {
    if (group.getOperation() == &*at)
      ++at;
    else
      group->moveBefore(&func.front(), at);
  }
}

/// Moves kernels of `func` that read parts, as those that make codes of a new
/// weight, up behind the last part that they read: what only they read lives
/// short.
static void moveReadersUp(func::FuncOp func,
                          const llvm::DenseSet<Value> &away) {
  llvm::DenseMap<Operation *, size_t> partOf; // of parts and what follows them
  SmallVector<Operation *> ends;              // of each, the last op
  auto readsAway = [&](Value operand) { return away.contains(operand); };
  for (Operation &op :
       llvm::make_early_inc_range(func.front().without_terminator())) {
    auto group = dyn_cast<FusedOp>(op);
    if (group && llvm::any_of(op.getOperands(), readsAway)) {
      partOf[&op] = ends.size();
      ends.push_back(&op);
      continue;
    }
    std::optional<size_t> last;
    for (Value operand : op.getOperands())
      if (auto found = partOf.find(operand.getDefiningOp());
          found != partOf.end())
        last = std::max(last.value_or(0), found->second);
    bool isMovable = group ? group.getFamily() != KernelFamily::collective
                           : isStorageView(&op);
    if (!last || !isMovable)
      continue;
    Operation *end = ends[*last];
    if (llvm::any_of(op.getOperands(), [&](Value operand) {
          Operation *maker = operand.getDefiningOp();
          return maker && end->isBeforeInBlock(maker);
        }))
      continue;
    op.moveAfter(end);
    ends[*last] = &op;
    partOf[&op] = *last;
  }
}

void hone::divideUpdate(FusedOp group, const llvm::DenseSet<Value> &away,
                        int64_t chunk) {
  if (!isDivisible(group))
    return;
  SmallVector<std::pair<Operation *, int64_t>> sizes;
  for (Operation &op : group.getBodyBlock().without_terminator()) {
    int64_t own = 0;
    for (Value operand : op.getOperands()) {
      unsigned index = cast<BlockArgument>(operand).getArgNumber();
      if (away.contains(group.getInputs()[index]))
        own += byteSize(operand.getType());
    }
    sizes.push_back({&op, own});
  }
  llvm::sort(sizes, [](auto &a, auto &b) {
    return a.second != b.second ? a.second > b.second
                                : a.first->isBeforeInBlock(b.first);
  });
  SmallVector<SmallVector<Operation *>> parts(1);
  int64_t bytes = 0;
  for (auto [op, own] : sizes) {
    if (bytes + own > chunk && !parts.back().empty()) {
      parts.emplace_back();
      bytes = 0;
    }
    parts.back().push_back(op);
    bytes += own;
  }
  if (parts.size() == 1)
    return;
  OpBuilder builder(group);
  for (ArrayRef<Operation *> ops : parts)
    makePart(builder, group, ops);
  group.erase();
}

void hone::orderUpdates(func::FuncOp func, const llvm::DenseSet<Value> &away,
                        int smallBetween) {
  orderParts(func, away, smallBetween);
  moveReadersUp(func, away);
}
