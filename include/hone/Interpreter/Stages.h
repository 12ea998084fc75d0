//===- Stages.h - Stages of a pipeline in one process -----------*- C++ -*-===//

#ifndef HONE_INTERPRETER_STAGES_H
#define HONE_INTERPRETER_STAGES_H

#include "hone/Interpreter/Interpreter.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone::interp {

/// What the stages of `module` (dist-split-stages) compute together where
/// `whole`, the function that was cut, computes its results from `arguments`:
/// one micro-batch, an update or an evaluation. A stage calls the next one
/// where its output turns into a gradient. Of sums of gradients that two stages
/// have, one begins with `arguments` and the others with zero; their sum is the
/// result. State that several stages have (the scale of the loss) must be the
/// same on each, in every bit.
mlir::FailureOr<Tensors> interpretStages(mlir::ModuleOp module,
                                         mlir::func::FuncOp whole,
                                         llvm::ArrayRef<Tensor> arguments,
                                         Mode mode);

} // namespace hone::interp

#endif // HONE_INTERPRETER_STAGES_H
