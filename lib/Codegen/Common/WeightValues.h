//===- WeightValues.h - Values of weights in codes, in code -----*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_COMMON_WEIGHTVALUES_H
#define HONE_LIB_CODEGEN_COMMON_WEIGHTVALUES_H

#include "KernelBuilder.h"

namespace hone {

/// The fp32 values of codes, without their scale: `codes` are i32, a scalar or
/// a vector, of which nf4 reads the low four bits.
mlir::Value emitCodeValues(KernelBuilder &b, WeightCode code,
                           mlir::Value codes);

} // namespace hone

#endif // HONE_LIB_CODEGEN_COMMON_WEIGHTVALUES_H
