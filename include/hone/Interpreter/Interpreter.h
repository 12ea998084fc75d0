//===- Interpreter.h - The meaning of the hone dialect ----------*- C++ -*-===//
//
// Runs a function on plain tensors, op by op. Autodiff is gradchecked in it,
// passes are compared before and after in it, and compiled code with it.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_INTERPRETER_INTERPRETER_H
#define HONE_INTERPRETER_INTERPRETER_H

#include "hone/Interpreter/Ops.h"

#include <functional>
#include <vector>

namespace hone::interp {

struct Options {
  Mode mode = Mode::Typed;
  /// Called after each op outside groups, with its results.
  std::function<void(mlir::Operation *, llvm::ArrayRef<Tensor>)> hook;
  /// Returns the results of an op that others take part in, of its operands.
  std::function<mlir::FailureOr<Tensors>(mlir::Operation *,
                                         llvm::ArrayRef<Tensor>)>
      exchange = {};
};

/// Runs `func`, a function of one block of hone ops, and returns its results.
/// Values are freed after their last use, the arguments too if the caller moved
/// them in. An error is reported at the op it came from.
mlir::FailureOr<Tensors> interpret(mlir::func::FuncOp func, Tensors arguments,
                                   const Options &options = {});

/// What an op between ranks makes of the operands that each of them has: its
/// result on each rank.
using CollectiveFunction = std::function<mlir::FailureOr<std::vector<Tensor>>(
    mlir::Operation *, llvm::ArrayRef<Tensors>)>;

/// Runs `func` on several ranks in lock step, each with its own arguments, and
/// returns the results of each. Ops of dialect `dist` go through `exchange`.
mlir::FailureOr<std::vector<Tensors>>
interpretRanks(mlir::func::FuncOp func, std::vector<Tensors> arguments,
               Mode mode, const CollectiveFunction &collective);

/// Whether an op of this name can be run.
bool isInterpreted(mlir::OperationName name);

/// Arguments made from a seed: what `hone.init` says where it says how, else
/// floats normal, integers in [0, hone.vocab) or [0, 4), integer scalars in
/// [1, 4], and `rng` keys (seed, 1, 0).
mlir::FailureOr<Tensors> randomArguments(mlir::func::FuncOp func, int64_t seed,
                                         Mode mode);

} // namespace hone::interp

#endif // HONE_INTERPRETER_INTERPRETER_H
