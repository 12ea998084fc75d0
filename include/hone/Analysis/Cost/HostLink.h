//===- HostLink.h - Copies between the two arenas ---------------*- C++ -*-===//

#ifndef HONE_ANALYSIS_COST_HOSTLINK_H
#define HONE_ANALYSIS_COST_HOSTLINK_H

#include "hone/Analysis/Cost/TargetDescription.h"

namespace hone {

/// How fast bytes move between the arena and the second one, in each direction
/// beside the other.
struct HostLink {
  double up, down; ///< bytes per second: to the arena, from it
  double latency;  ///< seconds of a copy besides
};

/// Of a CPU the second arena is a file: rates of an NVMe disk, an assumption.
/// Of a GPU it is the host's memory, at the rate of its data sheet
/// (base/DataSheet.h); what a copy takes besides is an assumption.
HostLink hostLinkOf(const TargetDescription &target);

/// Seconds of a copy.
inline double secondsUp(const HostLink &link, int64_t bytes) {
  return link.latency + double(bytes) / link.up;
}
inline double secondsDown(const HostLink &link, int64_t bytes) {
  return link.latency + double(bytes) / link.down;
}

} // namespace hone

#endif // HONE_ANALYSIS_COST_HOSTLINK_H
