//===- SplitClasses.h - Dimensions that are divided together ----*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_PROPAGATE_SPLITCLASSES_H
#define HONE_LIB_SHARDING_PROPAGATE_SPLITCLASSES_H

#include "Sharding/Model/ShardingRule.h"

#include "llvm/ADT/IntEqClasses.h"

namespace hone::dist {

/// Classes of the dimensions of a function's values: two are of one class where
/// an op has them along one factor, the slowest of each where dimensions are
/// merged. Sharding one shards all, without communication, if the class is
/// divisible: features between a pair of weights, heads, a vocabulary; not the
/// residual stream, which norms need unsharded. Key heads that are fewer than
/// the parts have a class of their own.
class SplitClasses {
public:
  /// The classes for parts along `axes`. Reports ops without a rule. Updates of
  /// state are left out: they follow their parameter.
  static mlir::FailureOr<SplitClasses>
  of(mlir::func::FuncOp func, llvm::ArrayRef<unsigned> axes, const Mesh &mesh);

  unsigned find(mlir::Value value, unsigned dim) const {
    return classes[first.find(value)->second + dim];
  }
  /// Whether every dimension of the class has as many equal shards as there are
  /// parts, and no op needs one of them unsharded.
  bool isDivisible(unsigned id) const { return !stuck[id]; }
  /// Whether parts hold copies of what the class has, as of key heads.
  bool keepsCopies(unsigned id) const { return copied[id]; }
  /// The least size in the class that is no multiple of the parts; 0: none.
  int64_t unevenSize(unsigned id) const { return uneven[id]; }
  /// An op that needs a dimension of the class unsharded; null: none.
  mlir::Operation *holder(unsigned id) const { return holders[id]; }
  /// Whether the op sums over a class of `expected`, so that sharding it gives
  /// partial sums.
  bool combines(mlir::Operation *op,
                const llvm::DenseSet<unsigned> &expected) const;

private:
  void number(mlir::Value value);
  void join(mlir::Operation *op, const ShardingRule &rule,
            llvm::ArrayRef<unsigned> axes, const Mesh &mesh);
  void mark(mlir::func::FuncOp func, int64_t parts);

  llvm::DenseMap<mlir::Value, unsigned> first;
  llvm::SmallVector<int64_t> sizes;
  /// Dimensions that must stay unsharded, and the ops that need it.
  llvm::SmallVector<std::pair<unsigned, mlir::Operation *>> wholes;
  llvm::SmallVector<unsigned> copies; ///< dimensions of which parts hold copies
  llvm::IntEqClasses classes;
  // By class.
  llvm::SmallVector<bool> stuck, copied;
  llvm::SmallVector<int64_t> uneven;
  llvm::SmallVector<mlir::Operation *> holders;
  llvm::DenseMap<mlir::Operation *, ShardingRule> rules;
};

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_PROPAGATE_SPLITCLASSES_H
