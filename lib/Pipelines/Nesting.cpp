//===- Nesting.cpp - Passes on parts of a module --------------------------===//

#include "Nesting.h"

#include "hone/IR/PackageFunction.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace hone;

namespace {
struct OnForward : PassWrapper<OnForward, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OnForward)

  explicit OnForward(OpPassManager passes) : passes(std::move(passes)) {}

  StringRef getName() const override { return "OnForward"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    passes.getDependentDialects(registry);
  }

  void runOnOperation() override {
    if (holdsWholeStep(getOperation()))
      return markAllAnalysesPreserved();
    if (failed(runPipeline(passes, getOperation())))
      signalPassFailure();
  }

  OpPassManager passes;
};

struct OnStages : PassWrapper<OnStages, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OnStages)

  explicit OnStages(OpPassManager passes) : passes(std::move(passes)) {}

  StringRef getName() const override { return "OnStages"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    passes.getDependentDialects(registry);
  }

  void runOnOperation() override {
    auto stages = llvm::to_vector(getOperation().getOps<ModuleOp>());
    if (stages.empty())
      stages.push_back(getOperation());
    for (ModuleOp stage : stages)
      if (failed(runPipeline(passes, stage)))
        return signalPassFailure();
  }

  OpPassManager passes;
};
} // namespace

void hone::addOnForward(OpPassManager &manager, BuildPasses build) {
  OpPassManager passes(ModuleOp::getOperationName());
  build(passes);
  manager.addPass(std::make_unique<OnForward>(std::move(passes)));
}

void hone::addOnStages(OpPassManager &manager, BuildPasses build) {
  OpPassManager passes(ModuleOp::getOperationName());
  build(passes);
  manager.addPass(std::make_unique<OnStages>(std::move(passes)));
}
