//===- MergeAttention.h - Attention over two sets of keys -------*- C++ -*-===//

#ifndef HONE_LIB_INTERPRETER_MERGEATTENTION_H
#define HONE_LIB_INTERPRETER_MERGEATTENTION_H

#include "hone/Interpreter/Ops.h"

namespace hone::interp {

/// What attention over a set of keys results in.
struct AttentionPart {
  const Tensor &result; // [B, T, H, E]
  const Tensor &lse;    // [B, H, T], infinite where no key is seen
};
/// The result over two sets of keys, and its log-sum-exp.
Tensors mergeAttention(llvm::ArrayRef<ResultSpec> results,
                       const AttentionPart &part, const AttentionPart &other);

} // namespace hone::interp

#endif // HONE_LIB_INTERPRETER_MERGEATTENTION_H
