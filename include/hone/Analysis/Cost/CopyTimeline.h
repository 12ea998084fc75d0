//===- CopyTimeline.h - When copies between the arenas run ------*- C++ -*-===//

#ifndef HONE_ANALYSIS_COST_COPYTIMELINE_H
#define HONE_ANALYSIS_COST_COPYTIMELINE_H

#include "hone/Analysis/Cost/HostLink.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// What copies between the two arenas cost.
struct CopyCost {
  int64_t up = 0, down = 0; ///< bytes
  double exposed = 0;       ///< seconds that launches wait for them

  void add(const CopyCost &other, int64_t times) {
    up += times * other.up;
    down += times * other.down;
    exposed += double(times) * other.exposed;
  }
};

/// What a launch takes.
double secondsOfLaunch(plan::LaunchOp launch, const TargetDescription &target);

/// That of one run of `function`: launches take what KernelCost says, copies of
/// one direction run in their order, each direction beside the other and beside
/// launches.
CopyCost timeCopies(plan::FunctionOp function, const TargetDescription &target);

} // namespace hone

#endif // HONE_ANALYSIS_COST_COPYTIMELINE_H
