//===- HostLink.cpp - Copies between the two arenas -----------------------===//

#include "hone/Analysis/Cost/HostLink.h"

using namespace hone;

HostLink hone::hostLinkOf(const TargetDescription &target) {
  if (target.kind == TargetKind::CPU)
    return {2e9, 1e9, 20e-6};
  return {55e9, 55e9, 8e-6}; // PCIe 5, 16 lanes
}
