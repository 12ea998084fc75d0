//===- Trials.h - What cuBLASLt takes ---------------------------*- C++ -*-===//

#ifndef HONERT_EXEC_CUDA_TRIALS_H
#define HONERT_EXEC_CUDA_TRIALS_H

#include "base/Parallel.h"
#include "exec/Executor.h"
#include "exec/cuda/core/Device.h"

namespace honert {

/// Runs a small product of every kind that the compiler emits: types, TF32,
/// layouts of the operands, a batch, an addend, each epilogue. A row per kind:
/// "ok", "absent" where the library has none (the runtime then makes several
/// calls), or how the result differs from the host's, which is an error.
TrialResult tryProducts(const Device &device, const ThreadPool &pool);

} // namespace honert

#endif // HONERT_EXEC_CUDA_TRIALS_H
