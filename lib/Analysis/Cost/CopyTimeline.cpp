//===- CopyTimeline.cpp - When copies between the arenas run --------------===//

#include "hone/Analysis/Cost/CopyTimeline.h"

#include "hone/Analysis/Cost/KernelCost.h"

using namespace mlir;
using namespace hone;
using namespace hone::plan;

double hone::secondsOfLaunch(LaunchOp launch, const TargetDescription &target) {
  SmallVector<Operation *> ops;
  launch.getBody().walk([&](HoneOpInterface op) { ops.push_back(op); });
  OpCost cost = launchCost(launch);
  return kernelTime(ops, cost.bytesRead + cost.bytesWritten, target).seconds();
}

CopyCost hone::timeCopies(FunctionOp function,
                          const TargetDescription &target) {
  CopyCost cost;
  if (function.getOps<CopyOp>().empty())
    return cost;
  HostLink link = hostLinkOf(target);
  double now = 0, upEnd = 0, downEnd = 0;
  DenseMap<int64_t, double> done; // by token
  for (Operation &op : function.getBody().front()) {
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      now += secondsOfLaunch(launch, target);
    } else if (auto copy = dyn_cast<CopyOp>(op)) {
      bool isUp = copy.getDirection() == Direction::up;
      int64_t bytes = extentBytes(cast<MemRefType>(copy.getBuffer().getType()));
      double &end = isUp ? upEnd : downEnd;
      end = std::max(now, end) + link.latency +
            double(bytes) / (isUp ? link.up : link.down);
      (isUp ? cost.up : cost.down) += bytes;
      done[copy.getToken()] = end;
    } else if (auto wait = dyn_cast<plan::WaitOp>(op)) {
      double end = std::max(now, done.lookup(wait.getToken()));
      cost.exposed += end - now;
      now = end;
    }
  }
  return cost;
}
