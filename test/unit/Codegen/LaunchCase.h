//===- LaunchCase.h - A launch made from a function -------------*- C++ -*-===//

#ifndef HONE_TEST_KERNELS_LAUNCHCASE_H
#define HONE_TEST_KERNELS_LAUNCHCASE_H

#include "KernelCase.h"

#include "mlir/IR/OwningOpRef.h"

namespace hone::test {

/// A module with the function of a case and a launch that computes it. Buffers
/// lie one after the other in the arena, with room between them.
struct LaunchCase {
  LaunchCase(const std::string &text, const CaseOptions &options);
  mlir::FailureOr<Kernel> emit(Emitter emitter,
                               llvm::StringRef name = "kernel") {
    mlir::OpBuilder builder(module->getContext());
    builder.setInsertionPointToEnd(module->getBody());
    return emitter(builder, name, launch);
  }

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp func;
  plan::LaunchOp launch;
  int64_t arenaBytes = 0;
};

/// The arguments of the case: random, or what its options say.
interp::Tensors argumentsOf(mlir::func::FuncOp func,
                            const CaseOptions &options);

/// What the interpreter makes of the case `text`, which it must take.
interp::Tensors interpretCase(const std::string &text,
                              const CaseOptions &options);

/// Numbers of the launch's buffers that kernels raise, from 0: those of largest
/// magnitudes.
std::vector<size_t> raisedBuffers(plan::LaunchOp launch);

/// Elements between rows of an argument's buffer.
int64_t pitchOf(const CaseOptions &options, unsigned argument,
                mlir::RankedTensorType type);

/// Writes a tensor into a buffer with that pitch, and bytes of such a buffer.
void writeRows(const interp::Tensor &tensor, int64_t pitch, char *buffer);
int64_t pitchedBytes(const interp::Tensor &tensor, int64_t pitch);

} // namespace hone::test

#endif // HONE_TEST_KERNELS_LAUNCHCASE_H
