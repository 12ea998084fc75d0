//===- Traffic.cpp - What the ranks of a program send ---------------------===//

#include "hone/Sharding/Model/Traffic.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <map>
#include <tuple>

using namespace mlir;
using namespace hone;
using namespace hone::dist;

/// What an op does between ranks; nothing for one that is no collective.
static std::optional<CollectiveKind> collectiveOf(Operation *op) {
  using Kind = std::optional<CollectiveKind>;
  return llvm::TypeSwitch<Operation *, Kind>(op)
      .Case([](AllReduceOp) { return CollectiveKind::allReduce; })
      .Case([](AllGatherOp) { return CollectiveKind::allGather; })
      .Case([](ReduceScatterOp) { return CollectiveKind::reduceScatter; })
      .Case([](AllToAllOp) { return CollectiveKind::allToAll; })
      .Case([](ShiftOp) { return CollectiveKind::shift; })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<Transfer> dist::transferOf(Operation *op, const Mesh &mesh) {
  std::optional<CollectiveKind> collective = collectiveOf(op);
  if (!collective)
    return std::nullopt;
  Transfer transfer;
  transfer.op = op;
  transfer.collective = *collective;
  transfer.kind = op->getName().stripDialect().str();
  if (auto combiner = op->getAttrOfType<ReduceKindAttr>("kind"))
    transfer.kind += " " + stringifyReduceKind(combiner.getValue()).str();
  transfer.axes = axesOf(op->getAttrOfType<ArrayAttr>("axes"), mesh);
  if (mesh.count(transfer.axes) == 1)
    return std::nullopt;
  Type type = op->getOperand(0).getType();
  transfer.element = getElementTypeOrSelf(type);
  auto given = double(byteSize(type));
  transfer.bytes =
      std::llround(bytesSent(*collective, mesh.count(transfer.axes), given));
  transfer.seconds = secondsOf(*collective, mesh.group(transfer.axes), given);
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
