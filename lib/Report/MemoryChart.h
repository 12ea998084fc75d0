//===- MemoryChart.h - Memory over a step, and against time ---*- C++ -*-===//

#ifndef HONE_REPORT_MEMORYCHART_H
#define HONE_REPORT_MEMORYCHART_H

#include "hone/Report/Machine.h"

#include "llvm/Support/raw_ostream.h"

namespace honec {

/// The bytes alive during each launch of a step, by category and over the
/// estimated time. @evaluate is drawn if the fullest point lies in it.
void drawTimeline(llvm::raw_ostream &out, const Summary &summary,
                  const MachineModel &machine);

/// Estimated time of a step against the size of the arena. The curve is not
/// empty.
void drawCurve(llvm::raw_ostream &out, const MemorySummary &memory);

/// The point of the curve that is nearest to the arena as it is.
size_t chosenPoint(const MemorySummary &memory);

} // namespace honec

#endif // HONE_REPORT_MEMORYCHART_H
