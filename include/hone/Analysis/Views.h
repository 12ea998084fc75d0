//===- Views.h - Values that need no kernel ---------------------*- C++ -*-===//
//
// Which slices are read where they lie, and which concatenations are written in
// place: those are in no group, and the memory plan gives them no storage.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_VIEWS_H
#define HONE_ANALYSIS_VIEWS_H

#include "hone/IR/Hone.h"

namespace hone {

/// A slice that its readers can read in place with strides: every reader is an
/// attention op, possibly behind reshapes that split the last dimension.
bool isStridedView(SliceOp slice);

/// A concatenation along the last dimension whose operands are each written
/// straight into their part of it: made by an attention op and read only here.
bool isPlacement(ConcatOp concat);

} // namespace hone

#endif // HONE_ANALYSIS_VIEWS_H
