//===- GraphPartition.cpp - Parts of a graph into groups ------------------===//

#include "hone/Analysis/Fusion/GraphPartition.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <cassert>
#include <limits>
#include <queue>
#include <vector>

using namespace mlir;
using namespace hone;

constexpr double infinite = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Exactly
//===----------------------------------------------------------------------===//

namespace {
/// Sets of parts are bits of a number.
class ExactSearch {
public:
  explicit ExactSearch(const PartitionProblem &problem)
      : problem(problem), size(1u << problem.parts),
        costs(size, std::numeric_limits<double>::quiet_NaN()),
        closed(size, true) {
    for (auto [part, successors] : llvm::enumerate(problem.successors))
      for (int successor : successors)
        predecessors[successor] |= 1u << part;
    for (auto [part, near] : llvm::enumerate(problem.neighbours))
      for (int other : near)
        neighbours[part] |= 1u << other;
    for (unsigned set = 0; set != size; ++set)
      for (int part : partsOf(set))
        if ((predecessors[part] & ~set) != 0)
          closed[set] = false;
  }

  Partition run();
  int64_t closedSets() const { return llvm::count(closed, true); }

private:
  static SmallVector<int> partsOf(unsigned set) {
    SmallVector<int> parts;
    for (; set != 0; set &= set - 1)
      parts.push_back(llvm::countr_zero(set));
    return parts;
  }
  bool isConnected(unsigned set) const;
  double costOf(unsigned set);

  const PartitionProblem &problem;
  unsigned size;
  std::vector<double> costs; // NaN: not asked for yet
  std::vector<bool> closed;  // under predecessors
  unsigned predecessors[maxExactParts] = {}, neighbours[maxExactParts] = {};
};
} // namespace

bool ExactSearch::isConnected(unsigned set) const {
  unsigned reached = set & -set, before = 0;
  while (reached != before) {
    before = reached;
    for (int part : partsOf(reached))
      reached |= neighbours[part] & set;
  }
  return reached == set;
}

double ExactSearch::costOf(unsigned set) {
  double &known = costs[set];
  if (known != known) // NaN
    known = isConnected(set) ? problem.cost(partsOf(set)).value_or(infinite)
                             : infinite;
  return known;
}

Partition ExactSearch::run() {
  // best[set]: the least that the closed `set` costs; last[set]: its last
  // group. Subsets have smaller numbers, so each is final when it is visited.
  std::vector<double> best(size, infinite);
  std::vector<unsigned> last(size, 0);
  best[0] = 0.0;
  for (unsigned set = 0; set != size; ++set) {
    if (best[set] == infinite)
      continue;
    unsigned rest = (size - 1) & ~set;
    for (unsigned group = rest; group != 0; group = (group - 1) & rest) {
      if (!closed[set | group] || best[set] >= best[set | group])
        continue;
      double cost = best[set] + costOf(group);
      if (cost < best[set | group]) {
        best[set | group] = cost;
        last[set | group] = group;
      }
    }
  }
  Partition result;
  result.cost = best[size - 1];
  result.isOptimal = true;
  for (unsigned set = size - 1; set != 0; set &= ~last[set])
    result.groups.push_back(partsOf(last[set]));
  std::reverse(result.groups.begin(), result.groups.end());
  return result;
}

Partition hone::partitionExactly(const PartitionProblem &problem) {
  assert(problem.parts <= maxExactParts);
  return ExactSearch(problem).run();
}

//===----------------------------------------------------------------------===//
// Greedily
//===----------------------------------------------------------------------===//

namespace {
class GreedySearch {
public:
  explicit GreedySearch(const PartitionProblem &problem) : problem(problem) {
    for (int part = 0; part != problem.parts; ++part) {
      groups.push_back({{part}, *problem.cost(part)});
      groupOf.push_back(part);
    }
  }

  Partition run();

private:
  struct Group {
    SmallVector<int> parts; // none: joined into another
    double cost;
  };
  /// A join and what it gains; the numbers of its groups are never used again.
  struct Candidate {
    double gain;
    int first, second;
    bool operator<(const Candidate &other) const {
      return std::tie(gain, other.first, other.second) <
             std::tie(other.gain, first, second);
    }
  };

  static SmallVector<int> unite(ArrayRef<int> first, ArrayRef<int> second) {
    SmallVector<int> parts(first);
    llvm::append_range(parts, second);
    llvm::sort(parts);
    return parts;
  }
  void offer(int first, int second);
  bool leavesAndReturns(int first, int second) const;
  SmallVector<SmallVector<int>> inOrder() const;

  const PartitionProblem &problem;
  SmallVector<Group> groups;
  SmallVector<int> groupOf; // part -> group
  std::priority_queue<Candidate> candidates;
};
} // namespace

void GreedySearch::offer(int first, int second) {
  const Group &a = groups[first], &b = groups[second];
  if (std::optional<double> cost = problem.cost(unite(a.parts, b.parts)))
    if (double gain = a.cost + b.cost - *cost; gain > 0.0)
      candidates.push({gain, first, second});
}

/// Whether a path leads from one of the groups to the other through a third.
bool GreedySearch::leavesAndReturns(int first, int second) const {
  llvm::BitVector seen(groups.size());
  SmallVector<int> worklist;
  auto visit = [&](int group, bool isStart) {
    for (int part : groups[group].parts)
      for (int successor : problem.successors[part]) {
        int next = groupOf[successor];
        bool isOwn = next == first || next == second;
        if (isOwn && !isStart)
          return true;
        if (!isOwn && !seen.test(next)) {
          seen.set(next);
          worklist.push_back(next);
        }
      }
    return false;
  };
  visit(first, true);
  visit(second, true);
  while (!worklist.empty())
    if (visit(worklist.pop_back_val(), false))
      return true;
  return false;
}

/// Groups, each after those that it reads.
SmallVector<SmallVector<int>> GreedySearch::inOrder() const {
  SmallVector<int> waits(groups.size(), 0);
  auto forReaders = [&](int group, function_ref<void(int)> body) {
    for (int part : groups[group].parts)
      for (int successor : problem.successors[part])
        if (groupOf[successor] != group)
          body(groupOf[successor]);
  };
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (size_t group = 0; group != groups.size(); ++group)
    forReaders(group, [&](int reader) { ++waits[reader]; });
  for (size_t group = 0; group != groups.size(); ++group)
    if (!groups[group].parts.empty() && waits[group] == 0)
      ready.push(group);
  SmallVector<SmallVector<int>> order;
  while (!ready.empty()) {
    int group = ready.top();
    ready.pop();
    order.push_back(groups[group].parts);
    forReaders(group, [&](int reader) {
      if (--waits[reader] == 0)
        ready.push(reader);
    });
  }
  return order;
}

Partition GreedySearch::run() {
  for (auto [part, near] : llvm::enumerate(problem.neighbours))
    for (int other : near)
      if (int(part) < other)
        offer(part, other);
  while (!candidates.empty()) {
    Candidate best = candidates.top();
    candidates.pop();
    Group &first = groups[best.first], &second = groups[best.second];
    if (first.parts.empty() || second.parts.empty() ||
        leavesAndReturns(best.first, best.second))
      continue;
    Group joined = {unite(first.parts, second.parts),
                    first.cost + second.cost - best.gain};
    first.parts.clear();
    second.parts.clear();
    int number = groups.size();
    for (int part : joined.parts)
      groupOf[part] = number;
    groups.push_back(std::move(joined));
    llvm::BitVector offered(groups.size());
    for (int part : groups[number].parts)
      for (int other : problem.neighbours[part])
        if (int group = groupOf[other];
            group != number && !offered.test(group)) {
          offered.set(group);
          offer(group, number);
        }
  }
  Partition result;
  result.groups = inOrder();
  for (const Group &group : groups)
    if (!group.parts.empty())
      result.cost += group.cost;
  return result;
}

Partition hone::partitionGreedily(const PartitionProblem &problem) {
  return GreedySearch(problem).run();
}

Partition hone::partition(const PartitionProblem &problem) {
  if (problem.parts <= maxExactParts) {
    ExactSearch search(problem);
    if (problem.parts <= exactParts || search.closedSets() <= maxClosedSets)
      return search.run();
  }
  return partitionGreedily(problem);
}
