//===- BindKernels.cpp - Entries that unpack a kernel's buffers -----------===//

#include "hone/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace hone {
#define GEN_PASS_DEF_BINDKERNELS
#include "hone/Conversion/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

namespace {
struct BindKernels : hone::impl::BindKernelsBase<BindKernels> {
  void runOnOperation() override {
    for (auto entry : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      auto target = entry->getAttrOfType<FlatSymbolRefAttr>("hone.kernel");
      if (!target)
        continue;
      auto kernel =
          getOperation().lookupSymbol<LLVM::LLVMFuncOp>(target.getValue());
      if (!kernel) {
        entry.emitError() << "binds " << target << ", which is no function";
        return signalPassFailure();
      }
      bind(entry, kernel);
      entry->removeAttr("hone.kernel");
    }
  }

  /// entry(buffers, lo, hi) = kernel(buffers[0], buffers[1], ..., lo, hi)
  void bind(LLVM::LLVMFuncOp entry, LLVM::LLVMFuncOp kernel) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToStart(entry.addEntryBlock(builder));
    Location loc = entry.getLoc();
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    SmallVector<Value> operands;
    for (int32_t index : llvm::seq<int32_t>(0, kernel.getNumArguments() - 2)) {
      Value slot = builder.create<LLVM::GEPOp>(loc, pointer, pointer,
                                               entry.getArgument(0),
                                               ArrayRef<LLVM::GEPArg>{index});
      operands.push_back(builder.create<LLVM::LoadOp>(loc, pointer, slot));
    }
    operands.push_back(entry.getArgument(1));
    operands.push_back(entry.getArgument(2));
    builder.create<LLVM::CallOp>(loc, kernel, operands);
    builder.create<LLVM::ReturnOp>(loc, ValueRange());
    entry.setLinkage(LLVM::Linkage::Internal);
    kernel.setLinkage(LLVM::Linkage::Internal);
  }
};
} // namespace
