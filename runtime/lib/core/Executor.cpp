//===- Executor.cpp - Runs the functions of a program ---------------------===//

#include "core/Executor.h"
#include "cpu/CpuExecutor.h"

using namespace honert;

Executor::~Executor() = default;

std::unique_ptr<Executor> honert::makeExecutor(const Program &program,
                                               const ThreadPool &pool,
                                               bool deterministic,
                                               World *world) {
  if (program.isForCuda())
    return makeCudaExecutor(program, deterministic, world);
  return std::make_unique<CpuExecutor>(program, pool, world);
}
