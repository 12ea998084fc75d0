//===- Launches.h - What the ranks' GPUs do together ----------------------===//

#ifndef HONERT_EXEC_CUDA_COLLECTIVES_LAUNCHES_H
#define HONERT_EXEC_CUDA_COLLECTIVES_LAUNCHES_H

#include "comm/group/Watchdog.h"
#include "exec/cuda/collectives/Communicators.h"
#include "exec/cuda/collectives/Progress.h"
#include "exec/cuda/collectives/StageChannels.h"
#include "exec/cuda/core/EventPair.h"

#include <map>

namespace honert {

/// Collectives and what goes with them: waits, shards, coordinates.
///
/// Every list of axes has a stream of its own, on which its collectives run in
/// order. One begins after what was put on the main stream before it; the main
/// stream waits for it at once, or, if it has a token, at honert_wait. All of
/// it may be recorded as part of a graph.
class CollectiveLaunches {
public:
  /// `world` may be null: one rank.
  CollectiveLaunches(const Device &device, const Program &program,
                     ProcessGroup *world, bool deterministic);
  ~CollectiveLaunches();

  /// Whether ranks exchange anything.
  bool isUsed() const {
    return !communicators.lists().empty() || stageChannels.isUsed();
  }
  /// The number of this process among those of its machine. Called by all
  /// ranks.
  Status findLocalRank(int64_t &number);
  /// Opens NCCL, if it is used.
  Status open();
  /// Memory that NCCL can send from: its own where it registers some.
  Status allocate(DeviceMemory &memory, int64_t bytes, const char *what);
  /// Joins the ranks. Called by all.
  Status join(const DeviceMemory &arena);

  /// For each launch of `function`, how many multiprocessors collectives that
  /// run beside it may occupy: those that were begun and not yet waited for,
  /// one per list of axes at a time, and messages of every line of this rank. 0
  /// where it is not known (HONE_COLLECTIVE_SMS).
  std::vector<int64_t> processorsTaken(const Function &function) const;

  /// What stages send each other; null: nothing.
  Channels *channels() {
    return stageChannels.isUsed() ? &stageChannels : nullptr;
  }

  /// A function begins on the main stream.
  Status beginFunction(const Function &function);
  /// Its last launch has been put there.
  Status endFunction();
  /// Puts a launch on its stream: a collective, a wait, a shard or a
  /// coordinate. `what` names it in errors. `events`, if any, time one that has
  /// a stream of its own.
  Status enqueue(const Launch &launch, const DeviceMemory &arena,
                 const std::string &what, const EventPair *events = nullptr);
  /// Whether it is a collective between ranks, beside the main stream.
  bool hasOwnStream(const Launch &launch) const;
  /// All runs so far end with this step; the oldest step is done.
  void endStep() { progress.endStep(); }
  void collectStep() { progress.collectStep(); }
  /// The rank fails: it waits for the others no more.
  void fail();
  /// Leaves the others. Nothing runs, no graph is left that has collectives.
  void close();

  /// "NCCL 2.28.9", or empty if it is not used.
  std::string versionText() const;

private:
  /// The stream of a list of axes.
  struct Line {
    CUstream stream = nullptr;
    DeviceEvent ready, done;
  };

  Status joinAlone();
  Status findTrouble();
  int64_t rank() const { return world ? world->rank() : 0; }
  Status enqueueCollective(const Launch &launch,
                           const CollectiveLaunch &collective,
                           const DeviceMemory &arena, const std::string &what,
                           const EventPair *events);
  ncclResult_t issue(const CollectiveLaunch &collective, int64_t line,
                     const DeviceMemory &arena);
  ncclResult_t exchange(const CollectiveLaunch &collective, ncclComm_t comm,
                        CUstream stream, const DeviceMemory &arena);
  Status shard(const ShardLaunch &launch, const DeviceMemory &arena,
               const std::string &what);
  Status writeCoordinate(const CoordinateLaunch &launch,
                         const DeviceMemory &arena);
  Status copy(int64_t out, int64_t in, int64_t bytes, const DeviceMemory &arena,
              const std::string &what);

  const Device &device;
  const Program &program;
  ProcessGroup *const world;
  Communicators communicators;
  std::vector<Line> lines;             ///< as communicators.lists()
  std::map<int64_t, DeviceEvent> done; ///< by token
  CollectiveProgress progress;
  StageChannels stageChannels;
  std::unique_ptr<Watchdog> watchdog;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_COLLECTIVES_LAUNCHES_H
