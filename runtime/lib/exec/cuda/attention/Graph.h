//===- Graph.h - Attention as an operation graph of cuDNN -----------------===//
//
// hone.attention and hone.attention_bwd in the form that cuDNN's flash
// attention is recognised by: docs/rationale/attention.md, "cuDNN".
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_EXEC_CUDA_ATTENTION_GRAPH_H
#define HONERT_EXEC_CUDA_ATTENTION_GRAPH_H

#include "base/AttentionProblem.h"
#include "exec/cuda/attention/OperationGraph.h"

#include <map>

namespace honert {

/// Ids of the tensors that are not operands; those have 1 + their number.
enum AttentionId : int64_t {
  idSeed = 20,
  idOffset,
  idQueries,     ///< i32 [B,1,1,1] in memory: the length of each sequence
  idKeys,        ///< the same of its keys
  idSums,        ///< f32 [B,H,T,1] in memory: delta
  idAccumulator, ///< f32 [B,H,T,D] in memory: the gradient of the query
  idScale,       ///< by value, f32, from here on
  idHidden,
  idPadding,
  idKept,        ///< 1 - dropout
  idInverseKept, ///< 1 / (1 - dropout)
  idVirtual = 100
};

constexpr int64_t idOf(AttentionOperand operand) {
  return 1 + static_cast<int64_t>(operand);
}

struct AttentionGraph {
  OperationGraph graph;
  /// What is passed by value, by id.
  std::map<int64_t, float> scalars;
  /// Bytes of the caller's scratch, by id: idSums and idAccumulator.
  std::map<int64_t, int64_t> scratch;
};

/// Why no graph of ours computes `problem` on `arch` (90 for sm_90) with this
/// version of the library (91900 for 9.19), from its documentation, or success.
/// What it leaves open, the library says when it makes a plan.
Status checkSupport(const AttentionProblem &problem, int arch, size_t version);

/// `problem` must have passed checkSupport().
AttentionGraph buildAttentionGraph(const AttentionProblem &problem);

} // namespace honert

#endif // HONERT_EXEC_CUDA_ATTENTION_GRAPH_H
