//===- FusionGroups.cpp - Which ops share a kernel ------------------------===//

#include "hone/Analysis/FusionGroups.h"

#include "hone/Analysis/ContractionGroups.h"
#include "hone/Analysis/RowSpace.h"
#include "hone/Analysis/Views.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace hone;

/// Limits of one kernel: more streams than this defeat the prefetcher, more
/// column sums the first-level cache.
constexpr size_t maxOperands = 24;
constexpr size_t maxColumnSums = 8;
/// Ops that it takes to make a free value. Masks and position tables need some
/// ten; what needs more is stored.
constexpr int64_t maxFreeOps = 32;

static KernelFamily familyOf(Operation *op) {
  return cast<HoneOpInterface>(op).getKernelFamily();
}

//===----------------------------------------------------------------------===//
// Free values
//===----------------------------------------------------------------------===//

/// Takes one op per call from `budget`: as a tree, since that is what copies
/// for each reader make of shared operands.
static bool isFreeWithin(Operation *op, int64_t &budget) {
  if (--budget < 0)
    return false;
  if (isa<IotaOp, BroadcastOp>(op))
    return true;
  if (isa<ConstantOp>(op))
    return isRowSpaceOp(op);
  if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumOperands() == 0)
    return false;
  // Maps of free values only, and not all of them constants: those would fold.
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    Operation *producer = operand.getDefiningOp();
    return producer && isa<HoneDialect>(producer->getDialect()) &&
           isFreeWithin(producer, budget);
  });
}

bool hone::isFreeValue(Operation *op) {
  int64_t budget = maxFreeOps;
  return isFreeWithin(op, budget);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

namespace {
class FusionPlanner {
public:
  explicit FusionPlanner(Block &block) : block(block) {}
  SmallVector<FusionGroup> run();

private:
  struct Group {
    SmallVector<Operation *> ops; // program order
    bool anchor;
    int64_t depth;
    int64_t rows = 0, cols = 0;
  };

  void formGathers();
  void assignDepths();
  void joinAlongEdges();
  void joinSiblings();
  bool tryJoin(int first, int second);
  bool pathOutside(int from, int to);
  bool withinLimits(ArrayRef<Operation *> ops);
  std::optional<std::pair<int64_t, int64_t>>
  commonSpace(const Group &first, const Group &second, ArrayRef<Operation *>);
  bool isView(Operation *op);
  int groupOf(Operation *op) const {
    auto found = groupIndex.find(op);
    return found == groupIndex.end() ? -1 : found->second;
  }
  int addGroup(ArrayRef<Operation *> ops, bool anchor);

  Block &block;
  SmallVector<Group> groups;
  DenseMap<Operation *, int> groupIndex;
  DenseMap<Operation *, int64_t> position;
  DenseMap<Operation *, int64_t> depths;
};
} // namespace

int FusionPlanner::addGroup(ArrayRef<Operation *> ops, bool anchor) {
  int index = groups.size();
  groups.push_back({SmallVector<Operation *>(ops), anchor, 0});
  for (Operation *op : ops)
    groupIndex[op] = index;
  return index;
}

/// The only op that reads `value`, or null.
static Operation *onlyReader(Value value) {
  return value.hasOneUse() ? *value.user_begin() : nullptr;
}

// scatter of an embedding gradient + addend: one kernel adds onto the addend
void FusionPlanner::formGathers() {
  for (auto scatter : block.getOps<EmbeddingBwdOp>()) {
    SmallVector<Operation *> ops = {scatter};
    if (auto add = dyn_cast_if_present<AddOp>(onlyReader(scatter.getResult())))
      if (groupOf(add) < 0 && add.getLhs() != add.getRhs())
        ops.push_back(add);
    addGroup(ops, /*anchor=*/true);
  }
}

bool FusionPlanner::isView(Operation *op) {
  if (auto slice = dyn_cast<SliceOp>(op))
    return isStridedView(slice);
  if (auto concat = dyn_cast<ConcatOp>(op))
    return isPlacement(concat);
  return isa<StopGradientOp>(op);
}

void FusionPlanner::assignDepths() {
  for (Operation &op : block.without_terminator()) {
    if (groupOf(&op) >= 0 || isView(&op))
      continue;
    std::optional<RowSpace> space = RowSpace::of(&op);
    if (!space && isa<ReshapeOp>(op))
      continue; // a view that no row space spans
    int index = addGroup({&op}, /*anchor=*/!space);
    if (space) {
      groups[index].rows = space->rows();
      groups[index].cols = space->cols();
    }
  }
  // A group's depth counts the anchors before it. Members of one group are
  // visited in program order; an anchor's results lie one deeper than it.
  for (Operation &op : block.without_terminator()) {
    int index = groupOf(&op);
    bool anchor = index >= 0 && groups[index].anchor;
    int64_t depth = 0;
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || producer->getBlock() != &block)
        continue;
      int from = groupOf(producer);
      bool inside = anchor && from == index;
      bool producedByAnchor = from >= 0 && groups[from].anchor;
      depth = std::max(depth, depths[producer] + (producedByAnchor && !inside));
    }
    depths[&op] = depth;
    if (index >= 0)
      groups[index].depth = std::max(groups[index].depth, depth);
  }
  // Members of an anchor group share the group's depth.
  for (const Group &group : groups)
    if (group.anchor)
      for (Operation *op : group.ops)
        depths[op] = group.depth;
  // A free value belongs where it is read.
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    int index = groupOf(&op);
    if (index < 0 || groups[index].anchor || !isFreeValue(&op))
      continue;
    std::optional<int64_t> depth;
    for (Operation *user : op.getUsers()) {
      int to = groupOf(user);
      if (to >= 0 && !groups[to].anchor)
        depth = depth ? std::min(*depth, groups[to].depth) : groups[to].depth;
    }
    if (depth)
      groups[index].depth = *depth;
  }
}

/// Whether a path leads from group `from` to group `to` through other groups,
/// or through a view that is in neither. Only groups of the same depth can lie
/// on it.
bool FusionPlanner::pathOutside(int from, int to) {
  SmallVector<int> worklist;
  llvm::SmallDenseSet<int> seen;
  auto pushReaders = [&](int index, bool direct) {
    for (Operation *op : groups[index].ops)
      for (Operation *user : op->getUsers()) {
        // Look through views to their readers.
        SmallVector<Operation *> readers = {user};
        while (!readers.empty()) {
          Operation *reader = readers.pop_back_val();
          int next = groupOf(reader);
          if (next < 0) {
            llvm::append_range(readers, reader->getUsers());
            continue;
          }
          bool isEdge = direct && reader == user;
          if (next == index || next == from || (isEdge && next == to) ||
              groups[next].anchor || groups[next].depth > groups[to].depth)
            continue;
          if (seen.insert(next).second)
            worklist.push_back(next);
        }
      }
  };
  pushReaders(from, /*direct=*/true);
  while (!worklist.empty()) {
    int index = worklist.pop_back_val();
    if (index == to)
      return true;
    pushReaders(index, /*direct=*/false);
  }
  return false;
}

/// Distinct values that come from outside or are read outside, and sums.
bool FusionPlanner::withinLimits(ArrayRef<Operation *> ops) {
  llvm::SmallPtrSet<Operation *, 16> inside(ops.begin(), ops.end());
  llvm::SmallDenseSet<Value> boundary;
  size_t sums = 0;
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      if (!inside.contains(operand.getDefiningOp()))
        boundary.insert(operand);
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !inside.contains(user); }))
        boundary.insert(result);
    if (auto reduce = dyn_cast<ReduceOp>(op))
      sums += !reduce.isRowReduction();
  }
  return boundary.size() <= maxOperands && sums <= maxColumnSums;
}

std::optional<std::pair<int64_t, int64_t>>
FusionPlanner::commonSpace(const Group &first, const Group &second,
                           ArrayRef<Operation *> ops) {
  // The larger space first: rows of scalars join a matrix, not the reverse.
  const Group *order[] = {&first, &second};
  if (first.rows * first.cols < second.rows * second.cols)
    std::swap(order[0], order[1]);
  for (const Group *group : order)
    if (RowSpace::of(ops, group->rows, group->cols))
      return std::make_pair(group->rows, group->cols);
  return std::nullopt;
}

bool FusionPlanner::tryJoin(int first, int second) {
  if (first == second || groups[first].anchor || groups[second].anchor ||
      groups[first].depth != groups[second].depth)
    return false;
  SmallVector<Operation *> ops(groups[first].ops);
  llvm::append_range(ops, groups[second].ops);
  llvm::sort(ops, [&](Operation *a, Operation *b) {
    return position[a] < position[b];
  });
  auto space = commonSpace(groups[first], groups[second], ops);
  if (!space || !withinLimits(ops) || pathOutside(first, second) ||
      pathOutside(second, first))
    return false;
  for (Operation *op : groups[second].ops)
    groupIndex[op] = first;
  groups[second].ops.clear();
  groups[first].ops = std::move(ops);
  std::tie(groups[first].rows, groups[first].cols) = *space;
  return true;
}

void FusionPlanner::joinAlongEdges() {
  for (Operation &op : block.without_terminator()) {
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || producer->getBlock() != &block)
        continue;
      int from = groupOf(producer), to = groupOf(&op);
      if (from >= 0 && to >= 0)
        tryJoin(from, to);
    }
  }
}

/// Two groups that read the same large value join, so that it is read once.
void FusionPlanner::joinSiblings() {
  auto joinReaders = [&](Value value) {
    if (cast<RankedTensorType>(value.getType()).getRank() < 2)
      return; // a vector costs nothing to read again
    SmallVector<Operation *> readers(value.getUsers());
    llvm::sort(readers, [&](Operation *a, Operation *b) {
      return position[a] < position[b];
    });
    for (size_t index = 1; index < readers.size(); ++index) {
      int first = groupOf(readers[index - 1]), second = groupOf(readers[index]);
      if (first >= 0 && second >= 0)
        tryJoin(first, second);
    }
  };
  for (Value argument : block.getArguments())
    joinReaders(argument);
  for (Operation &op : block.without_terminator())
    llvm::for_each(op.getResults(), joinReaders);
}

SmallVector<FusionGroup> FusionPlanner::run() {
  int64_t next = 0;
  for (Operation &op : block)
    position[&op] = next++;
  for (const ContractionGroup &contraction : planContractions(block))
    addGroup(contraction.ops, /*anchor=*/true);
  formGathers();
  assignDepths();
  joinAlongEdges();
  joinSiblings();
  SmallVector<FusionGroup> plan;
  for (Group &group : groups) {
    if (group.ops.empty())
      continue;
    if (group.anchor) {
      // An op outside any row space: its own family where that has an emitter
      // for single ops, else the general one.
      KernelFamily family = familyOf(group.ops.front());
      for (Operation *op : group.ops)
        if (familyOf(op) == KernelFamily::contraction ||
            familyOf(op) == KernelFamily::gather)
          family = familyOf(op);
      bool general =
          family == KernelFamily::row || family == KernelFamily::column ||
          family == KernelFamily::view ||
          (family == KernelFamily::map && !isa<RopeOp>(group.ops.front()));
      plan.push_back({general ? KernelFamily::move : family, group.ops});
      continue;
    }
    // Views at the border of a group need no kernel.
    auto isBorderView = [&](Operation *op) {
      if (!isa<ReshapeOp>(op))
        return false;
      Operation *producer = op->getOperand(0).getDefiningOp();
      bool inner = producer && llvm::is_contained(group.ops, producer);
      bool read = llvm::any_of(op->getUsers(), [&](Operation *user) {
        return llvm::is_contained(group.ops, user);
      });
      return !inner || !read;
    };
    while (true) {
      auto view = llvm::find_if(group.ops, isBorderView);
      if (view == group.ops.end())
        break;
      group.ops.erase(view);
    }
    if (group.ops.empty())
      continue;
    std::optional<RowSpace> space = RowSpace::find(group.ops);
    if (!space) { // a reshape held it together: one kernel each
      for (Operation *op : group.ops)
        if (!isa<ReshapeOp>(op))
          plan.push_back({KernelFamily::move, {op}});
      continue;
    }
    plan.push_back(
        {space->hasReduction() ? KernelFamily::row : KernelFamily::map,
         group.ops});
  }
  return plan;
}

SmallVector<FusionGroup> hone::planFusion(Block &block) {
  return FusionPlanner(block).run();
}
