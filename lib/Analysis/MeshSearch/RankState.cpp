//===- RankState.cpp - Parameters, gradients and optimizer state ----------===//

#include "RankState.h"

#include "UnitSeconds.h"

using namespace hone;
using namespace hone::search;
using dist::CollectiveKind;
using dist::Group;
using dist::secondsOf;

RankState::RankState(const Model &model, const Plan &plan,
                     const dist::Mesh &mesh, const Cluster &cluster)
    : model(model), plan(plan), cluster(cluster) {
  kinds[1].isExpert = !(kinds[0].isExpert = false);
  if (plan.state == StateLevel::None) {
    kinds[0].copies = mesh.group({DP, EP, CP});
    kinds[1].copies = mesh.group({DP, CP});
    return;
  }
  for (Kind &kind : kinds)
    kind.copies = mesh.group({DP});
  kinds[0].parts = mesh.group({FS, EP, CP});
  kinds[1].parts = mesh.group({FS, CP});
}

/// After the last micro-batch, with nothing beside it: gradients are summed
/// among copies, or scattered, and the updated weights gathered.
double RankState::onceSeconds(const Kind &kind, double parameters) const {
  if (parameters == 0)
    return 0;
  double gradients = parameters * model.gradientBytes;
  double parts = double(kind.parts.ranks());
  double seconds =
      secondsOf(CollectiveKind::allReduce, kind.copies, gradients / parts);
  if (plan.state == StateLevel::Zero1)
    seconds += secondsOf(CollectiveKind::reduceScatter, kind.parts, gradients);
  if (plan.state == StateLevel::Zero1 || plan.state == StateLevel::Zero2)
    seconds += secondsOf(CollectiveKind::allGather, kind.parts,
                         parameters * model.weightBytes / parts);
  return seconds;
}

/// What collectives in each micro-batch, one per unit and direction, add to a
/// step. Each direction takes as long as the longest of its work, its
/// collectives among parts, and sums between copies in the last micro-batch;
/// the first gather and the last scatter have nothing beside them.
double RankState::repeatedSeconds(const RankUnits &units,
                                  int64_t microBatches) const {
  double count = double(std::max<int64_t>(units.count, 1));
  double gather = 0, scatter = 0, sum = 0;
  for (const Kind &kind : kinds) {
    double parameters = kind.count(units) / count;
    if (parameters == 0)
      continue;
    double parts = double(kind.parts.ranks());
    gather += secondsOf(CollectiveKind::allGather, kind.parts,
                        parameters * model.weightBytes / parts);
    scatter += secondsOf(CollectiveKind::reduceScatter, kind.parts,
                         parameters * model.gradientBytes);
    sum += secondsOf(CollectiveKind::allReduce, kind.copies,
                     parameters * model.gradientBytes / parts);
  }
  bool gathers = plan.state != StateLevel::Zero2;
  bool again = plan.state == StateLevel::Zero3;
  double ahead = units.forward / count, back = units.backward / count;
  double forward = gathers ? gather : 0;
  double backward = (again ? gather : 0) + scatter;
  double extra = std::max(forward - ahead, 0.0);
  // Copies are summed each time that a gradient was scattered; with zero2 once.
  extra += std::max(std::max(backward, gathers ? sum : 0) - back, 0.0);
  return double(microBatches) * (count * extra + forward + scatter);
}

double RankState::dataSeconds(const RankUnits &units,
                              int64_t microBatches) const {
  bool isRepeated = plan.state >= StateLevel::Zero2;
  double seconds = isRepeated ? repeatedSeconds(units, microBatches) : 0;
  if (plan.state <= StateLevel::Zero2)
    for (const Kind &kind : kinds)
      seconds += onceSeconds(kind, kind.count(units));
  return seconds;
}

/// Masters and moments are read and written, gradients read, weights written.
double RankState::updateSeconds(const RankUnits &units) const {
  double bytes = 2 * (model.stateBytes - model.weightBytes) +
                 model.gradientBytes + model.weightBytes;
  double seconds = 0;
  for (const Kind &kind : kinds)
    seconds += bytes * kind.count(units) / double(kind.parts.ranks()) /
               cluster.memoryBandwidth;
  return seconds;
}

void RankState::addMemory(const RankUnits &units, RankMemory &memory) const {
  bool dividesGradients = plan.state >= StateLevel::Zero2;
  bool dividesWeights = plan.state >= StateLevel::Zero3;
  for (const Kind &kind : kinds) {
    double parameters = kind.count(units);
    double parts = double(kind.parts.ranks());
    memory.state +=
        parameters * (model.stateBytes - model.weightBytes) / parts +
        parameters * model.weightBytes / (dividesWeights ? parts : 1);
    memory.gradients +=
        parameters * model.gradientBytes / (dividesGradients ? parts : 1);
  }
  // Weights of a unit and of the next, and gradients before they are scattered;
  // zero3-keep has the weights of all units.
  if (plan.state == StateLevel::Zero3)
    memory.transient += 2 * units.largest * model.weightBytes;
  if (plan.state == StateLevel::Zero3Keep)
    memory.transient +=
        (units.parameters + units.expertParameters) * model.weightBytes;
  if (dividesGradients)
    memory.transient += units.largest * model.gradientBytes;
}
