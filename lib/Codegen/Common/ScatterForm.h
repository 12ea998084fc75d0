//===- ScatterForm.h - What a launch of embedding_bwd computes --*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_COMMON_SCATTERFORM_H
#define HONE_LIB_CODEGEN_COMMON_SCATTERFORM_H

#include "hone/Plan/Plan.h"

namespace hone {

/// A launch of one `hone.embedding_bwd` on contiguous inputs, to whose result
/// an input may be added.
struct ScatterForm {
  EmbeddingBwdOp op;
  mlir::BlockArgument addend; ///< or null

  /// Anything else is an error at the launch.
  static mlir::FailureOr<ScatterForm> read(plan::LaunchOp launch);
};

/// Whether the launch is of family gather in a form that has kernels: reads
/// contiguous inputs; otherwise an error at it.
mlir::LogicalResult checkGather(plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_COMMON_SCATTERFORM_H
