//===- Passes.h - Passes on hone graphs -------------------------*- C++ -*-===//

#ifndef HONE_TRANSFORMS_PASSES_H
#define HONE_TRANSFORMS_PASSES_H

#include "hone/IR/Hone.h"
#include "hone/Plan/Plan.h"
#include "hone/Support/AttentionPlanner.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hone {

#define GEN_PASS_DECL
#include "hone/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "hone/Transforms/Passes.h.inc"

/// hone-plan-attention that knows `answers` of its tool, and adds those that it
/// gets.
std::unique_ptr<mlir::Pass>
createPlanAttention(PlanAttentionOptions options,
                    std::shared_ptr<AttentionAnswers> answers);

} // namespace hone

#endif // HONE_TRANSFORMS_PASSES_H
