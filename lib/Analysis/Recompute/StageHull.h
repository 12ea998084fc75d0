//===- StageHull.h - Best trades of bytes for seconds -----------*- C++ -*-===//
//
// Private to the planner of a stage.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_ANALYSIS_RECOMPUTE_STAGEHULL_H
#define HONE_LIB_ANALYSIS_RECOMPUTE_STAGEHULL_H

#include "StageModel.h"

namespace hone {

/// The choices at the vertices of the convex hull of (bytes saved, seconds of
/// recompute), most saved first. Without the input: among those whose
/// recomputed units do not read it. The cuts take what they need of `steps`;
/// when those are used up, which leaves 0, some vertices are missing and the
/// ends may be others.
llvm::SmallVector<StageChoice> hullChoices(const StageModel &model,
                                           bool withInput, int64_t &steps);

} // namespace hone

#endif // HONE_LIB_ANALYSIS_RECOMPUTE_STAGEHULL_H
