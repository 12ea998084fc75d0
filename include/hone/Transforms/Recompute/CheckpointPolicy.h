//===- CheckpointPolicy.h - What may stay for the backward part -*- C++ -*-===//
//
// What the option --checkpoint of the tools and `policy` of
// hone-plan-checkpoints may name (docs/rationale/checkpointing.md).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TRANSFORMS_RECOMPUTE_CHECKPOINTPOLICY_H
#define HONE_TRANSFORMS_RECOMPUTE_CHECKPOINTPOLICY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace hone {

/// On a module whose budget was too small: the bytes of the smallest one that
/// hone-plan-checkpoints found.
constexpr llvm::StringLiteral smallestBudgetAttr = "hone.smallest_budget";

constexpr llvm::StringLiteral checkpointPolicies[] = {"auto", "none", "full",
                                                      "sqrt", "away"};
/// The same, for messages.
constexpr llvm::StringLiteral checkpointPolicyList =
    "auto, none, full, sqrt or away";

inline bool isCheckpointPolicy(llvm::StringRef name) {
  return llvm::is_contained(checkpointPolicies, name);
}

} // namespace hone

#endif // HONE_TRANSFORMS_RECOMPUTE_CHECKPOINTPOLICY_H
