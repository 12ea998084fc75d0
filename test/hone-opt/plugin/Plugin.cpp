//===- Plugin.cpp - A pass out of tree that knows ops by their types ------===//

#include "hone/IR/Hone.h"
#include "hone/Support/ByteSize.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

using namespace mlir;

#ifdef CALLS_WHAT_IS_MISSING
void isDefinedNowhere();
#endif

namespace {
/// ||x|| is |x|.
void dropRepeatedAbs(hone::AbsOp op) {
  auto inner = op->getOperand(0).getDefiningOp<hone::AbsOp>();
  if (!inner)
    return;
  int64_t count = cast<ShapedType>(op.getType()).getNumElements();
  op.emitRemark("saves ") << hone::formatBytes(4 * count);
  op.replaceAllUsesWith(inner.getResult());
  op.erase();
}

template <int number>
struct DropAbs : PassWrapper<DropAbs<number>, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DropAbs)
  StringRef getArgument() const override {
    // Some of the names of a plugin may begin as those of hone-opt do.
    return number == 0 ? "my-drop-abs" : "hone-drop-abs";
  }
  StringRef getDescription() const override { return "||x|| is |x|"; }
  void runOnOperation() override {
#ifdef CALLS_WHAT_IS_MISSING
    isDefinedNowhere();
#endif
    this->getOperation().walk(dropRepeatedAbs);
  }
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "drop-abs", "1", [] {
            PassRegistration<DropAbs<0>>();
            PassRegistration<DropAbs<1>>();
          }};
}
