//===- ParameterUpdates.h - State and optimizer ops of a step ---*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_STEP_PARAMETERUPDATES_H
#define HONE_LIB_TRANSFORMS_STEP_PARAMETERUPDATES_H

#include "OptimizerSettings.h"
#include "hone/IR/Hone.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hone {

/// Parameters of fewer elements keep their moments in fp32: they are few bytes,
/// and biases and gains are sensitive (Dettmers et al., 2022).
constexpr int64_t leastCodedElements = 4096;

/// A trained parameter: its value, its state and what the step made of them.
struct Trained {
  mlir::BlockArgument param;
  llvm::SmallVector<mlir::BlockArgument> state;
  mlir::Value gradient;
  int64_t group = 0;
  llvm::StringRef name;
  mlir::ArrayAttr parts; // null: the parameter is its own only part
};

/// Operands of the update that change from step to step, all of rank 0.
struct Scalars {
  mlir::BlockArgument lr, weightDecay, clip, step;
};

/// Operands that all updates of a step share.
struct SharedOperands {
  Scalars scalars;
  mlir::Value key; ///< null: no rule has moments in bf16
  mlir::Value count, factor, apply;
};

/// A tensor of the state of a parameter.
struct StateTensor {
  std::string name; ///< in files: that of the parameter behind a prefix
  mlir::RankedTensorType type;
  mlir::ArrayAttr parts; ///< null: its own only part
};

/// The state that `rule` keeps for the parameter `name` of `type` and with
/// these parts (or null), as operands of its update.
llvm::SmallVector<StateTensor> stateOf(const OptimizerRule &rule,
                                       llvm::StringRef name,
                                       mlir::RankedTensorType type,
                                       mlir::ArrayAttr parts);

/// Fails where `rule` cannot update argument `index` of @gradient: Adafactor
/// takes parameters as files hold them, Muon matrices that are padded at most.
llvm::LogicalResult verifyForm(mlir::func::FuncOp gradient, unsigned index,
                               const OptimizerRule &rule);

/// Makes the optimizer op of each of `trained`, whose results are the new
/// parameter and the new state.
llvm::SmallVector<mlir::Operation *>
updateParameters(mlir::ImplicitLocOpBuilder &builder,
                 const OptimizerSettings &settings,
                 const SharedOperands &shared, llvm::ArrayRef<Trained> trained);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_STEP_PARAMETERUPDATES_H
