//===- CheckpointPolicy.h - What may stay for the backward part -*- C++ -*-===//
//
// What the options --checkpoint and --overlap of the tools, and `policy` and
// `overlap` of passes may name (docs/rationale/checkpointing.md).
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

/// Whether collectives begin early; auto: on a GPU.
constexpr llvm::StringLiteral overlapWords[] = {"auto", "on", "off"};
/// The same, for messages.
constexpr llvm::StringLiteral overlapWordList = "auto, on or off";

inline bool isOverlapWord(llvm::StringRef word) {
  return llvm::is_contained(overlapWords, word);
}

} // namespace hone

#endif // HONE_TRANSFORMS_RECOMPUTE_CHECKPOINTPOLICY_H
