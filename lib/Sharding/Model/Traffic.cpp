//===- Traffic.cpp - What the ranks of a program send ---------------------===//

#include "hone/Sharding/Model/Traffic.h"

#include <cmath>
#include <map>
#include <tuple>

using namespace mlir;
using namespace hone;
using namespace hone::dist;

std::optional<Transfer> dist::transferOf(Operation *op, const Mesh &mesh) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective)
    return std::nullopt;
  Transfer transfer;
  transfer.op = op;
  transfer.collective = collective.getCollectiveKind();
  transfer.kind = op->getName().stripDialect().str();
  if (std::optional<ReduceKind> combiner = collective.getCombiner())
    transfer.kind += " " + stringifyReduceKind(*combiner).str();
  transfer.axes = axesOf(collective.getAxes(), mesh);
  int64_t ranks = mesh.count(transfer.axes);
  if (ranks == 1)
    return std::nullopt;
  transfer.element = getElementTypeOrSelf(op->getOperand(0).getType());
  transfer.bytes = std::llround(collective.getBytesSent(ranks));
  transfer.seconds = secondsOf(transfer.collective, mesh.group(transfer.axes),
                               collective.getBytesGiven());
  return transfer;
}

std::vector<Transfer> dist::transfersIn(Operation *scope, const Mesh &mesh) {
  std::vector<Transfer> all;
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (std::optional<Transfer> transfer = transferOf(op, mesh))
      all.push_back(std::move(*transfer));
  });
  return all;
}

std::vector<TransferGroup> dist::groupTransfers(ArrayRef<Transfer> transfers) {
  auto key = [](const Transfer &transfer) {
    std::string element;
    llvm::raw_string_ostream(element) << transfer.element;
    std::vector<unsigned> axes(transfer.axes.begin(), transfer.axes.end());
    return std::make_tuple(transfer.kind, axes, element, -transfer.bytes);
  };
  std::map<decltype(key(transfers.front())), TransferGroup> sorted;
  for (const Transfer &transfer : transfers) {
    TransferGroup &group = sorted[key(transfer)];
    if (group.count++ == 0)
      group.first = transfer;
  }
  std::vector<TransferGroup> groups;
  for (auto &entry : sorted)
    groups.push_back(std::move(entry.second));
  return groups;
}
