//===- Estimate.cpp - Seconds and memory of a plan ------------------------===//

#include "hone/Analysis/MeshSearch/Estimate.h"

#include "Chunks.h"

#include <numeric>

using namespace hone;
using namespace hone::search;
using llvm::StringRef;

StringRef hone::search::partName(Part part) {
  static constexpr std::array<llvm::StringLiteral, numParts> names = {
      "products", "elements", "bubble", "tp",    "cp",
      "ep",       "pp",       "data",   "update"};
  return names[size_t(part)];
}

StringRef hone::search::refusalReason(Refusal refusal) {
  static constexpr std::array<llvm::StringLiteral, numRefusals> reasons = {
      "tp does not divide heads or hidden widths",
      "cp or tp does not divide positions",
      "ep does not divide experts",
      "the batch does not divide evenly",
      "fewer places to cut than chunks",
      "memory"};
  return reasons[size_t(refusal)];
}

double Seconds::total() const {
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

Seconds &Seconds::operator+=(const Seconds &other) {
  for (size_t part = 0; part != numParts; ++part)
    parts[part] += other.parts[part];
  return *this;
}

bool Unit::operator==(const Unit &other) const {
  auto tie = [](const Unit &unit) {
    auto of = [](const Activations &bytes) {
      return std::tie(bytes.stream, bytes.gathered, bytes.inner, bytes.rows);
    };
    return std::tuple_cat(
        std::tie(unit.productFlops, unit.attentionFlops,
                 unit.attentionBackwardFlops, unit.scores, unit.scoreFlops,
                 unit.expertFlops),
        of(unit.moved), of(unit.saved), of(unit.cheap), of(unit.remade),
        of(unit.results), of(unit.operands), of(unit.cheapOperands),
        std::tie(unit.remadeFlops, unit.parameters, unit.expertParameters,
                 unit.sums, unit.keyBytes, unit.headBytes, unit.rowBytes));
  };
  return tie(*this) == tie(other);
}

double Model::parameters() const {
  double count = 0;
  for (const Unit &unit : units)
    count += unit.parameters + unit.expertParameters;
  return count;
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

/// Query heads and what returns to the stream are divided along tp, key heads
/// too or shared by groups of ranks.
static bool dividesHeads(const Model &model, int64_t tp) {
  return model.innerWidth > 0 && model.innerWidth % tp == 0 &&
         model.heads % tp == 0 &&
         (model.keyHeads == 0 || model.keyHeads % tp == 0 ||
          tp % model.keyHeads == 0);
}

/// A rank along cp has two runs of positions, of the front and of the back.
static bool dividesPositions(const Model &model, const Plan &plan) {
  int64_t runs = plan.cp > 1 ? 2 * plan.cp : 1;
  if (plan.cp > 1 && (!model.isCausal || model.heads == 0))
    return false;
  return model.positions % (runs * (plan.dividesPositions ? plan.tp : 1)) == 0;
}

static std::optional<Refusal> refusalOf(const Model &model, const Plan &plan) {
  if (plan.tp > 1 && !dividesHeads(model, plan.tp))
    return Refusal::Heads;
  if (!dividesPositions(model, plan))
    return Refusal::Positions;
  if (plan.ep > 1 && (model.experts == 0 || model.experts % plan.ep != 0))
    return Refusal::Experts;
  if (model.sequences % (plan.batchRanks() * plan.microBatch) != 0)
    return Refusal::Batch;
  if (plan.chunks() > int64_t(model.units.size()))
    return Refusal::Stages;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Estimates
//===----------------------------------------------------------------------===//

struct Estimator::Caches {
  Chunks chunks;

  RankMemory largestMemory(const RankState &state, int64_t microBatches);
  /// Adds what follows the last action; the rank with most of it counts.
  void addState(const RankState &state, int64_t microBatches, Seconds &seconds);
};

RankMemory Estimator::Caches::largestMemory(const RankState &state,
                                            int64_t microBatches) {
  RankMemory largest;
  for (auto [share, bytes] :
       llvm::zip_equal(chunks.ranks(), chunks.activationBytes(microBatches))) {
    RankMemory memory;
    memory.activations = bytes;
    memory.transient = share.transientBytes;
    state.addMemory(share.units, memory);
    if (memory.total() > largest.total())
      largest = memory;
  }
  return largest;
}

void Estimator::Caches::addState(const RankState &state, int64_t microBatches,
                                 Seconds &seconds) {
  Seconds most;
  for (const RankShare &share : chunks.ranks()) {
    Seconds of;
    of[Part::Data] = state.dataSeconds(share.units, microBatches);
    of[Part::Update] = state.updateSeconds(share.units);
    if (of.total() > most.total())
      most = of;
  }
  seconds += most;
}

Estimator::Estimator(const Model &model, const Cluster &cluster)
    : model(model), cluster(cluster),
      caches(new Caches{Chunks(model, this->cluster)}) {}

Estimator::~Estimator() = default;

std::optional<Refusal> Estimator::findRefusal(const Plan &plan) const {
  return refusalOf(model, plan);
}

Bound Estimator::boundOfSchedule(const Plan &plan) {
  Chunks &chunks = caches->chunks;
  chunks.set(plan);
  int64_t count = microBatches(plan);
  Bound bound = {chunks.shortest(count), {}};
  for (double bytes : chunks.activationBytes(count))
    bound.memory.activations = std::max(bound.memory.activations, bytes);
  return bound;
}

Bound Estimator::bound(const Plan &plan) {
  Chunks &chunks = caches->chunks;
  chunks.set(plan);
  RankState state(model, plan, chunks.getGroups(), cluster);
  int64_t count = microBatches(plan);
  Bound bound = {0, caches->largestMemory(state, count)};
  if (bound.memory.total() > cluster.memoryBytes)
    return bound;
  Seconds seconds;
  caches->addState(state, count, seconds);
  bound.seconds = chunks.shortest(count) + seconds.total();
  return bound;
}

Cost Estimator::estimate(const Plan &plan) {
  Chunks &chunks = caches->chunks;
  chunks.set(plan);
  RankState state(model, plan, chunks.getGroups(), cluster);
  int64_t count = microBatches(plan);
  Cost cost;
  cost.memory = caches->largestMemory(state, count);
  cost.seconds = double(count) * chunks.busiestSeconds();
  if (plan.pp > 1) {
    Chunks::Replayed replayed = chunks.replay(count);
    cost.seconds[Part::Experts] -= replayed.hidden;
    cost.seconds[Part::Bubble] = replayed.seconds - cost.seconds.total();
  }
  caches->addState(state, count, cost.seconds);
  cost.keys = chunks.keys();
  cost.rows = chunks.rows();
  cost.cuts = chunks.cuts();
  return cost;
}
