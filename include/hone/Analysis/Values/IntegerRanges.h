//===- IntegerRanges.h - Integers of a function's values --------*- C++ -*-===//

#ifndef HONE_ANALYSIS_VALUES_INTEGERRANGES_H
#define HONE_ANALYSIS_VALUES_INTEGERRANGES_H

#include "hone/Analysis/Values/IntervalSet.h"
#include "hone/IR/IndexedOps.h"

#include "llvm/ADT/DenseMap.h"

namespace hone {

/// What integers the elements of each value of a function of one block may be,
/// from what those of its arguments may be. Forward, one rule per op; what no
/// rule knows (a cast from floating point) is any integer of its type. In the
/// branches of a select, values are known to satisfy its predicate.
class IntegerRanges {
public:
  explicit IntegerRanges(mlir::Block &block);

  /// Sets of arguments; of those without an entry every integer.
  using Arguments = llvm::DenseMap<mlir::Value, IntervalSet>;
  /// Finds the sets of all values, which lookup() then gives.
  void run(const Arguments &arguments);
  const IntervalSet &lookup(mlir::Value value) const;

private:
  IntervalSet infer(mlir::Operation *op);
  const IntervalSet &constant(mlir::Operation *op);

  mlir::Block &block;
  llvm::SmallVector<mlir::Operation *> ops; ///< that make integers, in order
  llvm::DenseMap<mlir::Operation *, IntervalSet> constants;
  llvm::DenseMap<mlir::Value, IntervalSet> sets;
};

/// An operand of ids in a block.
struct IdSite {
  mlir::OpOperand *operand;
  IdOperand ids;

  mlir::Operation *op() const { return operand->getOwner(); }
  bool isWithin(const IntervalSet &set) const {
    return set.isWithin(ids.size, ids.ignored);
  }
};

/// All of them, in order.
llvm::SmallVector<IdSite> findIdSites(mlir::Block &block);

/// The bounds of the inputs, which the runtime checks: [0, hone.vocab) and
/// hone.ignore.
IntegerRanges::Arguments boundsOfInputs(mlir::func::FuncOp func);

/// "embedding of 61 rows", "cross_entropy of 61 classes": what a site reads.
std::string describeTable(const IdSite &site);

} // namespace hone

#endif // HONE_ANALYSIS_VALUES_INTEGERRANGES_H
