//===- CpuExecutor.h - Runs the functions of a program on a CPU -----------===//

#ifndef HONERT_CPU_CPUEXECUTOR_H
#define HONERT_CPU_CPUEXECUTOR_H

#include "core/Executor.h"
#include "cpu/Matmul.h"

namespace honert {

/// Kernels on the threads of a pool, matrix products by oneDNN, over an arena
/// in memory: its view is the arena itself.
class CpuExecutor : public Executor {
public:
  CpuExecutor(const Program &program, const ThreadPool &pool);
  ~CpuExecutor() override;

  Status start() override;
  Status run(const Function &function) override;
  Status zero(int64_t offset, int64_t bytes) override;

  std::optional<int64_t> workspaceBytes() const override;
  std::string machineText() const override;
  std::string libraryVersion() const override { return matmuls.versionText(); }
  std::string libraryNote() const override;
  PeakRate peakRate() const override;

private:
  struct Bound;

  Status bind(const Launch &launch, Bound &bound);
  Status runLaunch(const Function &function, Bound &bound);
  void runKernel(const KernelLaunch &kernel, Bound &bound);

  const ThreadPool &pool;
  Arena workspace;
  MatmulLibrary matmuls;
  bool isStarted = false;
  std::map<const Function *, std::vector<Bound>> functions;
};

} // namespace honert

#endif // HONERT_CPU_CPUEXECUTOR_H
