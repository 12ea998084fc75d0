//===- Reshard.h - From one sharding to another -----------------*- C++ -*-===//
//
// The collectives that turn the parts of a tensor under one sharding into those
// under another, what they send, and how long that takes.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_SHARDING_PARTITION_RESHARD_H
#define HONE_LIB_SHARDING_PARTITION_RESHARD_H

#include "hone/Sharding/IR/Sharding.h"

namespace hone::dist {

enum class StepKind { AllReduce, ReduceScatter, AllGather, AllToAll, Shard };

/// One op between ranks.
struct ReshardStep {
  StepKind kind;
  Axes axes;
  unsigned dim = 0; ///< of AllToAll, the one that becomes unsharded
  unsigned to = 0;  ///< of AllToAll alone
  /// Of the dimension as the op sees it: already sharded along other axes.
  llvm::SmallVector<int64_t> cuts, toCuts;
  bool snake = false, toSnake = false; ///< of each
};

/// The steps from `from` to `to`, which is partial at most along axes that
/// `from` is partial along. Reductions come first (a reduce-scatter where `to`
/// is sharded along their axes), then gathers and all-to-alls, then local
/// slices.
llvm::SmallVector<ReshardStep>
planReshard(const Sharding &from, const Sharding &to, const Mesh &mesh);

/// Seconds and bytes sent by a rank.
struct ReshardCost {
  double seconds = 0;
  double bytes = 0;
};
/// Of the steps, from shards of `bytes` bytes (Links.h).
ReshardCost costOf(llvm::ArrayRef<ReshardStep> steps, double bytes,
                   const Mesh &mesh);

/// Writes the steps as ops after `value`, whose parts they start from.
mlir::Value emitReshard(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, llvm::ArrayRef<ReshardStep> steps,
                        ReduceKind kind, const Mesh &mesh);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_PARTITION_RESHARD_H
