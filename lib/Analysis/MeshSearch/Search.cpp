//===- Search.cpp - The best plans for a number of ranks ------------------===//

#include "hone/Analysis/MeshSearch/Search.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <numeric>
#include <tuple>

using namespace hone;
using namespace hone::search;
using pipeline::ScheduleKind;

//===----------------------------------------------------------------------===//
// What there is to choose
//===----------------------------------------------------------------------===//

/// Sequences of a micro-batch and chunks of a rank, at most: more of either
/// gains nothing that the model would see.
constexpr int64_t maxMicroBatch = 64;
constexpr int maxChunksPerRank = 8;

static std::vector<int64_t> divisorsOf(int64_t number, int64_t most) {
  std::vector<int64_t> divisors;
  for (int64_t divisor = 1; divisor <= std::min(number, most); ++divisor)
    if (number % divisor == 0)
      divisors.push_back(divisor);
  return divisors;
}

/// Those that overlap are for exchanges of experts, of several micro-batches:
/// others take as long in the estimate, and need more memory.
static std::vector<pipeline::ScheduleChoice>
schedulesFor(const Plan &plan, int64_t microBatches) {
  if (plan.pp == 1)
    return {{}};
  std::vector<pipeline::ScheduleChoice> choices = {
      {ScheduleKind::OneForwardOneBackward, 1},
      {ScheduleKind::GPipe, 1},
      {ScheduleKind::ZeroBubbleH1, 1},
      {ScheduleKind::ZeroBubbleV, 2}};
  for (int chunks = 2; chunks <= maxChunksPerRank; ++chunks)
    choices.push_back({ScheduleKind::Interleaved, chunks});
  bool overlaps = plan.ep > 1 && microBatches > 1;
  for (size_t index = 0, count = overlaps ? choices.size() : 0; index != count;
       ++index)
    if (pipeline::mayOverlap(choices[index].kind)) {
      choices.push_back(choices[index]);
      choices.back().overlaps = true;
    }
  return choices;
}

/// Ways to hold state on ranks that differ in dp and fs alone: copies; divided
/// among all; or among those of a node, with copies in each.
static std::vector<Plan> statesFor(Plan plan, const dist::Network &network) {
  int64_t ranks = plan.dp * plan.fs;
  plan.dp = ranks;
  plan.fs = 1;
  plan.state = StateLevel::None;
  std::vector<Plan> states = {plan};
  int64_t room = network.ranksPerNode / (plan.ep * plan.cp * plan.tp);
  for (int64_t parts : {ranks, room > 1 ? std::gcd(room, ranks) : int64_t(1)}) {
    if (parts == 1 || (parts == ranks && states.size() > 1))
      continue;
    plan.fs = parts;
    plan.dp = ranks / parts;
    for (StateLevel level : {StateLevel::Zero1, StateLevel::Zero2,
                             StateLevel::Zero3, StateLevel::Zero3Keep}) {
      plan.state = level;
      states.push_back(plan);
    }
  }
  return states;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

namespace {
using MeshKey = std::tuple<int64_t, int64_t, int64_t, int64_t>;

MeshKey keyOf(const Plan &plan) { return {plan.pp, plan.ep, plan.cp, plan.tp}; }

/// Fewer seconds, then fewer micro-batches, whose launches cost what is not
/// estimated, then less memory, then an order that is the same each time.
/// Seconds are rounded: some plans differ in the order of additions alone.
auto orderOf(const RankedPlan &ranked) {
  return std::make_tuple(float(ranked.cost.total()),
                         -ranked.plan.microBatch * ranked.plan.batchRanks(),
                         float(ranked.cost.memory.total()),
                         formatPlan(ranked.plan));
}

struct Candidate {
  Plan plan;
  double seconds; ///< at least
};

class Search {
public:
  Search(const Model &model, const Cluster &cluster,
         const SearchOptions &options)
      : model(model), cluster(cluster), options(options), ranks(options.ranks),
        count(options.count), prunes(options.prunes),
        estimator(model, cluster) {}

  SearchResult run();

private:
  void enumerate();
  void visitMesh(Plan plan);
  void visitUnits(Plan plan, int64_t rest);
  void visitChunks(const Plan &plan);
  void visit(const Plan &plan);
  void noteBound(const Plan &plan, double seconds);
  bool finish();
  double limit() const { return prunes ? slack * lastBound : infinity; }

  static constexpr double infinity = std::numeric_limits<double>::infinity();

  const Model &model;
  const Cluster &cluster;
  const SearchOptions &options;
  int64_t ranks;
  size_t count;
  bool prunes;
  Estimator estimator;
  SearchResult result;
  std::vector<Candidate> candidates;
  std::map<MeshKey, double> bounds; ///< the least of each mesh
  double lastBound = infinity;      ///< the count-th least of these
  /// How much longer than its bound a plan may take, to be found in the first
  /// round. If a replay shows that to be too little, there is another.
  double slack = 1.15;
};
} // namespace

void Search::noteBound(const Plan &plan, double seconds) {
  auto [entry, isNew] = bounds.try_emplace(keyOf(plan), seconds);
  if (!isNew && entry->second <= seconds)
    return;
  entry->second = seconds;
  if (seconds >= lastBound || bounds.size() < count)
    return;
  std::vector<double> least;
  for (const auto &[key, bound] : bounds)
    least.push_back(bound);
  std::nth_element(least.begin(), least.begin() + long(count) - 1, least.end());
  lastBound = least[count - 1];
}

void Search::visit(const Plan &plan) {
  ++result.plans;
  Bound bound = estimator.bound(plan);
  if (bound.memory.total() > cluster.memoryBytes) {
    ++result.refusedPlans[size_t(Refusal::Memory)];
  } else if (bound.seconds > limit()) {
    ++result.skipped;
  } else {
    noteBound(plan, bound.seconds);
    candidates.push_back({plan, bound.seconds});
  }
}

void Search::visitChunks(const Plan &plan) {
  if (std::optional<Refusal> refusal = estimator.findRefusal(plan)) {
    ++result.refusedPlans[size_t(*refusal)];
    return;
  }
  std::vector<Plan> states = statesFor(plan, cluster.network);
  Bound bound = estimator.boundOfSchedule(states.front());
  int64_t *counted = nullptr;
  if (bound.memory.total() > cluster.memoryBytes)
    counted = &result.refusedPlans[size_t(Refusal::Memory)];
  else if (bound.seconds > limit())
    counted = &result.skipped;
  if (counted && prunes) {
    *counted += int64_t(states.size());
    result.plans += int64_t(states.size());
    return;
  }
  for (const Plan &state : states)
    visit(state);
}

/// The ranks along tp, cp and ep are known, and what a micro-batch is.
void Search::visitUnits(Plan plan, int64_t rest) {
  for (int64_t pp : divisorsOf(rest, int64_t(model.units.size()))) {
    plan.pp = pp;
    plan.dp = rest / pp;
    if (options.accepts && !options.accepts(plan))
      continue;
    if (model.sequences % (plan.batchRanks() * plan.microBatch) != 0) {
      ++result.refusedPlans[size_t(Refusal::Batch)];
      continue;
    }
    int64_t microBatches =
        model.sequences / (plan.batchRanks() * plan.microBatch);
    for (const pipeline::ScheduleChoice &choice :
         schedulesFor(plan, microBatches)) {
      plan.schedule = choice;
      visitChunks(plan);
    }
  }
}

void Search::visitMesh(Plan plan) {
  int64_t rest = ranks / (plan.tp * plan.cp * plan.ep);
  int64_t meshes = int64_t(divisorsOf(rest, rest).size());
  result.meshes += meshes;
  Plan smallest = plan;
  smallest.dp = smallest.pp = 1;
  std::optional<Refusal> refusal = estimator.findRefusal(smallest);
  if (refusal && *refusal != Refusal::Batch) {
    result.refusedMeshes[size_t(*refusal)] += meshes;
    return;
  }
  for (bool divides : {false, true}) {
    if (divides && plan.tp == 1)
      continue;
    plan.dividesPositions = divides;
    for (int64_t microBatch : divisorsOf(model.sequences, maxMicroBatch)) {
      plan.microBatch = microBatch;
      for (Keep keep : {Keep::All, Keep::Products, Keep::Borders}) {
        plan.keep = keep;
        visitUnits(plan, rest);
      }
    }
  }
}

void Search::enumerate() {
  result = {};
  candidates.clear();
  bounds.clear();
  lastBound = infinity;
  Plan plan;
  for (int64_t tp : divisorsOf(ranks, ranks))
    for (int64_t cp : divisorsOf(ranks / tp, ranks))
      for (int64_t ep : divisorsOf(ranks / tp / cp, ranks)) {
        plan.tp = tp;
        plan.cp = cp;
        plan.ep = ep;
        visitMesh(plan);
      }
}

/// Replays candidates, most promising first, until no other can be among the
/// best. False if some that were skipped could be.
bool Search::finish() {
  llvm::sort(candidates, [](const Candidate &a, const Candidate &b) {
    return a.seconds < b.seconds;
  });
  std::map<MeshKey, RankedPlan> best; // of each mesh
  auto last = [&] {
    std::vector<double> seconds;
    for (const auto &[key, ranked] : best)
      seconds.push_back(ranked.cost.total());
    if (seconds.size() < count)
      return infinity;
    std::nth_element(seconds.begin(), seconds.begin() + long(count) - 1,
                     seconds.end());
    return seconds[count - 1];
  };
  // Bounds and replays add up in other orders.
  constexpr double rounding = 1e-6;
  double worst = infinity;
  for (const Candidate &candidate : candidates) {
    if (prunes && candidate.seconds > worst * (1 + rounding))
      break;
    auto found = best.find(keyOf(candidate.plan));
    if (prunes && found != best.end() &&
        candidate.seconds > found->second.cost.total() * (1 + rounding))
      continue;
    RankedPlan ranked = {candidate.plan, estimator.estimate(candidate.plan)};
    ++result.replayed;
    if (found == best.end())
      best.insert({keyOf(candidate.plan), std::move(ranked)});
    else if (orderOf(ranked) < orderOf(found->second))
      found->second = std::move(ranked);
    else
      continue;
    worst = last();
  }
  for (auto &[key, ranked] : best)
    result.best.push_back(std::move(ranked));
  llvm::sort(result.best, [](const RankedPlan &a, const RankedPlan &b) {
    return orderOf(a) < orderOf(b);
  });
  if (result.best.size() > count)
    result.best.resize(count);
  return result.skipped == 0 || worst <= limit();
}

SearchResult Search::run() {
  for (enumerate(); !finish(); enumerate())
    slack *= 1.5;
  return std::move(result);
}

SearchResult hone::search::searchPlans(const Model &model,
                                       const Cluster &cluster,
                                       const SearchOptions &options) {
  return Search(model, cluster, options).run();
}
