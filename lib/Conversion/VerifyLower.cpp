//===- VerifyLower.cpp - Border check after lowering to kernels -----------===//

#include "hone/Conversion/Passes.h"

namespace hone {
#define GEN_PASS_DEF_VERIFYLOWER
#include "hone/Conversion/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

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
    if (walk.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
