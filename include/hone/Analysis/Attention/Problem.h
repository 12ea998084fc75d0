//===- Problem.h - Attention as a library is asked --------------*- C++ -*-===//
//
// hone.attention and hone.attention_bwd read alike, and the line of text by
// which the runtime, cuDNN and the compiler name a call of them (abi.def,
// honert_attention; base/AttentionProblem.h writes and reads it).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_ATTENTION_PROBLEM_H
#define HONE_ANALYSIS_ATTENTION_PROBLEM_H

#include "hone/IR/Hone.h"

#include <optional>
#include <string>

namespace hone {

/// Operands and results of an attention op by what they are; null where it has
/// none.
struct AttentionParts {
  bool isBackward;
  mlir::Value query, key, value; ///< [B, T, H, D], [B, S, G, D], [B, S, G, E]
  mlir::Value result;            ///< [B, T, H, E]
  mlir::Value lse;               ///< [B, H, T]
  mlir::Value resultGrad, queryGrad, keyGrad, valueGrad; ///< backward
  mlir::Value mask, segments, first, rng, origin;
  bool causal;
  double scale, dropout;
  uint64_t salt;

  /// Whether the keys that a query sees depend on the positions `first`.
  bool readsFirst() const { return first && causal; }
  /// Runs of queries of which each begins at a position of its own. A library
  /// is asked about one of them, and about results in the operands' type.
  int64_t runs() const;

  /// The values in the order of the offsets of honert_attention.
  llvm::SmallVector<mlir::Value> inCallOrder() const;
};

/// None for every other op.
std::optional<AttentionParts> readAttention(mlir::Operation *op);

/// Why no library is asked for `op`, for what a problem cannot say; "": one is.
std::string whyNotAsked(const AttentionParts &parts);

/// Element strides of batch, position and head of a tensor [batch, position,
/// head, width], whose elements of a head lie side by side.
using HeadStrides = std::array<int64_t, 3>;

/// The line for a run of `parts` that lie in memory as `stridesOf` says, which
/// is asked for all but `lse`. With `deterministic`, equal calls give equal
/// bits.
std::string
describeAttention(const AttentionParts &parts, bool deterministic,
                  llvm::function_ref<HeadStrides(mlir::Value)> stridesOf);

/// The lines for what may become of `parts` in memory: all tensors dense, and
/// query, key and value, and their gradients, side by side in one row.
llvm::SmallVector<std::string, 2> describeLayouts(const AttentionParts &parts,
                                                  bool deterministic);

} // namespace hone

#endif // HONE_ANALYSIS_ATTENTION_PROBLEM_H
