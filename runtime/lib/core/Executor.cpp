//===- Executor.cpp - Runs the functions of a program ---------------------===//

#include "core/Executor.h"

using namespace honert;

struct Executor::Bound {
  const Launch *launch;
  std::vector<void *> buffers;    // of a kernel
  std::unique_ptr<Matmul> matmul; // of a matrix product
};

Executor::Executor(const Program &program, const ThreadPool &pool)
    : program(program), pool(pool), matmuls(pool) {}

Executor::~Executor() = default;

Status Executor::bind(const Launch &launch, Bound &bound) {
  bound.launch = &launch;
  if (auto *kernel = std::get_if<KernelLaunch>(&launch.action))
    for (int64_t offset : kernel->offsets)
      bound.buffers.push_back(memory.at(offset));
  if (auto *matmul = std::get_if<MatmulLaunch>(&launch.action))
    return matmuls.prepare(launch.name, *matmul, memory.at(0), bound.matmul);
  return Status();
}

Status Executor::start() {
  HONERT_TRY(memory.allocate(program.arenaBytes, "the arena"));
  for (const Function &function : program.functions) {
    std::vector<Bound> &bounds = functions[&function];
    bounds.resize(function.launches.size());
    for (size_t i = 0; i < bounds.size(); ++i)
      HONERT_TRY(bind(function.launches[i], bounds[i]));
  }
  HONERT_TRY(
      workspace.allocate(matmuls.workspaceBytes(), "the library workspace"));
  for (auto &[function, bounds] : functions)
    for (Bound &bound : bounds)
      if (bound.matmul)
        bound.matmul->bind(workspace.at(0));
  return Status();
}

Status Executor::runLaunch(const Function &function, const Bound &bound) {
  if (bound.matmul)
    return bound.matmul->run();
  const auto &action = bound.launch->action;
  if (auto *kernel = std::get_if<KernelLaunch>(&action)) {
    pool.run(kernel->items, kernel->grain, [&](int64_t lo, int64_t hi) {
      kernel->kernel(bound.buffers.data(), lo, hi);
    });
  } else if (auto *zero = std::get_if<ZeroLaunch>(&action)) {
    pool.zero(memory.at(zero->offset), zero->bytes);
  } else if (auto *call = std::get_if<CallbackLaunch>(&action)) {
    DefaultFloatMode mode;
    if (call->callback(call->user, function.name.c_str(), memory.at(0)) != 0)
      return Status::reported();
  }
  return Status();
}

Status Executor::run(const Function &function) {
  using Clock = std::chrono::steady_clock;
  for (const Bound &bound : functions.at(&function)) {
    if (!recording) {
      HONERT_TRY(runLaunch(function, bound));
      continue;
    }
    Clock::time_point begin = Clock::now();
    HONERT_TRY(runLaunch(function, bound));
    recording->push_back({bound.launch, begin, Clock::now()});
  }
  return Status();
}
