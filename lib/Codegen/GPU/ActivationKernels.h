//===- ActivationKernels.h - Activations of products on a GPU ---*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_ACTIVATIONKERNELS_H
#define HONE_LIB_CODEGEN_GPU_ACTIVATIONKERNELS_H

#include "Codegen/Program/Lowering.h"
#include "GridKernel.h"

namespace hone {

/// A kernel that adds the bias to a product in memory and applies its
/// activation, in place: honert_matmul_activation.
mlir::FailureOr<GridKernel>
emitProductActivation(mlir::OpBuilder &builder, llvm::StringRef name,
                      plan::LaunchOp launch, const ProductActivation &product);

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_ACTIVATIONKERNELS_H
