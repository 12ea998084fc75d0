//===- Views.h - Values that need no kernel ---------------------*- C++ -*-===//
//
// Which slices are read where they lie, and which concatenations are written in
// place: those are in no group, and the memory plan gives them no storage.
//
// A part is *contiguous* when it is a run of its whole's memory: only the first
// dimension with more than one element is cut. Every kernel and call reads and
// writes such parts. Parts along the last dimension are strided: attention and
// rotations take those, whose heads split that dimension further, and row
// kernels, which step over rows.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_LAYOUT_VIEWS_H
#define HONE_ANALYSIS_LAYOUT_VIEWS_H

#include "hone/IR/Hone.h"

namespace hone {

/// An op that the fuse phase leaves in no group: its result has no storage of
/// its own, but is its operand's (another shape, a part), or holds its
/// operands' (a concatenation).
bool isStorageView(mlir::Operation *op);

/// Such an op on one operand, and no null: the result is the operand with
/// another shape or a part of it.
bool isViewOfOperand(mlir::Operation *op);

/// What `value` sees with another shape or is a part of; null: nothing.
mlir::Value viewedValue(mlir::Value value);

/// `value`, or what it sees through all such views.
mlir::Value stripViews(mlir::Value value);

/// A slice whose elements are one run of its operand's memory.
bool isContiguous(SliceOp slice);

/// A concatenation each of whose operands is one run of its memory.
bool isContiguous(ConcatOp concat);

/// Whether every reader of `value` could read it as a part along the last
/// dimension of something wider: attention and rotations, possibly behind
/// reshapes that split the last dimension, and maps.
bool isReadInPlace(mlir::Value value);

/// A slice that its readers can read in place: it is contiguous, or along the
/// last dimension and read so.
bool isViewSlice(SliceOp slice);

/// A concatenation whose operands are each written straight into their part of
/// it: each is made by an op and read only here, and the parts are contiguous,
/// or lie along the last dimension and are made by attention, a rotation or a
/// map.
bool isPlacement(ConcatOp concat);

} // namespace hone

#endif // HONE_ANALYSIS_LAYOUT_VIEWS_H
