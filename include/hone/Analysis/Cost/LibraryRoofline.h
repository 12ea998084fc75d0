//===- LibraryRoofline.h - The time of a step made of library calls -------===//
//
// What a step on a GPU takes at least when it is made of the best published
// libraries: every product and every attention at its library's rate, every
// other value through memory in as few passes as one kernel per norm, loss and
// update needs, no time for launches and none in which the GPU waits. A plan is
// measured against it (docs/rationale/device-estimate.md).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_COST_LIBRARYROOFLINE_H
#define HONE_ANALYSIS_COST_LIBRARYROOFLINE_H

#include "hone/Analysis/Cost/TargetDescription.h"

namespace hone {

/// Seconds of one optimizer step, all micro-batches.
struct LibraryRoofline {
  double products = 0, attention = 0;
  double rows = 0; ///< norms with their residual sums, loss, rotations, gates
  double updates = 0; ///< optimizer and gradient norm

  double seconds() const { return products + attention + rows + updates; }
};

/// The limit of the step functions of `module`, as the step phase leaves them:
/// norms, attention and loss are one op each.
LibraryRoofline findLibraryRoofline(mlir::ModuleOp module, int64_t microBatches,
                                    const TargetDescription &target);

} // namespace hone

#endif // HONE_ANALYSIS_COST_LIBRARYROOFLINE_H
