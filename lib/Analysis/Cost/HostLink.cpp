//===- HostLink.cpp - Copies between the two arenas -----------------------===//

#include "hone/Analysis/Cost/HostLink.h"

using namespace hone;

HostLink hone::hostLinkOf(const TargetDescription &target) {
  if (target.kind == TargetKind::CPU)
    return {2e9, 1e9, 20e-6};
  double rate = target.device().link;
  return {rate, rate, 8e-6};
}
