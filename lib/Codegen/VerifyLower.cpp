//===- VerifyLower.cpp - Border check after lowering to kernels -----------===//

#include "hone/Codegen/Passes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace hone {
#define GEN_PASS_DEF_VERIFYLOWER
#include "hone/Codegen/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// Whether each kernel is as small as the bounds of fusion make it: an emitter
/// that repeats what it has made grows beyond any, and LLVM with it.
static LogicalResult verifySizes(ModuleOp module) {
  constexpr int64_t maxOps = 1 << 18;
  // Those of a GPU are in a module of their own.
  WalkResult walk = module.walk([&](FunctionOpInterface kernel) -> WalkResult {
    int64_t ops = 0;
    kernel.walk([&](Operation *) { ++ops; });
    if (ops <= maxOps)
      return WalkResult::advance();
    return kernel.emitError() << "kernel @" << kernel.getName() << " has "
                              << ops << " ops, expected at most " << maxOps;
  });
  return failure(walk.wasInterrupted());
}

namespace {
struct VerifyLower : hone::impl::VerifyLowerBase<VerifyLower> {
  void runOnOperation() override {
    if (!getOperation().lookupSymbol("hone_program")) {
      getOperation().emitError("has no @hone_program");
      return signalPassFailure();
    }
    WalkResult walk = getOperation().walk([&](Operation *op) -> WalkResult {
      if (isa_and_present<HoneDialect, plan::PlanDialect>(op->getDialect()))
        return op->emitOpError("is left after lowering");
      return WalkResult::advance();
    });
    if (walk.wasInterrupted() || failed(verifySizes(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
