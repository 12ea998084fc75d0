//===- SplitRows.h - Cuts row kernels after their sums ----------*- C++ -*-===//

#ifndef HONE_TRANSFORMS_FUSE_SPLITROWS_H
#define HONE_TRANSFORMS_FUSE_SPLITROWS_H

#include "hone/Analysis/Fusion/RowTail.h"

namespace hone {

/// Moves a tail out of its row group into a map behind it, whose result takes
/// the place of the tail's. The group returns the values per row instead.
FusedOp splitRows(const RowTail &tail);

} // namespace hone

#endif // HONE_TRANSFORMS_FUSE_SPLITROWS_H
