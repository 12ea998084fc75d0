//===- Traffic.h - What the ranks of a program send -------------*- C++ -*-===//
//
// The collectives of local functions, with the bytes that a rank sends for each
// and how long that takes.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_SHARDING_MODEL_TRAFFIC_H
#define HONE_SHARDING_MODEL_TRAFFIC_H

#include "hone/Sharding/IR/Sharding.h"

namespace hone::dist {

/// One op between ranks.
struct Transfer {
  mlir::Operation *op;
  /// The op without its dialect, of sums and the like with what combines:
  /// "all_gather", "all_reduce sum".
  std::string kind;
  CollectiveKind collective = CollectiveKind::allReduce;
  Axes axes;
  mlir::Type element;
  /// Sent by each rank, rounded: what a ring sends (see the descriptions of the
  /// ops).
  int64_t bytes = 0;
  /// Alone on its links (secondsOf in Links.h).
  double seconds = 0;
};

/// What `op` sends; nothing where it sends nothing: `dist.shard`,
/// `dist.coordinate`, ops of other dialects, axes of one rank.
std::optional<Transfer> transferOf(mlir::Operation *op, const Mesh &mesh);

/// The transfers inside `scope`, a function or a part of one, in order.
std::vector<Transfer> transfersIn(mlir::Operation *scope, const Mesh &mesh);

/// Transfers that differ in nothing but where they are.
struct TransferGroup {
  Transfer first;
  int64_t count = 0;
  int64_t bytes() const { return count * first.bytes; }
  double seconds() const { return double(count) * first.seconds; }
};

/// By kind, axes in order of the mesh, element type, and bytes, the most first.
std::vector<TransferGroup> groupTransfers(llvm::ArrayRef<Transfer> transfers);

} // namespace hone::dist

#endif // HONE_SHARDING_MODEL_TRAFFIC_H
