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
  parts = mesh.group({FS});
  copies[0] = mesh.group({DP, EP, CP});
  copies[1] = mesh.group({DP, CP});
}

namespace {
/// Attention of a unit, with the exchange of keys.
struct AttentionSeconds {
  KeyExchange keys = KeyExchange::Ring;
  Seconds forward, backward;
  double transientBytes = 0; ///< scores

  double total() const { return forward.total() + backward.total(); }
};

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
  double expertProductSeconds() const;
  double weightSeconds(double parameters) const;
  double denseSeconds() const;
  double expertSeconds() const;
  double weightGradientSeconds() const;
  double bytesOf(const Activations &activations) const;
  double movingSeconds(const Activations &activations) const;
  double sumSeconds() const;
  double roomOfAllToAll() const;
  double roomOfGather() const;
  void chooseRows();
  bool isInParts() const;
  AttentionSeconds kernelSeconds() const;
  AttentionSeconds partsSeconds(KeyExchange keys) const;
  double mergeSeconds() const;
  double runsSeconds() const;
  void addExchange(AttentionSeconds &attention) const;
  AttentionSeconds attentionBy(KeyExchange keys) const;
  AttentionSeconds cheapestAttention() const;
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

double UnitModel::expertProductSeconds() const {
  double time = cluster.expertEfficiency > 0
                    ? cluster.efficiency / cluster.expertEfficiency
                    : model.expertTime;
  return productSeconds(unit.expertFlops * time);
}

/// Until so many weights are read.
double UnitModel::weightSeconds(double parameters) const {
  return parameters * model.weightBytes / t / cluster.memoryBandwidth;
}

double UnitModel::denseSeconds() const {
  return std::max(productSeconds(unit.productFlops * model.productTime),
                  weightSeconds(unit.parameters));
}

/// A rank's experts get as many rows as it has itself.
double UnitModel::expertSeconds() const {
  return std::max(expertProductSeconds(),
                  weightSeconds(unit.expertParameters / double(plan.ep)));
}

/// Of a rank.
double UnitModel::bytesOf(const Activations &activations) const {
  return share * (activations.stream / (plan.dividesPositions ? t : 1) +
                  activations.gathered + activations.inner / t +
                  activations.rows * room);
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

/// Each gradient is added to what is in memory: with few tokens in a
/// micro-batch, that takes longer than the product.
double UnitModel::weightGradientSeconds() const {
  auto of = [&](double products, double parameters) {
    double bytes = 2 * parameters * model.gradientBytes / t;
    return std::max(products, bytes / cluster.memoryBandwidth);
  };
  return of(productSeconds(unit.productFlops * model.productTime),
            unit.parameters) +
         of(expertProductSeconds(), unit.expertParameters / double(plan.ep));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

bool UnitModel::isInParts() const {
  return model.attention == AttentionKernel::None && !plan.fusesAttention &&
         unit.scores > 0;
}

AttentionSeconds UnitModel::kernelSeconds() const {
  AttentionSeconds attention;
  attention.forward[Part::Products] = productSeconds(unit.attentionFlops);
  attention.backward[Part::Products] =
      productSeconds(unit.attentionBackwardFlops);
  return attention;
}

/// Bytes of a score, as hone-decompose-attention has them: products of queries
/// and keys write f32, others read 16 bits, forward and backward. Maps between
/// them read and write both.
AttentionSeconds UnitModel::partsSeconds(KeyExchange keys) const {
  double cp = double(plan.cp), computed = 1, atOnce = 1;
  if (plan.cp > 1 && keys == KeyExchange::Ring) { // leaves out later chunks
    computed = (cp + 1) / (2 * cp);
    atOnce = 1 / cp;
  }
  double scores = share * unit.scores / t;
  double product = productSeconds(unit.scoreFlops) / 2 * computed;
  auto moving = [&](double bytes) {
    return bytes * scores * computed / cluster.memoryBandwidth;
  };
  double wide = std::max(product, moving(4));
  double narrow = std::max(product, moving(2));
  AttentionSeconds attention;
  attention.forward[Part::Products] = wide + narrow;
  attention.forward[Part::Elements] = moving(6);
  attention.backward[Part::Products] = 2 * wide + 3 * narrow;
  attention.backward[Part::Elements] = moving(16);
  attention.transientBytes = 10 * scores * atOnce;
  return attention;
}

/// Each step of a ring but the first adds to what is in memory in f32: to the
/// result, or backward to the gradient of queries.
double UnitModel::mergeSeconds() const {
  double result = share * (unit.headBytes - unit.keyBytes) / 2 / t;
  double widened = result * 4 / model.weightBytes;
  return double(plan.cp - 1) * 3 * widened / cluster.memoryBandwidth;
}

/// Keys and values go around a ring beside attention, are gathered before it,
/// or positions are exchanged for heads. Where key heads are fewer than ranks
/// of tp, groups of ranks have copies.
void UnitModel::addExchange(AttentionSeconds &attention) const {
  double copies =
      std::max(1.0, t / double(std::max<int64_t>(model.keyHeads, 1)));
  double part = share * unit.keyBytes / t * copies; // this rank's positions
  // Gradients of keys and values travel in f32.
  double widened = part * 4 / model.weightBytes;
  double forward = 0, backward = 0;
  switch (attention.keys) {
  case KeyExchange::Ring: {
    double hops = double(plan.cp - 1);
    // Keys and values are sent one after the other.
    double hop = 2 * secondsOf(CollectiveKind::shift, context, part / 2);
    double hopBack =
        hop + 2 * secondsOf(CollectiveKind::shift, context, widened / 2);
    forward = std::max(hops * hop - attention.forward.total(), 0.0);
    backward = std::max(hops * hopBack - attention.backward.total(), 0.0);
    break;
  }
  case KeyExchange::Gather:
    forward = secondsOf(CollectiveKind::allGather, context, part);
    backward = forward + secondsOf(CollectiveKind::reduceScatter, context,
                                   widened * double(plan.cp));
    break;
  case KeyExchange::Heads:
    forward = backward = secondsOf(CollectiveKind::allToAll, context,
                                   share * unit.headBytes / t);
    break;
  }
  attention.forward[Part::Context] = forward;
  attention.backward[Part::Context] = backward;
}

/// Where keys are gathered each of the two runs of a rank's queries has a
/// kernel of its own, whose gradients of all keys and values are then added.
double UnitModel::runsSeconds() const {
  return 3 * share * unit.keyBytes * double(plan.cp) / t /
         cluster.memoryBandwidth;
}

AttentionSeconds UnitModel::attentionBy(KeyExchange keys) const {
  AttentionSeconds attention =
      isInParts() ? partsSeconds(keys) : kernelSeconds();
  attention.keys = keys;
  if (plan.cp > 1 && keys == KeyExchange::Ring) {
    attention.forward[Part::Elements] += mergeSeconds();
    attention.backward[Part::Elements] += mergeSeconds();
  }
  if (plan.cp > 1 && keys == KeyExchange::Gather && !isInParts())
    attention.backward[Part::Elements] += runsSeconds();
  if (plan.cp > 1 && unit.keyBytes > 0)
    addExchange(attention);
  return attention;
}

AttentionSeconds UnitModel::cheapestAttention() const {
  bool takesRing = model.takesRings || plan.cp == 1;
  AttentionSeconds best =
      attentionBy(takesRing ? KeyExchange::Ring : KeyExchange::Gather);
  if (plan.cp == 1 || unit.keyBytes == 0)
    return best;
  auto consider = [&](KeyExchange keys) {
    if (AttentionSeconds other = attentionBy(keys);
        other.total() < best.total())
      best = other;
  };
  consider(KeyExchange::Gather);
  if (model.keyHeads % (plan.cp * plan.tp) == 0)
    consider(KeyExchange::Heads);
  return best;
}

//===----------------------------------------------------------------------===//
// Rows of experts
//===----------------------------------------------------------------------===//

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
  AttentionSeconds attention = cheapestAttention();
  double moving = movingSeconds(unit.moved), sums = double(unit.sums);
  seconds.keys = attention.keys;
  seconds.forward = attention.forward;
  seconds.forward[Part::Products] += dense;
  seconds.forward[Part::Elements] += moving;
  seconds.forward[Part::Tensor] = sums * sumSeconds();
  Seconds &back = seconds.backwardInput;
  back = attention.backward;
  back[Part::Products] += dense;
  back[Part::Elements] += 2 * moving;
  back[Part::Tensor] = sums * sumSeconds();
  seconds.backwardWeight[Part::Products] = weightGradientSeconds();

  Keep keep = isLast ? Keep::All : plan.keep;
  if (keep == Keep::Borders) {
    back += seconds.forward;
  } else if (keep == Keep::Products) {
    back[Part::Products] += productSeconds(unit.remadeFlops);
    back[Part::Elements] += movingSeconds(unit.remade);
  }
  addRows(seconds);

  Activations all = unit.saved;
  all += unit.cheap;
  Activations border;
  border.stream = model.boundaryBytes;
  seconds.savedBytes = bytesOf(keep == Keep::All        ? all
                               : keep == Keep::Products ? unit.saved
                                                        : border);
  seconds.gradientBytes = bytesOf(unit.results);
  // What is computed again is kept until gradients of weights are made of it.
  if (keep == Keep::Products)
    seconds.gradientBytes += bytesOf(unit.cheapOperands);
  else if (keep == Keep::Borders)
    seconds.gradientBytes += bytesOf(unit.operands);
  // Gradients of what is saved, or what is computed again.
  seconds.transientBytes = bytesOf(all) + attention.transientBytes;
  return seconds;
}

UnitSeconds hone::search::unitSeconds(const Unit &unit, bool isLast,
                                      const Model &model, const Plan &plan,
                                      const Groups &groups,
                                      const Cluster &cluster) {
  return UnitModel(unit, model, plan, groups, cluster).estimate(isLast);
}
