//===- RankState.cpp - Parameters, gradients and optimizer state ----------===//

#include "RankState.h"

using namespace hone;
using namespace hone::search;
using dist::CollectiveKind;
using dist::Group;
using dist::secondsOf;

/// After the last micro-batch, with nothing beside it: gradients are summed
/// among copies, or scattered, and the updated weights gathered.
double RankState::onceSeconds(size_t kind, double parameters) const {
  if (parameters == 0)
    return 0;
  double gradients = parameters * model.gradientBytes;
  double parts = double(groups.parts.ranks());
  double seconds = secondsOf(CollectiveKind::allReduce, groups.copies[kind],
                             gradients / parts);
  if (plan.state == StateLevel::Zero1)
    seconds +=
        secondsOf(CollectiveKind::reduceScatter, groups.parts, gradients);
  if (plan.state == StateLevel::Zero1 || plan.state == StateLevel::Zero2)
    seconds += secondsOf(CollectiveKind::allGather, groups.parts,
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
  for (size_t kind : {0, 1}) {
    double parameters = units.parameters[kind] / count;
    if (parameters == 0)
      continue;
    double parts = double(groups.parts.ranks());
    gather += secondsOf(CollectiveKind::allGather, groups.parts,
                        parameters * model.weightBytes / parts);
    scatter += secondsOf(CollectiveKind::reduceScatter, groups.parts,
                         parameters * model.gradientBytes);
    sum += secondsOf(CollectiveKind::allReduce, groups.copies[kind],
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
    for (size_t kind : {0, 1})
      seconds += onceSeconds(kind, units.parameters[kind]);
  return seconds;
}

/// Masters and moments are read and written, gradients read, weights written.
double RankState::updateSeconds(const RankUnits &units) const {
  double bytes = 2 * (model.stateBytes - model.weightBytes) +
                 model.gradientBytes + model.weightBytes;
  double seconds = 0;
  for (size_t kind : {0, 1})
    seconds += bytes * units.parameters[kind] / double(groups.parts.ranks()) /
               cluster.memoryBandwidth;
  return seconds;
}

/// What the update needs besides: sums of gradients, all of which the norm
/// waits for, and then weights that are gathered one unit ahead, and moved:
/// those of which tp divides rows and fs columns.
double RankState::updateBytes(const RankUnits &units) const {
  double parts = double(groups.parts.ranks()), sums = 0;
  for (size_t kind : {0, 1})
    if (plan.state == StateLevel::Zero1 ||
        (plan.state < StateLevel::Zero1 && groups.copies[kind].ranks() > 1))
      sums += units.parameters[kind] * model.gradientBytes / parts;
  // Else parts are of rows, which are gathered where they belong.
  bool gathers =
      parts > 1 && plan.tp > 1 &&
      (plan.state == StateLevel::Zero1 || plan.state == StateLevel::Zero2);
  return std::max(sums, gathers ? 2 * units.largest * model.weightBytes : 0);
}

void RankState::addMemory(const RankUnits &units, RankMemory &memory) const {
  bool dividesGradients = plan.state >= StateLevel::Zero2;
  bool dividesWeights = plan.state >= StateLevel::Zero3;
  for (size_t kind : {0, 1}) {
    double parameters = units.parameters[kind];
    double parts = double(groups.parts.ranks());
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
        (units.parameters[0] + units.parameters[1]) * model.weightBytes;
  if (dividesGradients)
    memory.transient += units.largest * model.gradientBytes;
  // Activations of a stage have memory of their own, also in the update.
  double room = memory.transient + (plan.pp == 1 ? memory.activations : 0);
  memory.transient += std::max(updateBytes(units) - room, 0.0);
}
