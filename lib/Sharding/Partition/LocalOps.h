//===- LocalOps.h - Ops as a rank runs them ---------------------*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_PARTITION_LOCALOPS_H
#define HONE_LIB_SHARDING_PARTITION_LOCALOPS_H

#include "Sharding/Model/ShardingRule.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hone::dist {

/// An op of a global function, and how its factors are divided.
struct SplitOp {
  mlir::Operation *op;
  const ShardingRule &rule;
  llvm::ArrayRef<DimShards> factors;
  const Mesh &mesh;

  /// How many parts dimension `dim` of a tensor (operands, then results) has.
  int64_t parts(unsigned tensor, unsigned dim) const {
    return mesh.count(rule.dimDivided(tensor, dim, factors, mesh)->axes);
  }
  /// Whether any factor is divided.
  bool isSplit() const {
    return llvm::any_of(
        factors, [](const DimShards &shards) { return !shards.isWhole(); });
  }
};

/// Positions that count from the first of a rank's part of a dimension.
struct LocalIds {
  mlir::Value ids;   ///< 0 where the position is another rank's
  mlir::Value isOwn; ///< whether it is the rank's
};
/// `ids` of a dimension that is divided along `axes` into parts of `size`.
LocalIds findIds(mlir::ImplicitLocOpBuilder &b, mlir::Value ids, int64_t size,
                 llvm::ArrayRef<unsigned> axes, const Mesh &mesh);
/// The first position of a rank's part, as a tensor of `type`.
mlir::Value firstPosition(mlir::ImplicitLocOpBuilder &b,
                          mlir::RankedTensorType type, int64_t size,
                          llvm::ArrayRef<unsigned> axes, const Mesh &mesh);
/// Where the runs of a rank's part of a dimension of `size` positions begin.
mlir::Value runStarts(mlir::ImplicitLocOpBuilder &b, const DimShards &shards,
                      int64_t size, const Mesh &mesh);
/// A constant of one number.
mlir::Value splat(mlir::ImplicitLocOpBuilder &b, mlir::RankedTensorType type,
                  double number);

/// Cross entropy, and its gradient, whose classes or counted rows are divided
/// (LocalLoss.cpp).
llvm::SmallVector<mlir::Value> emitLoss(mlir::ImplicitLocOpBuilder &b,
                                        const SplitOp &split, CrossEntropyOp op,
                                        mlir::ValueRange operands);
llvm::SmallVector<mlir::Value> emitLoss(mlir::ImplicitLocOpBuilder &b,
                                        const SplitOp &split,
                                        CrossEntropyBwdOp op,
                                        mlir::ValueRange operands);

/// What a rank runs of the op, on its shards `operands`: its shards of the
/// results, or its partial sums.
llvm::SmallVector<mlir::Value> emitLocal(mlir::ImplicitLocOpBuilder &b,
                                         const SplitOp &split,
                                         mlir::ValueRange operands);

/// Whether each operand may have any sharding, and the results are replicated:
/// a norm of many tensors.
bool acceptsAnySharding(mlir::Operation *op);
/// What a rank runs of such an op, on shards under `shardings`.
llvm::SmallVector<mlir::Value>
emitAnySharding(mlir::ImplicitLocOpBuilder &b, mlir::Operation *op,
                mlir::ValueRange operands, llvm::ArrayRef<Sharding> shardings,
                const Mesh &mesh);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_PARTITION_LOCALOPS_H
