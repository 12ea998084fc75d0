//===- Chunks.cpp - Units cut into the chunks of a pipeline ---------------===//

#include "Chunks.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>
#include <tuple>

using namespace hone;
using namespace hone::search;
using dist::CollectiveKind;
using pipeline::ActionKind;
using pipeline::ScheduleKind;

Chunks::Chunks(const Model &model, const Cluster &cluster)
    : model(model), cluster(cluster) {
  for (const Unit &unit : model.units) {
    auto found =
        llvm::find_if(kinds, [&](const Unit *kind) { return *kind == unit; });
    kindOf.push_back(size_t(found - kinds.begin()));
    if (found == kinds.end())
      kinds.push_back(&unit);
  }
}

//===----------------------------------------------------------------------===//
// From one plan to the next
//===----------------------------------------------------------------------===//

/// What seconds of units depend on.
static auto unitFactsOf(const Plan &plan) {
  return std::tie(plan.ep, plan.cp, plan.tp, plan.dividesPositions,
                  plan.microBatch, plan.keep, plan.hidesRows,
                  plan.fusesAttention);
}

static bool isV(const Plan &plan) {
  return plan.schedule.kind == ScheduleKind::ZeroBubbleV;
}

/// Whether chunks are the same where units are.
static bool haveSameChunks(const Plan &a, const Plan &b) {
  return a.pp == b.pp && a.dp * a.fs == b.dp * b.fs && isV(a) == isV(b) &&
         a.schedule.chunksPerRank == b.schedule.chunksPerRank &&
         a.cuts == b.cuts;
}

void Chunks::set(const Plan &next) {
  bool isFirst = seconds.empty();
  std::array<int64_t, 6> axes = {next.pp, next.dp, next.fs,
                                 next.ep, next.cp, next.tp};
  auto known = allGroups.find(axes);
  if (known == allGroups.end())
    known = allGroups.insert({axes, Groups(next, cluster.network)}).first;
  groups = &known->second;
  bool hasUnits = !isFirst && unitFactsOf(plan) == unitFactsOf(next);
  bool hasChunks = hasUnits && haveSameChunks(plan, next);
  bool hasShares = hasChunks && plan.schedule.kind == next.schedule.kind;
  plan = next;
  if (!hasUnits)
    findSeconds();
  if (!hasChunks) {
    findBorders();
    findWork();
  }
  if (!hasShares)
    findShares();
}

void Chunks::findSeconds() {
  seconds.clear();
  for (const Unit *kind : kinds)
    seconds.push_back(
        unitSeconds(*kind, /*isLast=*/false, model, plan, *groups, cluster));
  seconds.push_back(unitSeconds(model.units.back(), /*isLast=*/true, model,
                                plan, *groups, cluster));
  before.assign(1, 0);
  for (size_t unit = 0; unit != kindOf.size(); ++unit) {
    const UnitSeconds &of = secondsOf(unit);
    before.push_back(before.back() + of.forward.total() +
                     of.backwardInput.total() + of.backwardWeight.total());
  }
}

/// Cuts a chain into chunks of at least one unit and at most `longest` seconds;
/// false if there would be more. Later chunks are filled first: the ranks of
/// earlier ones have more micro-batches in flight.
static bool cutChain(llvm::ArrayRef<double> before, size_t chunks,
                     double longest, std::vector<size_t> &borders) {
  size_t end = before.size() - 1;
  borders.assign(chunks + 1, end);
  for (size_t chunk = chunks; chunk-- != 0;) {
    size_t first = end;
    while (first > chunk && before[end] - before[first - 1] <= longest)
      --first;
    if (first == end)
      return false;
    borders[chunk] = end = first;
  }
  return end == 0;
}

/// The longest chunk is as short as units allow: a step takes the sum of all
/// chunks, which is given, and the longest once more per further micro-batch.
void Chunks::findBorders() {
  if (!plan.cuts.empty()) {
    borders.assign(1, 0);
    llvm::append_range(borders, plan.cuts);
    borders.push_back(kindOf.size());
    return;
  }
  size_t chunks = size_t(plan.chunks());
  double low = before.back() / double(chunks), high = before.back();
  for (int round = 0; round != 30; ++round) {
    double middle = (low + high) / 2;
    (cutChain(before, chunks, middle, borders) ? high : low) = middle;
  }
  cutChain(before, chunks, high, borders);
}

static double arithmetic(const Seconds &seconds) {
  return seconds[Part::Products] + seconds[Part::Elements];
}

void Chunks::findWork() {
  // Ranks of tp send a part each.
  message = dist::secondsOf(CollectiveKind::shift, groups->pp,
                            model.boundaryBytes * double(plan.microBatch) /
                                double(plan.cp * plan.tp));
  work.assign(size_t(plan.chunks()), {});
  for (size_t chunk = 0; chunk != work.size(); ++chunk) {
    Work &of = work[chunk];
    for (size_t unit = borders[chunk]; unit != borders[chunk + 1]; ++unit) {
      of.forward += secondsOf(unit).forward.total();
      of.backwardInput += secondsOf(unit).backwardInput.total();
      of.backwardWeight += secondsOf(unit).backwardWeight.total();
      of.forwardRows += secondsOf(unit).forward[Part::Experts];
      of.backwardRows += secondsOf(unit).backwardInput[Part::Experts];
      of.forwardArithmetic += arithmetic(secondsOf(unit).forward);
      of.backwardArithmetic += arithmetic(secondsOf(unit).backwardInput);
    }
    of.forward += message;
    of.backwardInput += message;
  }
}

bool Chunks::splitsBackward() const {
  return isV(plan) || plan.schedule.kind == ScheduleKind::ZeroBubbleH1;
}

pipeline::Shape Chunks::shape(int64_t microBatches) const {
  return {int(plan.pp), plan.schedule.chunksPerRank, int(microBatches),
          isV(plan) ? pipeline::Placement::V : pipeline::Placement::Loop};
}

/// At most, of a micro-batch: whichever chunks run together.
double Chunks::mostHidden(int rank) const {
  pipeline::Shape places = shape(1);
  Work longest;
  for (int index = 0; index != places.chunksPerRank; ++index) {
    const Work &of = work[size_t(places.chunkOf(rank, index))];
    longest.forwardArithmetic =
        std::max(longest.forwardArithmetic, of.forwardArithmetic);
    longest.backwardArithmetic =
        std::max(longest.backwardArithmetic, of.backwardArithmetic);
    longest.backwardWeight =
        std::max(longest.backwardWeight, of.backwardWeight);
  }
  double hidden = 0;
  for (int index = 0; index != places.chunksPerRank; ++index) {
    Work of = work[size_t(places.chunkOf(rank, index))];
    of.forwardArithmetic = longest.forwardArithmetic;
    of.backwardArithmetic = longest.backwardArithmetic;
    of.backwardWeight = longest.backwardWeight;
    hidden += hiddenSeconds(of, of);
  }
  return hidden;
}

void Chunks::findShares() {
  pipeline::Shape places = shape(1);
  shares.assign(size_t(plan.pp), {});
  busiestRank = 0;
  for (size_t rank = 0; rank != shares.size(); ++rank) {
    RankShare &share = shares[rank];
    for (int index = 0; index != places.chunksPerRank; ++index) {
      size_t chunk = size_t(places.chunkOf(int(rank), index));
      share.work += work[chunk].total();
      for (size_t unit = borders[chunk]; unit != borders[chunk + 1]; ++unit) {
        const Unit &facts = model.units[unit];
        const UnitSeconds &of = secondsOf(unit);
        double dense = facts.parameters / double(plan.tp);
        double experts = facts.expertParameters / double(plan.tp * plan.ep);
        share.units.parameters[0] += dense;
        share.units.parameters[1] += experts;
        share.units.largest = std::max(share.units.largest, dense + experts);
        share.units.count += dense + experts > 0;
        share.units.forward += arithmetic(of.forward);
        share.units.backward +=
            arithmetic(of.backwardInput) + arithmetic(of.backwardWeight);
        share.transientBytes =
            std::max(share.transientBytes, of.transientBytes);
      }
    }
    share.hidden = mostHidden(int(rank));
    // Its first chunk gets no value before those before it have computed one.
    // After its last gradient they compute theirs; a split backward pass leaves
    // weights of its own for that time.
    for (int chunk = 0; chunk != places.chunkOf(int(rank), 0); ++chunk) {
      share.ahead += work[size_t(chunk)].forward;
      share.behind += splitsBackward() ? 0 : work[size_t(chunk)].backward();
    }
    if (share.work > shares[busiestRank].work)
      busiestRank = rank;
  }
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

Seconds Chunks::busiestSeconds() const {
  pipeline::Shape places = shape(1);
  Seconds sum;
  for (int index = 0; index != places.chunksPerRank; ++index) {
    size_t chunk = size_t(places.chunkOf(int(busiestRank), index));
    for (size_t unit = borders[chunk]; unit != borders[chunk + 1]; ++unit) {
      const UnitSeconds &of = secondsOf(unit);
      for (const Seconds &part :
           {of.forward, of.backwardInput, of.backwardWeight})
        sum += part;
    }
    sum[Part::Stages] += 2 * message;
  }
  return sum;
}

/// A list's middle repeats itself, so a short one has the same peaks; an
/// interleaved one's first group depends on the remainder.
llvm::ArrayRef<pipeline::KeptWindows> Chunks::windows(int64_t microBatches) {
  bool isSteady = plan.schedule.kind != ScheduleKind::GPipe;
  int64_t count = microBatches;
  if (isSteady && count > 4 * plan.pp)
    count = 4 * plan.pp + count % plan.pp;
  std::array<int64_t, 5> key = {int64_t(plan.schedule.kind),
                                plan.schedule.chunksPerRank, plan.pp, count,
                                plan.schedule.overlaps};
  std::vector<pipeline::KeptWindows> &kept = known[key];
  if (kept.empty())
    kept = pipeline::countKept(
        pipeline::generateSchedule(plan.schedule, int(plan.pp), int(count)));
  return kept;
}

/// Windows of all chunks are kept at the same time.
std::vector<double> Chunks::activationBytes(int64_t microBatches) {
  pipeline::Shape places = shape(1);
  std::vector<double> bytes(size_t(plan.pp), 0.0);
  for (auto [chunk, kept] : llvm::enumerate(windows(microBatches)))
    for (size_t unit = borders[chunk]; unit != borders[chunk + 1]; ++unit)
      bytes[size_t(places.rankOf(int(chunk)))] +=
          kept.saved * secondsOf(unit).savedBytes +
          kept.grads * secondsOf(unit).gradientBytes;
  return bytes;
}

double Chunks::shortest(int64_t microBatches) const {
  double longest = 0;
  for (const RankShare &share : shares) {
    double work = share.work - (plan.schedule.overlaps ? share.hidden : 0);
    longest = std::max(longest, share.ahead + double(microBatches) * work +
                                    share.behind);
  }
  return longest;
}

/// Of a forward and a backward action of two micro-batches: rows of each travel
/// beside the arithmetic of the other.
double Chunks::hiddenSeconds(const Work &forward, const Work &backward) const {
  double back = backward.backwardArithmetic +
                (splitsBackward() ? 0 : backward.backwardWeight);
  return std::min(forward.forwardRows, back) +
         std::min(backward.backwardRows, forward.forwardArithmetic);
}

double Chunks::secondsOfOverlap(const pipeline::Action &forward,
                                const pipeline::Action &backward) const {
  const Work &ahead = work[size_t(forward.chunk)];
  const Work &back = work[size_t(backward.chunk)];
  return ahead.forward + back.backwardInput +
         (splitsBackward() ? 0 : back.backwardWeight) -
         hiddenSeconds(ahead, back);
}

Chunks::Replayed Chunks::replay(int64_t microBatches) const {
  if (plan.pp == 1)
    return {double(microBatches) * shares.front().work, 0};
  pipeline::Schedule schedule =
      pipeline::placeTransfers(pipeline::generateSchedule(
          plan.schedule, int(plan.pp), int(microBatches)));
  // Messages are part of the work of those who send them.
  pipeline::ScheduleSeconds times;
  times.messages.assign(schedule.channels.size(), 0);
  for (const Work &of : work)
    times.chunks.push_back(pipeline::ChunkSeconds::of(
        of.forward, of.backwardInput, of.backwardWeight));
  Replayed replayed;
  for (auto [rank, list] : llvm::enumerate(schedule.ranks))
    for (auto [position, action] : llvm::enumerate(list)) {
      if (!action.overlapsNext)
        continue;
      const pipeline::Action &next = list[position + 1];
      times.overlaps[{action.chunk, next.chunk}] =
          secondsOfOverlap(action, next);
      if (rank == busiestRank)
        replayed.hidden +=
            hiddenSeconds(work[size_t(action.chunk)], work[size_t(next.chunk)]);
    }
  replayed.seconds = pipeline::runSchedule(schedule, times).makespan;
  return replayed;
}

KeyExchange Chunks::keys() const {
  for (size_t unit = 0; unit != kindOf.size(); ++unit)
    if (model.units[unit].keyBytes > 0)
      return secondsOf(unit).keys;
  return KeyExchange::Ring;
}

RowExchange Chunks::rows() const {
  for (size_t unit = 0; unit != kindOf.size(); ++unit)
    if (model.units[unit].rowBytes > 0)
      return secondsOf(unit).rows;
  return RowExchange::AllToAll;
}
