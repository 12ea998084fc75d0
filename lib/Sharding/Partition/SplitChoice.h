//===- SplitChoice.h - Which axes divide which factors of an op -*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_PARTITION_SPLITCHOICE_H
#define HONE_LIB_SHARDING_PARTITION_SPLITCHOICE_H

#include "Reshard.h"
#include "Sharding/Model/ShardingRule.h"

namespace hone::dist {

/// The shardings that dist-propagate left on a function.
class RecordedShardings {
public:
  /// Reports values without one.
  static mlir::FailureOr<RecordedShardings> read(mlir::func::FuncOp func,
                                                 const Mesh &mesh);

  /// Without what arguments are partial along.
  const Sharding &of(mlir::Value value) const {
    return records.find(value)->second.sharding;
  }
  /// What divides a dimension, in words: "argument 'w'".
  std::string sourceOf(mlir::Value value, unsigned dim) const;
  /// The priority at which a dimension got its axes; 0 the first.
  int64_t priorityOf(mlir::Value value, unsigned dim) const {
    return records.find(value)->second.attr.getDims()[dim].getPriority();
  }

private:
  struct Record {
    ShardingAttr attr;
    Sharding sharding;
  };
  llvm::DenseMap<mlir::Value, Record> records;
};

/// One way to divide an op among ranks.
struct Split {
  FactorShards factors;
  /// Of operands, then of results as the op makes them: perhaps partial.
  llvm::SmallVector<Sharding> tensors;
  /// Ways to divide the op that there are, at most INT64_MAX, and whether the
  /// best of them was searched for.
  int64_t ways = 0;
  bool isBest = true;
};

/// Whether the parts of an operand under a sharding are there already.
using IsThere = llvm::function_ref<bool(unsigned, const Sharding &)>;

/// The best way to divide `op`, whose operands and results are sharded as
/// `shardings` says: an axis goes to a factor that some tensor has it on, or to
/// none, and those of `apart` to none. Fewest axes against their priority
/// first, then least seconds, then the first in order of the mesh. Where there
/// are more than `maxSplits` ways to, one axis is decided after the other.
Split chooseSplit(mlir::Operation *op, const ShardingRule &rule,
                  const RecordedShardings &shardings, const Mesh &mesh,
                  llvm::ArrayRef<unsigned> apart, IsThere isThere,
                  int64_t maxSplits);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_PARTITION_SPLITCHOICE_H
