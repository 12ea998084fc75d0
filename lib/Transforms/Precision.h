//===- Precision.h - What the passes of mixed precision share ---*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_PRECISION_H
#define HONE_LIB_TRANSFORMS_PRECISION_H

#include "hone/IR/Hone.h"

namespace hone {

/// Names of the policies, for messages.
constexpr llvm::StringLiteral precisionPolicies =
    "fp32, tf32, bf16, fp16 or bf16-sr";

/// The type of contractions under `policy` (hone.precision), or null where it
/// is f32. Fails for a name that is no policy.
mlir::FailureOr<mlir::FloatType> lowTypeOf(llvm::StringRef policy,
                                           mlir::MLIRContext *context);

/// The policy that the module's functions follow.
llvm::StringRef getPrecision(mlir::ModuleOp module);

/// An op that puts the elements of one floating-point operand elsewhere and
/// rounds nothing: it may change places with a cast.
bool isMover(mlir::Operation *op);

/// Operands whose element type decides that of the op's result. The others
/// keep theirs whatever the policy: an attention mask, tables of angles, and
/// logits, which cross entropy widens by itself.
llvm::SmallVector<mlir::OpOperand *> findTiedOperands(mlir::Operation *op);

/// Values that some argument of kind param influences.
llvm::DenseSet<mlir::Value> findWeighted(mlir::func::FuncOp func);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_PRECISION_H
