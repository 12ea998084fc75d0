//===- ElementTypes.h - What the passes of mixed precision share ----------===//

#ifndef HONE_LIB_TRANSFORMS_PRECISION_ELEMENTTYPES_H
#define HONE_LIB_TRANSFORMS_PRECISION_ELEMENTTYPES_H

#include "hone/IR/Hone.h"
#include "hone/Transforms/Precision/Policy.h"

namespace hone {

/// The type of contractions under `policy` (hone.precision), or null where it
/// is f32. Fails for a name that is no policy.
mlir::FailureOr<mlir::FloatType> lowTypeOf(llvm::StringRef policy,
                                           mlir::MLIRContext *context);

/// The policy that the module's functions follow.
llvm::StringRef getPrecision(mlir::ModuleOp module);

/// An op that puts the elements of one floating-point operand elsewhere and
/// rounds nothing: it may change places with a cast.
bool isMover(mlir::Operation *op);

/// Floating-point operands whose element type decides that of the op's result;
/// the others keep theirs whatever the policy (hasOwnElementType).
llvm::SmallVector<mlir::OpOperand *> findTiedOperands(mlir::Operation *op);

/// Values that some argument of kind param influences.
llvm::DenseSet<mlir::Value> findWeighted(mlir::func::FuncOp func);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_PRECISION_ELEMENTTYPES_H
