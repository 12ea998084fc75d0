//===- AttentionCalls.h - Attention as calls of a library -------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_FUSE_ATTENTIONCALLS_H
#define HONE_LIB_TRANSFORMS_FUSE_ATTENTIONCALLS_H

#include "mlir/IR/Operation.h"

namespace hone {

/// Replaces an attention op that whyNotAsked() lets pass by ops of which each
/// is one call: a call has queries of one run, which begin at one position, and
/// results in the type of its operands. Returns these ops, or `op` where it is
/// such a call.
llvm::SmallVector<mlir::Operation *> splitIntoCalls(mlir::Operation *op);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_FUSE_ATTENTIONCALLS_H
