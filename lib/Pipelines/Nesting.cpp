//===- Nesting.cpp - Passes on parts of a module --------------------------===//

#include "Nesting.h"

#include "hone/IR/PackageFunction.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace hone;

/// The modules that passes run on.
using ChooseModules = SmallVector<ModuleOp> (*)(ModuleOp);

namespace {
struct Nested : PassWrapper<Nested, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Nested)

  Nested(StringRef name, ChooseModules choose, OpPassManager passes)
      : name(name), choose(choose), passes(std::move(passes)) {}

  StringRef getName() const override { return name; }
  void getDependentDialects(DialectRegistry &registry) const override {
    passes.getDependentDialects(registry);
  }

  void runOnOperation() override {
    SmallVector<ModuleOp> modules = choose(getOperation());
    if (modules.empty())
      return markAllAnalysesPreserved();
    for (ModuleOp module : modules)
      if (failed(runPipeline(passes, module)))
        return signalPassFailure();
  }

  StringRef name;
  ChooseModules choose;
  OpPassManager passes;
};
} // namespace

static void addNested(OpPassManager &manager, StringRef name,
                      ChooseModules choose, BuildPasses build) {
  OpPassManager passes(ModuleOp::getOperationName());
  build(passes);
  manager.addPass(std::make_unique<Nested>(name, choose, std::move(passes)));
}

void hone::addOnForward(OpPassManager &manager, BuildPasses build) {
  auto choose = [](ModuleOp module) {
    return holdsWholeStep(module) ? SmallVector<ModuleOp>()
                                  : SmallVector<ModuleOp>{module};
  };
  addNested(manager, "OnForward", choose, build);
}

void hone::addOnStages(OpPassManager &manager, BuildPasses build) {
  auto choose = [](ModuleOp module) {
    SmallVector<ModuleOp> stages(module.getOps<ModuleOp>());
    return stages.empty() ? SmallVector<ModuleOp>{module} : stages;
  };
  addNested(manager, "OnStages", choose, build);
}
