//===- MakeExecutor.cpp - Which machine runs a program --------------------===//

#include "core/MakeExecutor.h"
#include "cpu/CpuExecutor.h"
#include "cuda/CudaExecutor.h"

using namespace honert;

std::unique_ptr<Executor> honert::makeExecutor(const Program &program,
                                               const ThreadPool &pool,
                                               bool deterministic,
                                               World *world) {
  if (program.isForCuda())
    return std::make_unique<CudaExecutor>(program, deterministic, world);
  return std::make_unique<CpuExecutor>(program, pool, world);
}
