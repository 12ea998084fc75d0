//===- UnitSeconds.cpp - Seconds of a rank's share of a unit --------------===//

#include "UnitSeconds.h"

using namespace hone;
using namespace hone::search;
using dist::CollectiveKind;
using dist::Group;
using dist::secondsOf;

Groups::Groups(const Plan &plan, const dist::Network &network) {
  enum Axis : unsigned { PP, DP, FS, EP, CP, TP };
  dist::Mesh mesh({{"pp", plan.pp, ""},
                   {"dp", plan.dp, ""},
                   {"fs", plan.fs, ""},
                   {"ep", plan.ep, ""},
                   {"cp", plan.cp, ""},
                   {"tp", plan.tp, ""}},
                  network);
  pp = mesh.group({PP});
  ep = mesh.group({EP});
  cp = mesh.group({CP});
  tp = mesh.group({TP});
  if (plan.state == StateLevel::None) {
    copies[0] = mesh.group({DP, EP, CP});
    copies[1] = mesh.group({DP, CP});
    return;
  }
  copies[0] = copies[1] = mesh.group({DP});
  parts[0] = mesh.group({FS, EP, CP});
  parts[1] = mesh.group({FS, CP});
}

namespace {
class UnitModel {
public:
  UnitModel(const Unit &unit, const Model &model, const Plan &plan,
            const Groups &groups, const Cluster &cluster)
      : unit(unit), model(model), plan(plan), cluster(cluster),
        tensor(groups.tp), context(groups.cp), experts(groups.ep),
        share(double(plan.microBatch) / double(plan.cp)), t(double(plan.tp)) {
    chooseRows();
  }

  UnitSeconds estimate(bool isLast) const;

private:
  double productSeconds(double flops) const;
  double weightSeconds(double parameters) const;
  double denseSeconds() const;
  double expertSeconds() const;
  double bytesOf(const Activations &activations) const;
  double movingSeconds(const Activations &activations) const;
  double sumSeconds() const;
  double roomOfAllToAll() const;
  double roomOfGather() const;
  void chooseRows();
  void addKeys(UnitSeconds &seconds) const;
  void addRows(UnitSeconds &seconds) const;

  const Unit &unit;
  const Model &model;
  const Plan &plan;
  const Cluster &cluster;
  const Group &tensor, &context, &experts;
  double share; ///< sequences of a micro-batch, by their positions here
  double t;
  RowExchange rows = RowExchange::AllToAll;
  double room = 1;       ///< of rows, over those of an even routing
  double rowSeconds = 0; ///< between ranks, of a pass
};
} // namespace

/// Of so many FLOPs per sequence.
double UnitModel::productSeconds(double flops) const {
  return share * flops / t / (cluster.peakFlops * cluster.efficiency);
}

/// Until so many weights are read.
double UnitModel::weightSeconds(double parameters) const {
  return parameters * model.weightBytes / t / cluster.memoryBandwidth;
}

double UnitModel::denseSeconds() const {
  return std::max(productSeconds(unit.productFlops),
                  weightSeconds(unit.parameters));
}

/// A rank's experts get as many rows as it has itself.
double UnitModel::expertSeconds() const {
  return std::max(productSeconds(unit.expertFlops),
                  weightSeconds(unit.expertParameters / double(plan.ep)));
}

/// Of a rank.
double UnitModel::bytesOf(const Activations &activations) const {
  return share * (activations.stream / (plan.dividesPositions ? t : 1) +
                  activations.inner / t + activations.rows * room);
}

double UnitModel::movingSeconds(const Activations &activations) const {
  return bytesOf(activations) / cluster.memoryBandwidth;
}

/// The stream's sum over tp; where tp divides positions, a scatter and a
/// gather.
double UnitModel::sumSeconds() const {
  double bytes = share * model.boundaryBytes;
  if (!plan.dividesPositions)
    return secondsOf(CollectiveKind::allReduce, tensor, bytes);
  return secondsOf(CollectiveKind::reduceScatter, tensor, bytes) +
         secondsOf(CollectiveKind::allGather, tensor, bytes / t);
}

/// Keys and values go around a ring beside attention,
/// are gathered before it, or positions are exchanged for heads. Where
/// key heads are fewer than ranks of tp, groups of ranks have copies.
void UnitModel::addKeys(UnitSeconds &seconds) const {
  if (plan.cp == 1 || unit.keyBytes == 0)
    return;
  double copies =
      std::max(1.0, t / double(std::max<int64_t>(model.keyHeads, 1)));
  double part = share * unit.keyBytes / t * copies; // this rank's positions
  double all = part * double(plan.cp);
  double ahead = productSeconds(unit.attentionFlops);
  double back = productSeconds(unit.attentionBackwardFlops);
  double hops = double(plan.cp - 1);
  // Keys and values are sent one after the other.
  double hop = 2 * secondsOf(CollectiveKind::shift, context, part / 2);
  // Gradients of keys and values travel in f32.
  double widened = all * 4 / model.weightBytes;
  double hopBack = hop + 2 * secondsOf(CollectiveKind::shift, context,
                                       part / 2 * 4 / model.weightBytes);
  double ring = std::max(hops * hop - ahead, 0.0);
  double ringBack = std::max(hops * hopBack - back, 0.0);
  double gather = secondsOf(CollectiveKind::allGather, context, part);
  double gatherBack =
      gather + secondsOf(CollectiveKind::reduceScatter, context, widened);
  double forward = ring, backward = ringBack;
  if (!model.takesRings || gather + gatherBack < forward + backward) {
    forward = gather;
    backward = gatherBack;
    seconds.keys = KeyExchange::Gather;
  }
  if (model.keyHeads % (plan.cp * plan.tp) == 0) {
    double heads = secondsOf(CollectiveKind::allToAll, context,
                             share * unit.headBytes / t);
    if (2 * heads < forward + backward) {
      forward = backward = heads;
      seconds.keys = KeyExchange::Heads;
    }
  }
  seconds.forward[Part::Context] += forward;
  seconds.backwardInput[Part::Context] += backward;
  if (plan.keep == Keep::Borders)
    seconds.backwardInput[Part::Context] += forward;
}

/// What --moe-factor is by default. A plan that hides rows is a published one,
/// whose ranks send as many rows as there are.
double UnitModel::roomOfAllToAll() const { return plan.hidesRows ? 1 : 1.25; }

/// For any routing: of each token the experts that a rank has.
double UnitModel::roomOfGather() const {
  double chosen = std::max(unit.rowBytes / model.boundaryBytes, 1.0);
  double own = double(model.experts) / double(plan.ep);
  return double(plan.ep) * std::min(chosen, own) / chosen;
}

/// Rows go to the ranks of their experts and back, or all tokens to all ranks,
/// which then have room for any routing.
void UnitModel::chooseRows() {
  if (plan.ep == 1 || unit.rowBytes == 0)
    return;
  double tokens = share * model.boundaryBytes;
  double there = 2 * secondsOf(CollectiveKind::allToAll, experts,
                               share * unit.rowBytes * roomOfAllToAll());
  double gather = secondsOf(CollectiveKind::allGather, experts, tokens) +
                  secondsOf(CollectiveKind::reduceScatter, experts,
                            tokens * double(plan.ep));
  // Both ways, and what moves the rows: once forward, twice backward.
  auto total = [&](double between, double room) {
    return 2 * between +
           3 * share * unit.moved.rows * room / cluster.memoryBandwidth;
  };
  bool isGather =
      total(gather, roomOfGather()) < total(there, roomOfAllToAll());
  rows = isGather ? RowExchange::Gather : RowExchange::AllToAll;
  room = isGather ? roomOfGather() : roomOfAllToAll();
  rowSeconds = isGather ? gather : there;
}

void UnitModel::addRows(UnitSeconds &seconds) const {
  if (plan.ep == 1 || unit.rowBytes == 0)
    return;
  seconds.rows = rows;
  double forward = rowSeconds, backward = forward;
  if (plan.keep == Keep::Borders)
    backward += forward;
  if (plan.hidesRows) { // each beside the other pass of another micro-batch
    double ahead = seconds.forward.total();
    double back =
        seconds.backwardInput.total() + seconds.backwardWeight.total();
    forward = std::max(forward - back, 0.0);
    backward = std::max(backward - ahead, 0.0);
  }
  seconds.forward[Part::Experts] += forward;
  seconds.backwardInput[Part::Experts] += backward;
}

/// Backward, twice the forward pass: products make the gradients of both of
/// their operands. Of attention there are as many as the unit says.
UnitSeconds UnitModel::estimate(bool isLast) const {
  UnitSeconds seconds;
  double dense = denseSeconds() + expertSeconds();
  double attention = productSeconds(unit.attentionFlops);
  double moving = movingSeconds(unit.moved), sums = double(unit.sums);
  seconds.forward[Part::Products] = dense + attention;
  seconds.forward[Part::Elements] = moving;
  seconds.forward[Part::Tensor] = sums * sumSeconds();
  Seconds &back = seconds.backwardInput;
  back[Part::Products] = dense + productSeconds(unit.attentionBackwardFlops);
  back[Part::Elements] = 2 * moving;
  back[Part::Tensor] = sums * sumSeconds();
  seconds.backwardWeight[Part::Products] = dense;

  Keep keep = isLast ? Keep::All : plan.keep;
  if (keep == Keep::Borders) {
    back += seconds.forward;
  } else if (keep == Keep::Products) {
    back[Part::Products] += productSeconds(unit.remadeFlops);
    back[Part::Elements] += movingSeconds(unit.remade);
  }
  addKeys(seconds);
  addRows(seconds);

  Activations all = unit.saved;
  all += unit.cheap;
  Activations border;
  border.stream = model.boundaryBytes;
  seconds.savedBytes = bytesOf(keep == Keep::All        ? all
                               : keep == Keep::Products ? unit.saved
                                                        : border);
  // Gradients of what is saved, or what is computed again.
  seconds.transientBytes = bytesOf(all);
  return seconds;
}

UnitSeconds hone::search::unitSeconds(const Unit &unit, bool isLast,
                                      const Model &model, const Plan &plan,
                                      const Groups &groups,
                                      const Cluster &cluster) {
  return UnitModel(unit, model, plan, groups, cluster).estimate(isLast);
}
