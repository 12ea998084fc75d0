//===- StepState.h - The tensors of a step between functions ----*- C++ -*-===//

#ifndef HONE_TOOLS_STEPSTATE_H
#define HONE_TOOLS_STEPSTATE_H

#include "hone/Interpreter/Interpreter.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>
#include <utility>

namespace hone::run {

/// An argument or result by its kind and name.
using Key = std::pair<std::string, std::string>;

Key keyOfArgument(mlir::func::FuncOp func, unsigned index);
Key keyOfResult(mlir::func::FuncOp func, unsigned index);
/// The argument whose place result `index` takes; nothing of other results.
std::optional<unsigned> donorOf(mlir::func::FuncOp func, unsigned index);

/// Global tensors.
using State = std::map<Key, interp::Tensor>;

/// What a step begins with, and what it leaves.
struct Step {
  State state;
  /// Inputs and keys of random numbers, by micro-batch.
  std::vector<State> batches;

  const interp::Tensor *find(const Key &key, int64_t micro) const;
};

/// Random tensors for all functions of `module`, a module of global functions
/// or of @step; sums of gradients and the loss begin with zeros.
mlir::FailureOr<Step> randomStep(mlir::ModuleOp module, int64_t seed,
                                 interp::Mode mode);

/// What @evaluate and then @step, or @accumulate for each micro-batch and
/// @update, leave: the loss, state that some function replaces, and other
/// results of @evaluate and @update, or of @step in its place, whose kinds
/// begin with the function's name. Functions are global ones, or those of each
/// rank of the module's mesh.
mlir::FailureOr<State> runStep(mlir::ModuleOp module, const Step &step,
                               interp::Mode mode);

/// The same of the stages of a pipeline, as hone-split-turns leaves them: each
/// runs its list for the schedule of `module`. A message is copied when both
/// ends have begun it. Lists in which all stages wait are an error.
mlir::FailureOr<State> runStagesStep(mlir::ModuleOp module, const Step &step,
                                     interp::Mode mode);

} // namespace hone::run

#endif // HONE_TOOLS_STEPSTATE_H
