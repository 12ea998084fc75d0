//===- VerifyDeviceCode.cpp - Border check after lowering device code -----===//

#include "hone/Target/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace hone {
#define GEN_PASS_DEF_VERIFYDEVICECODE
#include "hone/Target/Passes.h.inc"
} // namespace hone

using namespace mlir;

namespace {
struct VerifyDeviceCode : hone::impl::VerifyDeviceCodeBase<VerifyDeviceCode> {
  void runOnOperation() override {
    WalkResult walk = getOperation().walk<WalkOrder::PreOrder>(
        [&](Operation *op) -> WalkResult {
          if (isa<gpu::GPUModuleOp, gpu::ModuleEndOp>(op))
            return WalkResult::advance();
          if (!isa_and_present<LLVM::LLVMDialect, NVVM::NVVMDialect>(
                  op->getDialect()))
            return op->emitOpError("is left after the lowering of device code");
          auto func = dyn_cast<LLVM::LLVMFuncOp>(op);
          if (func && func.isExternal())
            return op->emitOpError("is '")
                   << func.getName() << "', which has no body on the device";
          return WalkResult::advance();
        });
    if (walk.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
