//===- GenericKernels.h - Kernels that compute element by element ---------===//

#ifndef HONE_LIB_CODEGEN_CPU_GENERICKERNELS_H
#define HONE_LIB_CODEGEN_CPU_GENERICKERNELS_H

#include "Codegen/Common/Kernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// Kernel of any launch whose body holds primitive ops: creation (random and
/// dropout included), elementwise, shape, reduce, argmax, cumsum, gelu,
/// take_along, convolutions, pooling, products of groups.
///
/// A body that only moves elements (one transpose, slice, pad or concat)
/// becomes vector copies of runs, or a blocked transpose. A single cumsum runs
/// line by line. Any other body is scalar code: an item is an element of the
/// outputs, each computed from its indices, with reductions as loops. Correct
/// for every type and shape, made for small and rare launches: row and map
/// groups have emitters of their own.
///
/// An output may lie on an input that is read elementwise only; any other
/// overlap, and an op outside of the list, is an error at the launch.
mlir::FailureOr<Kernel> emitPoint(mlir::OpBuilder &builder,
                                  llvm::StringRef name, plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_CPU_GENERICKERNELS_H
