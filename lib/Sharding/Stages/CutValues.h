//===- CutValues.h - Where a forward part can be cut ------------*- C++ -*-===//
//
// A stage of a pipeline hands one value to the next. A value can be that one if
// everything after it reads nothing else that was computed before it, but for
// what each stage can have of its own: arguments, casts and views of one
// parameter, and what no parameter is part of (masks, tables of positions).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_SHARDING_STAGES_CUTVALUES_H
#define HONE_LIB_SHARDING_STAGES_CUTVALUES_H

#include "hone/Sharding/IR/Dist.h"

namespace hone::dist {

/// What a value of the forward part is made from.
enum class Origin {
  Free,      ///< from no parameter: each stage may compute it
  Weight,    ///< a parameter, or a cast or view of one
  Activation ///< all others: only the stage that computes it has it
};

/// Whether the elements of `op` are those of its one operand, perhaps rounded.
bool isCastOrView(mlir::Operation &op);

/// The origins of the values of a function of one block.
class Origins {
public:
  explicit Origins(mlir::func::FuncOp func);

  Origin of(mlir::Value value) const;
  /// Whether a value is made from an input of the model.
  bool readsInput(mlir::Value value) const;
  /// The parameter that a Weight is of.
  mlir::BlockArgument parameterOf(mlir::Value weight) const;

private:
  mlir::func::FuncOp func;
  llvm::DenseMap<mlir::Value, Origin> origins; // of op results
  llvm::DenseSet<mlir::Value> reading;         // op results made from an input
  llvm::DenseMap<mlir::Value, mlir::BlockArgument> weights; // of Weights
};

/// A value that may be handed to the next stage, and the last op of the block
/// that is not behind the border then.
struct CutValue {
  mlir::Value value;
  mlir::Operation *last;
};

/// What was found in a function.
struct CutValues {
  llvm::SmallVector<CutValue> cuts; ///< in the order of the block
  /// Of two values that cross the same place, the one that is read longest
  /// after it was computed: why there are not more. Null if none do.
  mlir::Value longest;
};

/// Ops that `isBeside` holds for read what they need in the last stage.
CutValues findCutValues(mlir::func::FuncOp func, const Origins &origins,
                        llvm::function_ref<bool(mlir::Operation *)> isBeside);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_STAGES_CUTVALUES_H
