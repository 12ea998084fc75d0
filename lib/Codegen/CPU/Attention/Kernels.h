//===- Kernels.h - Attention as loops over vectors --------------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_CPU_ATTENTION_KERNELS_H
#define HONE_LIB_CODEGEN_CPU_ATTENTION_KERNELS_H

#include "Codegen/Common/Kernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// Inserts a function `name` that runs `launch`, which holds exactly one
/// hone.attention, hone.decode_attention or hone.attention_bwd, at the
/// insertion point of `builder`. Its arguments are the inputs, outputs and
/// scratch of the launch as memrefs in order, then `lo, hi : index`.
///
/// A work item of the forward kernel is a block of queries of one head, of the
/// backward kernel one key head with the query heads that share it. Blocks of
/// scores live on the stack (at most 512 KiB); nothing of size T x S is stored.
/// Everything is computed in fp32; the scratch of the backward kernel holds the
/// sums of gradients narrower than that. Fails with an error on the op for
/// element types other than f32, bf16 and f16, an innermost stride other than
/// 1, and heads too wide for the stack.
mlir::FailureOr<Kernel> emitAttention(mlir::OpBuilder &builder,
                                      llvm::StringRef name,
                                      plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_CPU_ATTENTION_KERNELS_H
