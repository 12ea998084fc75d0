//===- CodeSums.h - Column sums in kernels that make codes ------*- C++ -*-===//

#ifndef HONE_TRANSFORMS_FUSE_CODESUMS_H
#define HONE_TRANSFORMS_FUSE_CODESUMS_H

#include "hone/IR/Hone.h"

namespace hone {

/// What `value` reshapes.
mlir::Value stripReshapes(mlir::Value value);

/// Splits the row group that makes the matrix of `codes`, a group of codes, and
/// sums of its columns, as a GELU's gradient and that of a bias: into a map and
/// a row group of the sums. It does so only where mergeSums and a merge of the
/// map can follow.
void splitSums(FusedOp codes);

/// Merges a row group that makes nothing but sums of the columns of the matrix
/// that `codes` reads: it is read once. Returns the group in the place of both,
/// or `codes` where there is none.
FusedOp mergeSums(FusedOp codes);

} // namespace hone

#endif // HONE_TRANSFORMS_FUSE_CODESUMS_H
