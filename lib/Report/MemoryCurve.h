//===- MemoryCurve.h - What other sizes of the arena would cost -*- C++ -*-===//

#ifndef HONE_REPORT_MEMORYCURVE_H
#define HONE_REPORT_MEMORYCURVE_H

#include "hone/Report/Report.h"

namespace hone::report {

/// Sizes of the arena in bytes, from the least, with seconds of a step.
struct MemoryCurve {
  std::vector<std::pair<int64_t, double>> points;
  size_t chosen = 0; ///< the program itself: its arena and estimated step
};

/// The curve by which the checkpoint phase has chosen, in terms of the report:
/// the phase measures temporaries alone and knows no machine, so sizes and
/// times of this program are those of the plan, and other times keep their
/// proportion to the work of its launches.
MemoryCurve readMemoryCurve(const Report &report);

} // namespace hone::report

#endif // HONE_REPORT_MEMORYCURVE_H
