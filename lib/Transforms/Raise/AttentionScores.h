//===- AttentionScores.h - What a softmax of scores is made of --*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_RAISE_ATTENTIONSCORES_H
#define HONE_LIB_TRANSFORMS_RAISE_ATTENTIONSCORES_H

#include "hone/IR/Hone.h"

namespace hone {

/// A score so low that its weight is exactly 0 beside any that is not masked.
constexpr double lowScore = -1e4;

/// scale * dot + mask, where s <= t if causal.
struct AttentionScores {
  DotGeneralOp dot;
  double scale = 1.0;
  bool causal = false;
  /// Added to the scores: of their shape, or a broadcast to it; may be null.
  mlir::Value mask;
  /// Chooses the scores, or else -inf; may be null.
  mlir::Value keep;
  bool keepWhenTrue = true;
  /// [B, H, T, S], if the scores have this shape anywhere.
  llvm::ArrayRef<int64_t> apart;
};

/// Walks from the input of the softmax to q k^T. On failure says why.
mlir::FailureOr<AttentionScores> matchAttentionScores(mlir::Value value,
                                                      llvm::StringRef &reason);

/// True when `mask` is 0 where s <= t and lowest where s > t.
bool isCausalMask(mlir::Value mask);

/// If `value` is another arrangement of the leading dimensions of [.., T, S]:
/// what it was made from.
mlir::Value peelLeading(mlir::Value value);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_RAISE_ATTENTIONSCORES_H
