//===- LaunchLabel.h - What a launch is called ------------------*- C++ -*-===//

#ifndef HONE_PLAN_LAUNCHLABEL_H
#define HONE_PLAN_LAUNCHLABEL_H

#include "hone/Plan/Plan.h"

#include <string>

namespace hone {

namespace attr {
/// On a group and its launch, for the report: why its ops share a kernel.
constexpr llvm::StringLiteral reason = "hone.reason";
} // namespace attr

/// The op that gives a launch of a library or single-op family its name; the
/// yield of one that copies.
mlir::Operation *mainOp(plan::LaunchOp launch);

/// "dot_general bwd/blocks.0.attn.qkv": the main op, and the names that the
/// location carries. Profiles, traces and reports call the launch so.
std::string labelOf(plan::LaunchOp launch);

/// "blocks.0.attn": the module of the user's model that the launch computes, or
/// the innermost that has all of them; "" where the location names none.
std::string modulePathOf(plan::LaunchOp launch);

} // namespace hone

#endif // HONE_PLAN_LAUNCHLABEL_H
