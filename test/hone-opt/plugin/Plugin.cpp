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
/// Another formula of GELU, which losses show.
struct TanhGelu : PassWrapper<TanhGelu, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TanhGelu)
  StringRef getArgument() const override { return "my-tanh-gelu"; }
  StringRef getDescription() const override { return "GELU by tanh"; }
  void runOnOperation() override {
    getOperation().walk([](hone::GeluOp op) {
      op.setApproximate(hone::GeluApproximation::tanh);
    });
  }
};

/// A mistake that a verifier of the phases finds, and MLIR's does not.
struct DropNames : PassWrapper<DropNames, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DropNames)
  StringRef getArgument() const override { return "my-drop-names"; }
  StringRef getDescription() const override { return "no argument has a name"; }
  void runOnOperation() override {
    for (unsigned index = 0; index != getOperation().getNumArguments(); ++index)
      getOperation().removeArgAttr(index, hone::attr::fqn);
  }
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "drop-abs", "1", [] {
            PassRegistration<DropAbs<0>>();
            PassRegistration<DropAbs<1>>();
            PassRegistration<TanhGelu>();
            PassRegistration<DropNames>();
          }};
}
