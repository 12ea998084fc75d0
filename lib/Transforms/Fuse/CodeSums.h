//===- CodeSums.h - Column sums in kernels that make codes ------*- C++ -*-===//

#ifndef HONE_TRANSFORMS_FUSE_CODESUMS_H
#define HONE_TRANSFORMS_FUSE_CODESUMS_H

#include "hone/IR/Hone.h"

namespace hone {

/// Columns that a thread of a kernel of codes has, of one row.
constexpr int64_t threadWidth = 8;
/// Columns that a vector of such a kernel has on a CPU.
constexpr int64_t vectorWidth = 16;

/// What `value` reshapes, which has so many readers; null where others read it,
/// or what is between.
mlir::Value withoutReshapes(mlir::Value value, unsigned readers = 1);

/// Of a group that makes nothing but codes: the matrix that it makes them of.
mlir::Value codedMatrix(FusedOp codes);

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
