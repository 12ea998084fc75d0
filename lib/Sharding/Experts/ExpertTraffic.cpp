//===- ExpertTraffic.cpp - What ranks send for a mixture ------------------===//

#include "ExpertTraffic.h"

#include <cmath>

using namespace mlir;
using namespace hone;
using namespace hone::dist;

/// Slots of a rank's tokens.
static int64_t slotsOfRank(const Mixture &mixture, MixtureParts parts) {
  return mixture.slots() / (parts.groups * parts.blocks);
}

int64_t dist::capacityOf(const Mixture &mixture, MixtureParts parts,
                         double factor) {
  constexpr double rounding = 1e-9; // of the product below
  double even = double(slotsOfRank(mixture, parts)) / double(parts.groups);
  auto most = double(mostRowsOfPair(mixture, parts)); // less than infinity
  double rows = std::ceil(factor * even * (1 - rounding));
  return int64_t(std::clamp(rows, 1.0, most));
}

/// Rounded up to what messages show.
double dist::safeFactor(const Mixture &mixture, MixtureParts parts) {
  constexpr double digits = 100, rounding = 1e-9;
  double exact = double(mostRowsOfPair(mixture, parts) * parts.groups) /
                 double(slotsOfRank(mixture, parts));
  return std::ceil(exact * digits - rounding) / digits;
}

static ExpertTraffic trafficOf(CollectiveKind kind, double bytes,
                               const Group &group) {
  return {bytesSent(kind, group.ranks(), bytes), secondsOf(kind, group, bytes)};
}

static double bytesOfRow(Value rows) {
  auto type = llvm::cast<RankedTensorType>(rows.getType());
  return double(byteSize(type)) / double(type.getDimSize(0));
}

/// The tables that rows come from, and the results.
static SmallVector<EmbeddingOp> movedRows(const Mixture &mixture) {
  SmallVector<EmbeddingOp> all = {llvm::cast<EmbeddingOp>(mixture.tail[0])};
  for (Operation *op : mixture.ops)
    if (mixture.isSource(op))
      all.push_back(llvm::cast<EmbeddingOp>(op));
  return all;
}

ExpertTraffic dist::trafficOfGather(const Mixture &mixture, MixtureParts parts,
                                    const Group &group) {
  int64_t slots = slotsOfRank(mixture, parts);
  ExpertTraffic all = trafficOf(CollectiveKind::allGather,
                                double(slots) * sizeof(int64_t), group);
  for (EmbeddingOp op : movedRows(mixture)) {
    // Of a token there is one row, also of the sum of its results.
    bool isResult = op == mixture.tail[0];
    double rows = isResult ? double(slots / mixture.slotsPerToken)
                           : double(shapeOf(op.getTable())[0]) /
                                 double(mixture.slots()) * double(slots);
    double bytes = rows * bytesOfRow(op.getResult());
    all += trafficOf(CollectiveKind::allGather, bytes, group);
    all += trafficOf(CollectiveKind::reduceScatter,
                     bytes * double(group.ranks()), group);
  }
  return all;
}

ExpertTraffic dist::trafficOfExchange(const Mixture &mixture,
                                      MixtureParts parts, int64_t capacity,
                                      const Group &group) {
  ExpertTraffic all =
      trafficOf(CollectiveKind::allToAll,
                double(mixture.experts) * sizeof(int32_t), group);
  for (EmbeddingOp op : movedRows(mixture)) {
    double bytes = double(parts.groups * capacity) * bytesOfRow(op.getResult());
    all += trafficOf(CollectiveKind::allToAll, bytes, group);
    all += trafficOf(CollectiveKind::allToAll, bytes, group);
  }
  return all;
}
