//===- Reference.h - Launches of a GPU on the host --------------*- C++ -*-===//

#ifndef HONERT_EXEC_CUDA_COMPARE_REFERENCE_H
#define HONERT_EXEC_CUDA_COMPARE_REFERENCE_H

#include "base/Parallel.h"
#include "exec/cuda/compare/Tolerance.h"
#include "program/ProcessGroup.h"
#include "program/Transport.h"

#include <memory>

struct honemu_emulator;

namespace honert {

/// Does on the host what a launch does on a GPU, in a mirror of the arena:
/// kernels by the emulator, whose code the executable then holds (honec
/// --host-kernels), products and attention in f64, collectives by messages.
class LaunchReference {
public:
  LaunchReference(const Program &program, bool roundsToTf32,
                  const ThreadPool &pool, ProcessGroup *world);
  ~LaunchReference();

  /// Errors: the executable holds no code for the host. `mirror` has as many
  /// bytes as the arena.
  Status start(char *mirror);
  /// What the launch should have written lies in the mirror when this returns;
  /// of an asynchronous collective after finish().
  Status run(const Launch &launch, std::vector<Expected> &written);
  /// The collective of `token` is done.
  Status finish(int64_t token);

private:
  Status runKernel(const DeviceLaunch &kernel, std::vector<Expected> &written);
  Status emulate(const DeviceLaunch &kernel, bool isInexact);
  Status runCollective(const Launch &launch, const CollectiveLaunch &collective,
                       std::vector<Expected> &written);
  void runShard(const ShardLaunch &shard, std::vector<Expected> &written);

  const Program &program;
  const bool roundsToTf32;
  const ThreadPool &pool;
  ProcessGroup *const world;
  std::unique_ptr<Transport> transport; ///< null: collectives are not known
  honemu_emulator *emulator = nullptr;
  char *memory = nullptr;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_COMPARE_REFERENCE_H
