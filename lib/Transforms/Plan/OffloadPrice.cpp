//===- OffloadPrice.cpp - What a step takes within a budget ---------------===//

#include "OffloadPrice.h"

#include "hone/Analysis/Cost/CopyTimeline.h"
#include "hone/IR/CodeNames.h"
#include "hone/Sharding/IR/Dist.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace hone;

/// How often a step runs a function of a plan.
static double timesOf(plan::FunctionOp function) {
  StringRef name = dist::functionWithoutChunk(function.getSymName());
  if (name == "step" || name == "update")
    return 1;
  if (name == "evaluate" || name == "generate" || name == fillCodesName)
    return 0;
  for (Operation *op = function; op; op = op->getParentOp())
    if (auto count = op->getAttrOfType<IntegerAttr>(attr::microBatches))
      return double(count.getInt());
  return 1;
}

static double secondsOf(plan::FunctionOp function,
                        const TargetDescription &target) {
  double seconds = timeCopies(function, target).exposed;
  for (auto launch : function.getBody().getOps<plan::LaunchOp>())
    seconds += secondsOfLaunch(launch, target);
  return seconds;
}

std::optional<double> hone::priceOfStep(ModuleOp trial,
                                        const PlanCheckpointsOptions &options,
                                        const TargetDescription &target,
                                        RunPipeline run) {
  // Stages may be planned beside each other, and have errors of their own.
  uint64_t own = llvm::get_threadid();
  ScopedDiagnosticHandler quiet(trial.getContext(), [own](Diagnostic &) {
    return success(llvm::get_threadid() == own);
  });
  OpPassManager manager(ModuleOp::getOperationName());
  manager.addPass(createPlanCheckpoints(options));
  manager.addNestedPass<func::FuncOp>(createApplyCheckpoints());
  manager.addNestedPass<func::FuncOp>(createStreamWeights());
  manager.addPass(createSplitTurns());
  PlanMemoryOptions plan;
  plan.maxNodes = 0; // offsets do not change the price
  manager.addPass(createPlanMemory(plan));
  if (failed(run(manager, trial)))
    return std::nullopt;
  double seconds = 0;
  for (auto program : trial.getOps<plan::ProgramOp>())
    for (auto function : program.getBody().getOps<plan::FunctionOp>())
      seconds += timesOf(function) * secondsOf(function, target);
  return seconds;
}
