//===- ReferenceProduct.h - Matrix products on the host ---------*- C++ -*-===//

#ifndef HONERT_EXEC_CUDA_COMPARE_REFERENCEPRODUCT_H
#define HONERT_EXEC_CUDA_COMPARE_REFERENCEPRODUCT_H

#include "base/Parallel.h"
#include "exec/cuda/compare/Tolerance.h"

namespace honert {

/// Computes a product with its epilogue as abi.def defines it, in f64 from what
/// lies in `memory`, by no code that also prepares the GPU's call. Returns what
/// it wrote there, with bounds of the error of any sum in f32: for a row a and
/// a column b, |a| |b| sumError(k), besides the rounding of operands (TF32) and
/// of what a program stores on the way where the library lacks the epilogue.
std::vector<Expected> referenceProduct(const MatmulLaunch &launch,
                                       bool roundsToTf32, char *memory,
                                       const ThreadPool &pool);

} // namespace honert

#endif // HONERT_EXEC_CUDA_COMPARE_REFERENCEPRODUCT_H
