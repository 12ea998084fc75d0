//===- Attention.h - Attention by a GPU's library ---------------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_ATTENTION_H
#define HONE_LIB_CODEGEN_GPU_ATTENTION_H

#include "GridKernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// One call of honert_attention. Offsets are bytes in the arena.
struct AttentionCall {
  std::string problem;
  llvm::SmallVector<int64_t> offsets; ///< as abi.def orders them
  int64_t workspace = 0;              ///< offset
  int64_t workspaceBytes = 0;
};

/// The call that computes `launch`, whose attention hone-plan-attention has
/// marked. An error for one that it has not, and for buffers that no problem
/// describes.
mlir::FailureOr<AttentionCall> describeAttentionCall(plan::LaunchOp launch);

/// A kernel, on the buffers of `launch`, that writes what the call reads
/// besides the op's tensors:
/// - with dropout, what the library's generator starts from: 64 bits of the
///   program's own, which the key of this step and the salt of this attention
///   decide, and no offset. So the calls for one attention, forward and
///   backward, draw one mask;
/// - where queries begin at a position, the lengths of each sequence.
mlir::FailureOr<GridKernel> emitAttentionInputs(mlir::OpBuilder &builder,
                                                llvm::StringRef name,
                                                plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_ATTENTION_H
