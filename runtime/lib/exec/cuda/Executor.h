//===- Executor.h - Runs the functions of a program on a GPU --------------===//

#ifndef HONERT_EXEC_CUDA_EXECUTOR_H
#define HONERT_EXEC_CUDA_EXECUTOR_H

#include "exec/Executor.h"
#include "exec/cuda/Branches.h"
#include "exec/cuda/TimedRun.h"
#include "exec/cuda/attention/Launches.h"
#include "exec/cuda/collectives/Launches.h"
#include "exec/cuda/compare/Comparison.h"
#include "exec/cuda/core/HostArena.h"
#include "exec/cuda/core/Image.h"
#include "exec/cuda/core/Staging.h"
#include "exec/cuda/core/Upload.h"
#include "exec/cuda/products/Matmul.h"

#include <deque>
#include <memory>

namespace honert {

/// What is multiplied: bf16 or f16, f32 rounded to TF32, or f32.
enum class Multiplied { narrow, tf32, f32 };

/// The program on a GPU, or of several ranks on the GPU of this one: one arena
/// in its memory, all launches in order on one stream, collectives beside it.
/// The host may be a step ahead.
///
/// The first run of a function is made launch by launch, each waited for: the
/// driver loads what it loads late, and a launch that fails is named. The
/// second records the launches as a graph; from then on a run is one call. An
/// error on the way of a graph names the function only; with
/// HONE_CHECK_LAUNCHES set to anything but 0, every run is made like the first.
/// A run whose launches are recorded is a graph of its own, with events.
///
/// A second arena is memory of the host, which the program copies to and from
/// beside launches (HostArena.h). The view holds that memory itself.
///
/// With HONE_PARALLEL_BRANCHES, products that later launches do not need yet,
/// as those of weights' gradients, run on a stream beside them.
///
/// A stage of a pipeline has a function for each combination of instances that
/// its lists run, so a graph for each of these; HONE_GRAPHS says how many at
/// most. The others are launched anew each time, without waiting between them.
class CudaExecutor : public Executor {
public:
  /// `world` may be null: this process alone.
  CudaExecutor(const Program &program, const ThreadPool &pool,
               bool deterministic, ProcessGroup *world);
  ~CudaExecutor() override;

  Status start() override;
  /// Looks for a GPU and touches nothing of it.
  Status startForInfo() override;
  Status run(const Function &function) override;
  Status flush() override;
  Channels *channels() override { return collectives.channels(); }
  Status endStep() override;
  int stepsInFlight() const override { return 1; }
  Status collect() override;

  Status publish(int64_t offset, int64_t bytes) override;
  Status fetch(int64_t offset, int64_t bytes) override;
  void forget(int64_t offset, int64_t bytes) override;
  Status zero(int64_t offset, int64_t bytes) override;

  std::optional<int64_t> workspaceBytes() const override {
    return workspace.bytes();
  }
  std::string machineText() const override { return device.text(); }
  /// "cuBLASLt 13.1.0, cuDNN 9.19.0, NCCL 2.28.9"; what is not used is not
  /// named.
  std::string libraryVersion() const override;
  std::string libraryNote() const override { return matmuls.versionText(); }
  std::string launchNote() const override;
  PeakRate peakRate() const override;
  LaunchLimits limitsOf(const Launch &launch) const override;

  std::vector<TrialResult> tryParts() override;
  Status compareLaunches(bool isOn) override;
  std::string comparedText() const override { return comparison->summary(); }

private:
  struct Bound;
  struct BoundFunction;

  Status prepare(int64_t process);
  Status chooseGraphs();
  Status startBranches();
  Status agreeOnAlgorithms();
  Status loadLibraryKernels();
  Status bind(const Launch &launch, int64_t processorsTaken, Bound &bound);
  Status countLeft(int64_t processorsTaken, const std::string &what,
                   int64_t &left) const;
  Status bindProduct(const Launch &launch, const MatmulLaunch &matmul,
                     int64_t processorsTaken, Bound &bound);
  Status bindKernel(const DeviceLaunch &kernel, Bound &bound);
  Status enqueue(const Bound &bound);
  Status enqueueKernel(const DeviceLaunch &kernel, const Bound &bound);
  Status enqueueProduct(const MatmulLaunch &matmul, const Bound &bound);
  Status enqueueTimed(const Bound &bound, const EventPair &events);
  Status enqueueBeside(const BoundFunction &function, size_t launch,
                       const EventPair *events);
  Status enqueueAll(const BoundFunction &function, TimedRun *times = nullptr);
  Status runChecked(const BoundFunction &function);
  Status runRecorded(const BoundFunction &function);
  Status runCompared(const BoundFunction &function);
  Status replayRecorded(BoundFunction &function);
  Status replay(BoundFunction &function);
  Status runAgain(const BoundFunction &function, bool isTimed);
  Status capture(const BoundFunction &function, CUgraphExec &graph,
                 TimedRun *times = nullptr);
  Multiplied multipliedBy(const Launch &launch) const;
  Status runOnDevice(const Function &function);

  ProcessGroup *const world;
  const ThreadPool &pool;
  Device device;                  // first: what follows lives on it
  CollectiveLaunches collectives; // NCCL may have allocated the arena
  DeviceMemory deviceArena;
  MatmulWorkspace workspace;
  KernelImage image;
  MatmulLaunches matmuls;
  AttentionLaunches attentions;
  Branches branches;
  HostArena host;
  Staging staging;
  Upload upload;
  std::map<const Function *, BoundFunction> functions;
  std::string running;           ///< functions of the step, "'step'"
  std::deque<std::string> ended; ///< the same of steps to collect
  ReplayTimes replayTimes;
  StepClock clock;
  bool checksLaunches;
  bool timesGraphs = true; ///< the driver has not refused events in graphs
  size_t mostGraphs = 0, functionsWithGraphs = 0;
  std::unique_ptr<LaunchComparison> comparison;
  bool isComparing = false;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_EXECUTOR_H
