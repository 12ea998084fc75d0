//===- LossScaling.h - Dynamic loss scaling of fp16 -------------*- C++ -*-===//
//
// Small gradients underflow in fp16, so the loss is scaled up before the walk
// backwards and the gradients down after it (Micikevicius et al., 2018). The
// scale follows what the gradients bear, by the rule of PyTorch's GradScaler:
// an update that would not be finite is skipped and halves the scale, and so
// many good ones in a row double it.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_TRANSFORMS_STEP_LOSSSCALING_H
#define HONE_LIB_TRANSFORMS_STEP_LOSSSCALING_H

#include "hone/IR/Hone.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hone {

/// Names of the state, all of kind opt and rank 0.
namespace lossscaling {
constexpr llvm::StringLiteral scale = "loss_scale";                // f32
constexpr llvm::StringLiteral goodSteps = "loss_scale.good_steps"; // i64
constexpr llvm::StringLiteral updates = "updates";                 // i64
/// Argument of @gradient: what its cotangent of the loss is multiplied by.
constexpr llvm::StringLiteral cotangent = "loss_cotangent"; // scalar
} // namespace lossscaling

struct LossScale {
  mlir::Value scale;     ///< power of two that the gradients are scaled by
  mlir::Value goodSteps; ///< updates since the scale last changed
  mlir::Value updates;   ///< updates made: AdamW's step, which skips none
};

/// The state after a step whose gradients were `finite`, or were not.
LossScale advance(mlir::ImplicitLocOpBuilder &builder, const LossScale &old,
                  mlir::Value finite, int64_t growthInterval);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_STEP_LOSSSCALING_H
