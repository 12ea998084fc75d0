//===- ReferenceAttention.h - Attention on the host -------------*- C++ -*-===//

#ifndef HONERT_EXEC_CUDA_COMPARE_REFERENCEATTENTION_H
#define HONERT_EXEC_CUDA_COMPARE_REFERENCEATTENTION_H

#include "base/Parallel.h"
#include "exec/cuda/compare/Tolerance.h"

namespace honert {

/// Computes attention as hone.attention and hone.attention_bwd define it, in
/// f64 from what lies in `memory`. Returns what it wrote there, with bounds of
/// the error of a kernel that rounds weights and gradients of scores to the
/// operands' type before they are multiplied (FlashAttention-2, Dao, 2023), and
/// multiplies in f32. With dropout the library draws numbers of its own:
/// nothing is computed or compared.
std::vector<Expected> referenceAttention(const AttentionLaunch &launch,
                                         char *memory, const ThreadPool &pool);

} // namespace honert

#endif // HONERT_EXEC_CUDA_COMPARE_REFERENCEATTENTION_H
