//===- Executor.h - Runs the functions of a program on a CPU --------------===//

#ifndef HONERT_EXEC_CPU_EXECUTOR_H
#define HONERT_EXEC_CPU_EXECUTOR_H

#include "exec/Executor.h"
#include "exec/cpu/Convolution.h"
#include "exec/cpu/FileArena.h"
#include "exec/cpu/Matmul.h"
#include "program/Transport.h"

namespace honert {

/// Kernels on the threads of a pool, matrix products and convolutions by
/// oneDNN, collectives by the transport of the world, over an arena in memory:
/// its view is the arena itself.
class CpuExecutor : public Executor {
public:
  /// Without a world, a program of several ranks starts, for --info, and runs
  /// no collective.
  CpuExecutor(const Program &program, const ThreadPool &pool,
              ProcessGroup *world = nullptr);
  ~CpuExecutor() override;

  Status start() override;
  /// Without the file of the second arena, which nothing reads.
  Status startForInfo() override;
  Status run(const Function &function) override;
  Channels *channels() override { return stageChannels.get(); }
  Status zero(int64_t offset, int64_t bytes) override;
  void forget(int64_t offset, int64_t bytes) override {
    memory.pass(offset, bytes);
  }

  std::optional<int64_t> workspaceBytes() const override;
  std::string machineText() const override;
  std::string libraryVersion() const override;
  std::string libraryNote() const override;
  PeakRate peakRate() const override;

private:
  struct Bound;

  Status bind(const Launch &launch, Bound &bound);
  Status prepareCollective(const Launch &launch);
  Status runLaunch(const Function &function, Bound &bound);
  void runKernel(const KernelLaunch &kernel, Bound &bound);
  Status prepare();
  void runShard(const ShardLaunch &shard);
  int64_t libraryBytes() const;
  int64_t numberAlong(const Axes &axes) const;

  const ThreadPool &pool;
  ProcessGroup *world;
  Arena workspace;
  FileArena host; ///< the second arena
  DnnlEngine engine;
  MatmulLibrary matmuls;
  ConvolutionLibrary convolutions;
  bool isStarted = false;
  std::map<const Function *, std::vector<Bound>> functions;
  std::unique_ptr<Transport> transport; ///< where a function has a collective
  std::unique_ptr<Channels> stageChannels; ///< of a stage
};

} // namespace honert

#endif // HONERT_EXEC_CPU_EXECUTOR_H
