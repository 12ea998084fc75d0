//===- AttentionPlans.h - Plans of attention inside a program ---*- C++ -*-===//
//
// A library's plan for a call of attention is made when the call's operands
// have their places: after hone-lower-to-kernels, which only says what to ask
// for.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_CODEGEN_PROGRAM_ATTENTIONPLANS_H
#define HONE_CODEGEN_PROGRAM_ATTENTIONPLANS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace hone {

/// A plan that a program wants.
struct AttentionPlanRequest {
  std::string problem;   ///< the line of honert_attention
  int64_t workspace = 0; ///< bytes that the memory plan has for it
  mlir::Location loc;    ///< of the first launch
};

/// Notes on `module` that the program wants a plan of `request`, and returns
/// the name of the function `(program)` by which it tells the runtime of it.
/// Equal problems share one, with the least of their workspaces.
std::string requestAttentionPlan(mlir::ModuleOp module,
                                 const AttentionPlanRequest &request);

/// What was asked for, in order.
llvm::SmallVector<AttentionPlanRequest>
attentionPlanRequests(mlir::ModuleOp module);

/// Defines those functions: a plan per request, for the architecture `arch`
/// (90 for sm_90), as constants.
void defineAttentionPlans(mlir::ModuleOp module, int64_t arch,
                          llvm::ArrayRef<std::string> plans);

} // namespace hone

#endif // HONE_CODEGEN_PROGRAM_ATTENTIONPLANS_H
