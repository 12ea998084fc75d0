//===- DepthwiseKernels.h - Convolutions of each channel apart --*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_CPU_DEPTHWISEKERNELS_H
#define HONE_LIB_CODEGEN_CPU_DEPTHWISEKERNELS_H

#include "Codegen/Common/Kernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// The kernel of a convolution or one of its gradients: on vectors of channels
/// where each channel is convolved apart (hasVectorKernel), else the generic
/// one. The gradient by the weight of such a convolution has partial sums in
/// the launch's scratch, which emitWeightSums adds.
mlir::FailureOr<Kernel> emitConvolution(mlir::OpBuilder &builder,
                                        llvm::StringRef name,
                                        plan::LaunchOp launch);

/// Adds the chunks of a gradient by the weight.
mlir::FailureOr<Kernel> emitWeightSums(mlir::OpBuilder &builder,
                                       llvm::StringRef name,
                                       plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_CPU_DEPTHWISEKERNELS_H
