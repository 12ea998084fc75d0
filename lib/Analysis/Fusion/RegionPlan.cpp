//===- RegionPlan.cpp - The cheapest kernels for a region -----------------===//

#include "hone/Analysis/Fusion/GraphPartition.h"
#include "hone/Analysis/Fusion/RowRegion.h"
#include "hone/Analysis/Fusion/RowSpace.h"

using namespace mlir;
using namespace hone;

SmallVector<uintptr_t> RowRegion::key() const {
  SmallVector<uintptr_t> words;
  auto word = [&](const void *pointer) {
    words.push_back(reinterpret_cast<uintptr_t>(pointer));
  };
  for (auto [number, op] : llvm::enumerate(members)) {
    word(op->getName().getAsOpaquePointer());
    // Which mask a dropout draws has no bearing on where it runs.
    if (!isa<DropoutOp>(op))
      word(op->getPropertiesAsAttribute().getAsOpaquePointer());
    words.push_back(2 * op->hasAttr(attr::clone) + views[number]);
    for (Value operand : op->getOperands()) {
      word(operand.getType().getAsOpaquePointer());
      words.push_back(storedNumbers.lookup(storageOf(operand)));
    }
    for (Value result : op->getResults())
      word(result.getType().getAsOpaquePointer());
  }
  for (const Stored &value : stored) {
    words.push_back(value.isReadOutside);
    word(value.value.getType().getAsOpaquePointer());
  }
  return words;
}

/// The part that some optimal partition has together with `part`, or -1:
///
/// - its only reader, if it reads no more bytes than the reader reads of it:
///   it may as well run there;
/// - the part that makes all that it reads, if nobody else reads that and its
///   own results have no more bytes: likewise.
int RowRegion::alwaysWith(int part, const Parts &parts) const {
  int64_t read = 0, written = 0;
  int reader = -1, maker = -1;
  bool oneReader = true, oneMaker = true;
  auto agree = [](int &known, int other, bool &isOne) {
    isOne &= known < 0 || known == other;
    known = other;
  };
  for (int op : parts.sets[part]) {
    for (int number : makes[op]) {
      const Stored &value = stored[number];
      bool leaves = value.isReadOutside;
      oneReader &= !value.isReadOutside;
      for (int other : value.readers)
        if (parts.of[other] != part) {
          agree(reader, parts.of[other], oneReader);
          leaves = true;
        }
      written += leaves ? value.bytes : 0;
    }
    for (int number : reads[op]) {
      const Stored &value = stored[number];
      if (value.producer < 0) {
        read += bytesReadBy(op, number);
        oneMaker &= value.isVector;
        continue;
      }
      if (parts.of[value.producer] == part)
        continue;
      read += bytesReadBy(op, number);
      oneMaker &= !value.isReadOutside;
      agree(maker, parts.of[value.producer], oneMaker);
      for (int other : value.readers)
        oneMaker &= parts.of[other] == part || parts.of[other] == maker;
    }
    oneMaker &= !isColumnSum(op); // limited in number
  }
  if (oneReader && reader >= 0 && read <= written)
    return reader;
  return oneMaker && maker >= 0 && written <= read ? maker : -1;
}

RowRegion::Parts RowRegion::mergeParts() const {
  Parts parts;
  for (int op : llvm::seq<int>(0, members.size())) {
    parts.sets.push_back({op});
    parts.of.push_back(op);
  }
  bool changed = true;
  while (changed) {
    changed = false;
    for (int part : llvm::seq<int>(0, parts.sets.size())) {
      int other = parts.sets[part].empty() ? -1 : alwaysWith(part, parts);
      if (other < 0)
        continue;
      SmallVector<int> joined(parts.sets[part]);
      llvm::append_range(joined, parts.sets[other]);
      llvm::sort(joined);
      if (!seconds(joined) || detour(joined))
        continue;
      for (int op : parts.sets[part])
        parts.of[op] = other;
      parts.sets[part].clear();
      parts.sets[other] = std::move(joined);
      changed = true;
    }
  }
  return inOrder(std::move(parts));
}

/// Leaves out empty parts and numbers the others in an order in which they can
/// run: by the longest path to each.
RowRegion::Parts RowRegion::inOrder(Parts parts) const {
  SmallVector<int> depth(parts.sets.size(), 0);
  bool changed = true;
  while (changed) {
    changed = false;
    for (const Stored &value : stored)
      for (int reader : value.readers) {
        if (value.producer < 0)
          continue;
        int from = parts.of[value.producer], to = parts.of[reader];
        if (from != to && depth[to] <= depth[from]) {
          depth[to] = depth[from] + 1;
          changed = true;
        }
      }
  }
  SmallVector<int> numbers;
  for (int part : llvm::seq<int>(0, parts.sets.size()))
    if (!parts.sets[part].empty())
      numbers.push_back(part);
  llvm::sort(numbers, [&](int a, int b) {
    return std::tie(depth[a], a) < std::tie(depth[b], b);
  });
  Parts sorted;
  sorted.of.resize(members.size());
  for (auto [number, part] : llvm::enumerate(numbers)) {
    for (int op : parts.sets[part])
      sorted.of[op] = number;
    sorted.sets.push_back(std::move(parts.sets[part]));
  }
  return sorted;
}

/// Order and neighbourhood of the parts.
void RowRegion::linkParts(const Parts &parts, PartitionProblem &problem) const {
  problem.parts = parts.sets.size();
  problem.successors.resize(problem.parts);
  problem.neighbours.resize(problem.parts);
  auto link = [](SmallVector<int> &list, int other) {
    if (!llvm::is_contained(list, other))
      list.push_back(other);
  };
  auto neighbours = [&](int a, int b) {
    if (a != b) {
      link(problem.neighbours[a], b);
      link(problem.neighbours[b], a);
    }
  };
  for (const Stored &value : stored) {
    SmallVector<int> readers;
    for (int reader : value.readers)
      link(readers, parts.of[reader]);
    for (int reader : readers) {
      if (value.producer >= 0) {
        int maker = parts.of[value.producer];
        neighbours(maker, reader);
        if (maker != reader)
          link(problem.successors[maker], reader);
      }
      if (!value.isVector && !value.isTable)
        for (int other : readers)
          neighbours(other, reader);
    }
  }
}

RegionPlan RowRegion::finish(SmallVector<SmallVector<int>> groups) const {
  RegionPlan plan;
  for (SmallVector<int> &group : groups) {
    if (views[group.front()])
      continue;
    plan.reduces.push_back(RowSpace::find(kernel(group))->hasReduction());
    plan.groups.push_back(std::move(group));
  }
  return plan;
}

RegionPlan RowRegion::plan() const {
  SmallVector<int> all = llvm::to_vector(llvm::seq<int>(0, members.size()));
  // Joining never adds traffic but for further sweeps: without those, what can
  // be one kernel is one.
  if (refusal(all).empty() && traffic(all).extraSweeps == 0)
    return finish({all});
  Parts parts = mergeParts();
  auto opsOf = [&](ArrayRef<int> set) {
    SmallVector<int> ops;
    for (int part : set)
      llvm::append_range(ops, parts.sets[part]);
    llvm::sort(ops);
    return ops;
  };
  auto cost = [&](ArrayRef<int> set) { return seconds(opsOf(set)); };
  PartitionProblem problem;
  linkParts(parts, problem);
  problem.cost = cost;
  Partition best = partition(problem);
  SmallVector<SmallVector<int>> groups;
  for (ArrayRef<int> group : best.groups)
    groups.push_back(opsOf(group));
  RegionPlan plan = finish(std::move(groups));
  plan.parts = problem.parts;
  plan.isOptimal = best.isOptimal;
  return plan;
}
