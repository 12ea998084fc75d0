//===- RowRegion.cpp - Row ops between library calls ----------------------===//

#include "hone/Analysis/Fusion/RowRegion.h"

#include "hone/Analysis/Fusion/GraphPartition.h"
#include "hone/Analysis/Fusion/RowSpace.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace hone;

double KernelTraffic::seconds(const TargetDescription &target) const {
  return double(bytes()) / target.bytesPerSecond() +
         double(launches) * target.launchSeconds();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value hone::storageOf(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

void hone::forEachReader(Value value, function_ref<void(Operation *)> body) {
  for (Operation *user : value.getUsers()) {
    if (auto reshape = dyn_cast<ReshapeOp>(user))
      forEachReader(reshape.getResult(), body);
    else
      body(user);
  }
}

bool hone::isCheapToRead(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank() < 2;
}

bool hone::isTable(Operation *op, Value operand) {
  auto gather = dyn_cast<EmbeddingOp>(op);
  return gather && gather.getTable() == operand;
}

static int64_t elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

int RowRegion::storedNumber(Value root) {
  auto [found, isNew] = storedNumbers.try_emplace(root, stored.size());
  if (isNew) {
    Stored entry;
    entry.value = root;
    entry.isVector = isCheapToRead(root);
    entry.bytes = byteSize(root.getType());
    stored.push_back(std::move(entry));
  }
  return found->second;
}

RowRegion::RowRegion(ArrayRef<Operation *> ops,
                     function_ref<bool(Operation *)> isView,
                     const TargetDescription &target)
    : target(target), members(ops), reads(ops.size()), makes(ops.size()) {
  for (auto [number, op] : llvm::enumerate(members)) {
    numbers[op] = number;
    views.push_back(isView(op));
  }
  for (auto [number, op] : llvm::enumerate(members)) {
    for (Value operand : op->getOperands()) {
      int value = storedNumber(storageOf(operand));
      if (!llvm::is_contained(reads[number], value)) {
        bool isFirst = stored[value].readers.empty();
        reads[number].push_back(value);
        stored[value].readers.push_back(number);
        stored[value].isTable =
            isTable(op, operand) && (isFirst || stored[value].isTable);
      }
    }
    for (Value result : op->getResults()) {
      int value = storedNumber(result);
      makes[number].push_back(value);
      stored[value].producer = number;
      forEachReader(result, [&, value = value](Operation *reader) {
        stored[value].isReadOutside |= numberOf(reader) < 0;
      });
    }
  }
}

//===----------------------------------------------------------------------===//
// Sets of ops as one kernel
//===----------------------------------------------------------------------===//

SmallVector<Operation *> RowRegion::kernel(ArrayRef<int> set) const {
  llvm::SmallPtrSet<Operation *, 16> inside;
  for (int op : set)
    inside.insert(members[op]);
  SmallVector<Operation *> ops;
  for (int op : set) {
    // Reshapes on the way from another op of the set, first to last.
    for (Value operand : members[op]->getOperands()) {
      if (!inside.contains(storageOf(operand).getDefiningOp()))
        continue;
      SmallVector<Operation *> chain;
      for (Value value = operand;
           auto reshape = value.getDefiningOp<ReshapeOp>();
           value = reshape.getOperand())
        chain.push_back(reshape);
      for (Operation *reshape : llvm::reverse(chain))
        if (inside.insert(reshape).second)
          ops.push_back(reshape);
    }
    ops.push_back(members[op]);
  }
  return ops;
}

bool RowRegion::isColumnSum(int op) const {
  auto reduce = dyn_cast<ReduceOp>(members[op]);
  return reduce && !reduce.isRowReduction();
}

/// Sweeps over the rows after the first: one per row reduction on the longest
/// chain of values that have an element per point.
int64_t RowRegion::countSweeps(ArrayRef<int> set, int64_t points) const {
  llvm::SmallDenseMap<int, int64_t> levels; // stored -> sweeps before it
  int64_t sweeps = 0;
  for (int op : set) {
    int64_t level = 0;
    bool isWide = false;
    for (int value : reads[op]) {
      level = std::max(level, levels.lookup(value));
      isWide |= elementsOf(stored[value].value) == points;
    }
    auto reduce = dyn_cast<ReduceOp>(members[op]);
    for (int value : makes[op]) {
      isWide |= elementsOf(stored[value].value) == points;
      levels[value] = level + (reduce && reduce.isRowReduction());
    }
    if (isWide)
      sweeps = std::max(sweeps, level);
  }
  return sweeps;
}

/// What an op alone reads of a value.
int64_t RowRegion::bytesReadBy(int op, int value) const {
  if (stored[value].isTable)
    return byteSize(members[op]->getResult(0).getType());
  return stored[value].isVector ? 0 : stored[value].bytes;
}

/// Whether a kernel of `set` writes the value, which it makes.
bool RowRegion::isStored(int value, ArrayRef<int> set) const {
  const Stored &made = stored[value];
  return made.isReadOutside || made.readers.empty() ||
         !llvm::all_of(made.readers,
                       [&](int op) { return llvm::is_contained(set, op); });
}

/// Adds what a kernel of `set` moves of a stored value that `count` of its ops
/// read.
void RowRegion::addStream(int number, unsigned count, ArrayRef<int> set,
                          KernelTraffic &traffic, WideReads &wide) const {
  const Stored &value = stored[number];
  bool isMade = value.producer >= 0 && llvm::is_contained(set, value.producer);
  bool isStored = !isMade || this->isStored(number, set);
  traffic.unstored += !isStored;
  traffic.readOnce +=
      count > (isMade ? 0 : 1) && !value.isVector && !value.isTable && isStored;
  if (!isStored)
    return;
  ++traffic.streams;
  if (!isMade && value.isTable) {
    for (int op : value.readers)
      if (llvm::is_contained(set, op))
        traffic.bytesRead += bytesReadBy(op, number);
    return;
  }
  bool isWide = elementsOf(value.value) == wide.points;
  if (isMade) {
    traffic.bytesWritten += value.bytes;
    traffic.results += isWide;
    return;
  }
  if (value.isVector) {
    traffic.vectorBytes += value.bytes;
    return;
  }
  traffic.bytesRead += value.bytes;
  if (!isWide)
    return;
  auto type = cast<RankedTensorType>(value.value.getType());
  wide.bytes += value.bytes;
  if (type.getRank() != 0)
    wide.rowBytes +=
        type.getShape().back() * elementByteWidth(type.getElementType());
}

KernelTraffic RowRegion::traffic(ArrayRef<int> set) const {
  KernelTraffic traffic;
  if (set.size() == 1 && views[set.front()]) {
    traffic.launches = 0;
    return traffic;
  }
  llvm::SmallDenseMap<int, unsigned> readers; // stored -> ops of the set
  WideReads wide;
  for (int op : set) {
    for (int value : reads[op])
      ++readers[value];
    for (int value : makes[op])
      readers.try_emplace(value, 0);
    if (isColumnSum(op)) {
      ++traffic.columnSums;
      traffic.summedCols =
          std::max(traffic.summedCols, elementsOf(members[op]->getResult(0)));
    }
  }
  for (auto [number, _] : readers)
    if (!stored[number].isTable)
      wide.points = std::max(wide.points, elementsOf(stored[number].value));
  for (auto [number, count] : readers)
    addStream(number, count, set, traffic, wide);
  if (traffic.columnSums != 0)
    traffic.launches = 2;
  // Rows that do not stay on chip are read again by every sweep.
  if (wide.rowBytes > target.rowLimits().rowBytes) {
    traffic.extraSweeps = countSweeps(set, wide.points);
    traffic.bytesRead += traffic.extraSweeps * wide.bytes;
  }
  return traffic;
}

/// Whether two values are made by equal ops from equal values.
static bool isSameComputation(Value a, Value b, int64_t depth) {
  if (a == b)
    return true;
  Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
  if (!first || !second || depth == 0 ||
      first->getName() != second->getName() ||
      first->getResultTypes() != second->getResultTypes() ||
      cast<OpResult>(a).getResultNumber() !=
          cast<OpResult>(b).getResultNumber() ||
      first->getPropertiesAsAttribute() != second->getPropertiesAsAttribute())
    return false;
  return llvm::all_of(
      llvm::zip_equal(first->getOperands(), second->getOperands()),
      [&](auto pair) {
        return isSameComputation(std::get<0>(pair), std::get<1>(pair),
                                 depth - 1);
      });
}

/// Whether a clone and what it repeats are both among the ops.
static bool holdsCloneAndOriginal(ArrayRef<Operation *> ops) {
  constexpr int64_t maxChain =
      16; // ops that one recomputation repeats in a row
  for (Operation *clone : ops)
    if (clone->hasAttr(attr::clone))
      for (Operation *op : ops)
        if (!op->hasAttr(attr::clone) && op->getNumResults() > 0 &&
            isSameComputation(clone->getResult(0), op->getResult(0), maxChain))
          return true;
  return false;
}

std::string RowRegion::refusal(ArrayRef<int> set) const {
  if (set.size() == 1)
    return "";
  for (int op : set)
    if (views[op])
      return "a view has no kernel";
  KernelTraffic moved = traffic(set);
  RowLimits limits = target.rowLimits();
  if (moved.columnSums > limits.columnSums)
    return llvm::formatv("more than {0} column sums", limits.columnSums).str();
  if (moved.columnSums > 0 && moved.summedCols > limits.summedCols)
    return llvm::formatv("column sums of rows wider than {0}",
                         limits.summedCols)
        .str();
  if (moved.results > limits.results)
    return llvm::formatv("more than {0} results", limits.results).str();
  if (moved.streams > limits.streams)
    return llvm::formatv("more than {0} streams", limits.streams).str();
  SmallVector<Operation *> ops = kernel(set);
  if (holdsCloneAndOriginal(ops))
    return "a clone stays apart from its original";
  StringRef why;
  std::optional<RowSpace> space = RowSpace::find(ops, &why);
  if (!space)
    return why.str();
  for (int op : set)
    for (int value : makes[op])
      if (Role role = space->role(stored[value].value);
          (role == Role::Col || role == Role::Cyclic) && isStored(value, set))
        return "every row would write a result that all of them share";
  return "";
}

Operation *RowRegion::detour(ArrayRef<int> set) const {
  // Ops of the region after the set, then before it: who is both, is between.
  llvm::BitVector inside(members.size()), after(members.size());
  for (int op : set)
    inside.set(op);
  for (int op : llvm::seq<int>(0, members.size()))
    for (int value : reads[op])
      if (int producer = stored[value].producer;
          producer >= 0 && !inside[op] && (inside[producer] || after[producer]))
        after.set(op);
  for (int op : set)
    for (int value : reads[op])
      if (int producer = stored[value].producer;
          producer >= 0 && after[producer])
        return members[producer];
  return nullptr;
}

std::optional<double> RowRegion::seconds(ArrayRef<int> set) const {
  if (!refusal(set).empty())
    return std::nullopt;
  return traffic(set).seconds(target);
}
