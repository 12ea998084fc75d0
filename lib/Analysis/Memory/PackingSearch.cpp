//===- PackingSearch.cpp - Packing of buffers by branch and bound ---------===//
//
// Looks for a layout below a capacity. Only bottom-justified layouts are built:
// any other one can be pushed down to one, each buffer until it stands on the
// ground or on another. A node takes a buffer below which nothing else can come
// any more, and either puts it at its least offset or rules that offset out,
// in which case it will stand on a buffer that is not placed yet. What is
// concluded at each node (PartialLayout), and where the ideas come from:
// docs/rationale/memory-plan.md.
//
//===----------------------------------------------------------------------===//

#include "PartialLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <numeric>
#include <tuple>

using namespace hone;
using namespace hone::packing;

namespace {
/// Which section a search works on first.
enum class Focus { Lowest, Hardest };

/// A search prefers one section and, in it, one of the lowest buffers.
struct Strategy {
  Focus focus;
  Order order;
};

enum class Outcome { Found, None, Limit };

/// The layouts of one component below one capacity after the other.
class Search {
public:
  explicit Search(const Component &component);

  /// Tries one strategy after the other, then all of them for longer.
  Outcome run(int64_t capacity, int64_t maxNodes);
  /// The layout that was found.
  Layout layout() const;

  /// Decisions so far; one that looks at many buffers counts as several.
  int64_t nodes() const {
    return decisions + (visits + state.visits()) / visitsPerNode;
  }

  int64_t granule = 0; ///< divides all sizes

private:
  bool isBefore(int32_t a, int32_t b) const {
    return std::make_pair(state.leastOf(a), rank[a]) <
           std::make_pair(state.leastOf(b), rank[b]);
  }
  Outcome runOnce(int64_t capacity, const Strategy &strategy,
                  int64_t maxDecisions);
  Outcome solve(int32_t begin, int32_t end);
  Outcome solveParts(int32_t begin, int32_t end);
  int32_t select(int32_t begin, int32_t end) const;
  int32_t selectSection(int32_t begin, int32_t end) const;
  uint64_t hashOf(int32_t begin, int32_t end) const;

  const Component &component;
  PartialLayout state;
  std::vector<int32_t> firstOf; // per section: the first buffer not before it
  Focus focus = Focus::Lowest;
  std::vector<int32_t> rank; // in the strategy's order
  int64_t decisions = 0, decisionLimit = 0, nodeLimit = 0;
  int64_t visits = 0; ///< to find the next decision; further ones in `state`
  static constexpr int64_t visitsPerNode = 4096;
  /// Hashes of what was found not to fit: what is left, and where it may lie.
  std::vector<uint64_t> failed;
  static constexpr size_t numFailed = size_t(1) << 16;
};
} // namespace

Search::Search(const Component &component)
    : component(component), state(component) {
  for (const Buffer &buffer : component.buffers)
    granule = std::gcd(granule, buffer.bytes);
  for (int32_t section = 0; section <= component.sections; ++section)
    firstOf.push_back(llvm::partition_point(component.buffers,
                                            [&](const Buffer &buffer) {
                                              return buffer.begin < section;
                                            }) -
                      component.buffers.begin());
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

/// The hardest section of those from `begin` to `end`; -1 if all are done.
int32_t Search::selectSection(int32_t begin, int32_t end) const {
  // Little slack, and failures before.
  auto ease = [&](int32_t number) {
    return double(state.slackOf(number) + granule) /
           double(1 + state.failuresOf(number));
  };
  int32_t best = -1;
  double least = 0;
  for (int32_t number = begin; number != end; ++number) {
    if (state.unplacedIn(number) == 0)
      continue;
    double own = ease(number);
    if (best < 0 || own < least) {
      best = number;
      least = own;
    }
  }
  return best;
}

/// A buffer below which none of its neighbours can come any more; -1 if all
/// between the sections are placed.
int32_t Search::select(int32_t begin, int32_t end) const {
  int32_t best = -1;
  auto consider = [&](int32_t index) {
    if (!state.isPlaced(index) && (best < 0 || isBefore(index, best)))
      best = index;
  };
  if (focus == Focus::Lowest) {
    for (int32_t index = firstOf[begin]; index != firstOf[end]; ++index)
      consider(index);
    return best;
  }
  int32_t section = selectSection(begin, end);
  if (section < 0)
    return -1;
  llvm::for_each(state.liveIn(section), consider);
  while (true) {
    int64_t lowest = state.leastOf(best);
    int32_t from = best;
    for (int32_t other : state.neighboursOf(from))
      if (state.leastOf(other) < lowest)
        consider(other);
    if (best == from)
      return best;
  }
}

/// Of what is left to place between the sections and of where it may lie, which
/// is all that decides whether it fits.
uint64_t Search::hashOf(int32_t begin, int32_t end) const {
  uint64_t hash = 0;
  for (int32_t index = firstOf[begin]; index != firstOf[end]; ++index) {
    if (state.isPlaced(index))
      continue;
    uint64_t own = (uint64_t(state.leastOf(index)) << 1 |
                    uint64_t(state.standsAtLeast(index))) *
                       0x9e3779b97f4a7c15u +
                   uint64_t(index + 1) * 0xd6e8feb86659fd93u;
    own = (own ^ (own >> 32)) * 0xd6e8feb86659fd93u;
    hash += own ^ (own >> 29);
  }
  return hash;
}

/// Places what is left between two sections that nothing left crosses.
Outcome Search::solve(int32_t begin, int32_t end) {
  visits += firstOf[end] - firstOf[begin];
  uint64_t hash = hashOf(begin, end);
  uint64_t &slot = failed[hash % numFailed];
  if (slot == hash)
    return Outcome::None;
  while (true) {
    visits += firstOf[end] - firstOf[begin];
    int32_t index = select(begin, end);
    if (index < 0)
      return Outcome::Found;
    if (decisions == decisionLimit || nodes() >= nodeLimit)
      return Outcome::Limit;
    ++decisions;
    if (state.standsAtLeast(index)) {
      PartialLayout::Mark before = state.mark();
      if (state.place(index)) {
        Outcome outcome = solveParts(begin, end);
        if (outcome != Outcome::None)
          return outcome;
      }
      state.undo(before);
    }
    if (!state.postpone(index)) {
      slot = hash;
      return Outcome::None;
    }
  }
}

/// Solves each part between the sections on its own: a part that does not fit
/// is not tried again for every layout of another.
Outcome Search::solveParts(int32_t begin, int32_t end) {
  struct Part {
    int64_t slack;
    int32_t begin, end;
  };
  llvm::SmallVector<Part, 4> parts;
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  int64_t slack = most;
  int32_t partBegin = begin;
  for (int32_t number = begin; number != end; ++number) {
    if (state.unplacedIn(number) == 0) {
      partBegin = number + 1;
      continue;
    }
    slack = std::min(slack, state.slackOf(number));
    if (state.crossesEnd(number))
      continue;
    parts.push_back({slack, partBegin, number + 1});
    partBegin = number + 1;
    slack = most;
  }
  llvm::sort(parts, [](const Part &a, const Part &b) {
    return std::tie(a.slack, a.begin) < std::tie(b.slack, b.begin);
  });
  for (const Part &part : parts) {
    Outcome outcome = solve(part.begin, part.end);
    if (outcome != Outcome::Found)
      return outcome;
  }
  return Outcome::Found;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

Outcome Search::runOnce(int64_t capacity, const Strategy &strategy,
                        int64_t maxDecisions) {
  focus = strategy.focus;
  rank.resize(component.buffers.size());
  for (auto [place, index] :
       llvm::enumerate(sortBuffers(component, strategy.order)))
    rank[index] = place;
  decisionLimit = decisions + maxDecisions;
  if (!state.start(capacity))
    return Outcome::None;
  return solveParts(0, component.sections);
}

Outcome Search::run(int64_t capacity, int64_t maxNodes) {
  static constexpr Strategy strategies[] = {
      {Focus::Lowest, Order::Area},      {Focus::Lowest, Order::Lifetime},
      {Focus::Hardest, Order::Lifetime}, {Focus::Lowest, Order::Pressure},
      {Focus::Hardest, Order::First},    {Focus::Hardest, Order::Last},
      {Focus::Hardest, Order::Size},     {Focus::Lowest, Order::First},
  };
  failed.assign(numFailed, 0);
  nodeLimit = nodes() + maxNodes;
  for (int64_t share = 1000;; share *= 2) {
    for (const Strategy &strategy : strategies) {
      Outcome outcome = runOnce(capacity, strategy, share);
      if (outcome != Outcome::Limit || nodes() >= nodeLimit)
        return outcome;
    }
  }
}

Layout Search::layout() const {
  Layout layout;
  for (auto [index, buffer] : llvm::enumerate(component.buffers)) {
    layout.offsets.push_back(state.leastOf(index));
    layout.bytes = std::max(layout.bytes, layout.offsets.back() + buffer.bytes);
  }
  return layout;
}

/// Whether the tables of a search stay small; the largest programs have
/// greedy orders alone.
static bool isSearchable(const Component &component, int64_t maxEntries) {
  if (component.peak >= int64_t(1) << 60)
    return false; // sums of two heights have to fit
  std::vector<int64_t> begins(component.sections, 0);
  int64_t members = 0;
  for (const Buffer &buffer : component.buffers)
    members += buffer.end - buffer.begin;
  if (members > maxEntries)
    return false;
  std::vector<int64_t> live(component.sections, 0);
  for (const Buffer &buffer : component.buffers) {
    ++begins[buffer.begin];
    for (int32_t section = buffer.begin; section != buffer.end; ++section)
      ++live[section];
  }
  int64_t pairs = 0;
  for (int32_t section = 0; section != component.sections; ++section)
    pairs += begins[section] * live[section];
  return pairs <= maxEntries;
}

SearchResult packing::improveBySearch(const Component &component,
                                      int64_t target, int64_t maxNodes,
                                      int64_t maxPairs, Layout &best) {
  SearchResult result;
  if (!isSearchable(component, maxPairs)) {
    result.metPairs = true;
    return result;
  }
  Search search(component);
  int64_t granule = search.granule;
  // Heights are sums of sizes. First the target, then by bisection between what
  // did not fit and the best: every try has half of the nodes that are left.
  int64_t tooLow = target / granule - 1, capacity = tooLow + 1;
  while (capacity * granule < best.bytes && search.nodes() < maxNodes) {
    int64_t share = (maxNodes - search.nodes() + 1) / 2;
    Outcome outcome = search.run(capacity * granule, share);
    if (outcome == Outcome::Found) {
      best = search.layout();
    } else {
      tooLow = capacity;
      result.metNodes |= outcome == Outcome::Limit;
      if (outcome == Outcome::None)
        result.lowerBound =
            std::max(result.lowerBound, (capacity + 1) * granule);
    }
    if (best.bytes <= target)
      break;
    capacity = std::max(tooLow + 1, (tooLow + best.bytes / granule) / 2);
  }
  result.nodes = std::min(search.nodes(), maxNodes);
  result.metNodes &= best.bytes > std::max(target, result.lowerBound);
  return result;
}
