//===- MakeExecutor.cpp - Which machine runs a program --------------------===//

#include "train/MakeExecutor.h"
#include "exec/cpu/Executor.h"
#include "exec/cuda/Executor.h"

using namespace honert;

std::unique_ptr<Executor> honert::makeExecutor(const Program &program,
                                               const ThreadPool &pool,
                                               bool deterministic,
                                               ProcessGroup *world) {
  if (program.isForCuda())
    return std::make_unique<CudaExecutor>(program, pool, deterministic, world);
  return std::make_unique<CpuExecutor>(program, pool, world);
}
