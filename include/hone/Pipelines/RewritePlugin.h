//===- RewritePlugin.h - A plugin of one rewrite ----------------*- C++ -*-===//
//
// All that a plugin needs beside a function that changes one op:
//
//   static void useTanh(hone::GeluOp op) { ... }
//   HONE_REWRITE_PLUGIN("tanh-gelu", "Computes GELU by tanh", useTanh)
//
// A plugin of other passes defines mlirGetPassPluginInfo itself.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PIPELINES_REWRITEPLUGIN_H
#define HONE_PIPELINES_REWRITEPLUGIN_H

#include "hone/IR/Hone.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

namespace hone {

/// Calls `rewrite` with every op of a function that is an `Op`, innermost
/// first. It may erase that op, and no other.
template <typename Op, void (*rewrite)(Op)>
class RewritePass
    : public mlir::PassWrapper<RewritePass<Op, rewrite>,
                               mlir::OperationPass<mlir::func::FuncOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RewritePass)

  RewritePass(llvm::StringRef name, llvm::StringRef description)
      : name(name), description(description) {}

  llvm::StringRef getArgument() const override { return name; }
  llvm::StringRef getDescription() const override { return description; }
  void runOnOperation() override {
    this->getOperation().walk([](Op op) { rewrite(op); });
  }

private:
  llvm::StringRef name, description;
};

/// The type of op that a rewrite takes.
template <typename Op> Op opOfRewrite(void (*)(Op));

} // namespace hone

/// Defines the entry of a plugin with one pass, which calls `rewrite`, a
/// function of one op.
#define HONE_REWRITE_PLUGIN(name, description, rewrite)                        \
  extern "C" LLVM_ATTRIBUTE_WEAK ::mlir::PassPluginLibraryInfo                 \
  mlirGetPassPluginInfo() {                                                    \
    using Op = decltype(::hone::opOfRewrite(rewrite));                         \
    return {MLIR_PLUGIN_API_VERSION, name, "1", [] {                           \
              ::mlir::registerPass([] {                                        \
                return std::make_unique<::hone::RewritePass<Op, rewrite>>(     \
                    name, description);                                        \
              });                                                              \
            }};                                                                \
  }

#endif // HONE_PIPELINES_REWRITEPLUGIN_H
