//===- FreeValues.h - Copies of values that cost nothing --------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_FUSE_FREEVALUES_H
#define HONE_LIB_TRANSFORMS_FUSE_FREEVALUES_H

#include "mlir/IR/Block.h"

namespace hone {

/// Gives each reader of a free value (Analysis/Fusion/Groups.h) its own copy of
/// it: whoever asks for a plan of the block's kernels does so after this, or
/// readers that share nothing else lie in one region. Erases unread ones.
void copyFreeValues(mlir::Block &block);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_FUSE_FREEVALUES_H
