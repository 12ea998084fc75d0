//===- CodeSums.h - Groups that make codes, and column sums -----*- C++ -*-===//

#ifndef HONE_TRANSFORMS_FUSE_CODESUMS_H
#define HONE_TRANSFORMS_FUSE_CODESUMS_H

#include "hone/IR/Hone.h"

namespace hone {

/// Columns that a thread of a kernel of codes has, of one row.
constexpr int64_t threadWidth = 8;

/// What `value` reshapes, which has so many readers; null where others read it,
/// or what is between.
mlir::Value withoutReshapes(mlir::Value value, unsigned readers = 1);

/// Whether the group makes nothing but codes of one input, by tiles or by an
/// input that is its largest magnitude.
bool makesCodes(FusedOp group);

/// Whether the codes have one scale, of a largest magnitude that is an input.
bool readsAmax(FusedOp codes);

/// The group that does nothing but find the largest magnitude that `codes`
/// need, of the matrix that they are made of; null: it is found where the
/// matrix is made, or not needed.
FusedOp findAmax(FusedOp codes);

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
