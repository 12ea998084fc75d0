//===- VerifyLLVM.cpp - Border check after lowering to LLVM ---------------===//

#include "hone/Target/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace hone {
#define GEN_PASS_DEF_VERIFYLLVM
#include "hone/Target/Passes.h.inc"
} // namespace hone

using namespace mlir;

/// Whether compiled code may call the function `name` that it does not define.
static bool isProvidedAtLink(StringRef name) {
  return name.starts_with("honert_") || name.starts_with("llvm.") ||
         llvm::is_contained({"memcpy", "memmove", "memset"}, name);
}

namespace {
struct VerifyLLVM : hone::impl::VerifyLLVMBase<VerifyLLVM> {
  void runOnOperation() override {
    WalkResult walk = getOperation().walk<WalkOrder::PreOrder>(
        [&](Operation *op) -> WalkResult {
          if (op == getOperation())
            return WalkResult::advance();
          if (!isa_and_present<LLVM::LLVMDialect>(op->getDialect()))
            return op->emitOpError("is left after the lowering to LLVM");
          auto func = dyn_cast<LLVM::LLVMFuncOp>(op);
          if (func && func.isExternal() && !isProvidedAtLink(func.getName()))
            return op->emitOpError("is '")
                   << func.getName()
                   << "', which no linked library defines, expected honert_*";
          return WalkResult::advance();
        });
    if (walk.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
