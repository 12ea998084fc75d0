//===- Launches.h - Fused attention by cuDNN ------------------------------===//

#ifndef HONERT_EXEC_CUDA_ATTENTION_LAUNCHES_H
#define HONERT_EXEC_CUDA_ATTENTION_LAUNCHES_H

#include "exec/cuda/attention/Plan.h"
#include "exec/cuda/core/Device.h"
#include "program/Program.h"

#include <map>
#include <memory>

namespace honert {

/// How a problem is computed, by all launches of it.
struct KnownAttention {
  std::unique_ptr<AttentionPlan> plan;
  bool isOfProgram = false; ///< read from the executable, not made here
  bool hasRun = false;
};

/// An attention of the program, ready to be put on the stream.
struct AttentionCall {
  std::string name;
  const AttentionLaunch *launch = nullptr;
  KnownAttention *known = nullptr;
  std::vector<CUdeviceptr> operands;
  CUdeviceptr workspace = 0; ///< in the arena
};

/// The library, and a plan per distinct problem: the executable's for this
/// architecture where the library takes it, else one that is made here. A plan
/// made here may need more workspace than the program has: then there is one
/// beside the arena. `deterministic`: equal runs must give equal bits.
class AttentionLaunches {
public:
  AttentionLaunches(const Device &device, bool deterministic)
      : device(device), deterministic(deterministic) {}
  ~AttentionLaunches();
  AttentionLaunches(const AttentionLaunches &) = delete;
  AttentionLaunches &operator=(const AttentionLaunches &) = delete;

  /// Opens the library with the first. Errors: there is none, it has no plan,
  /// or none that is deterministic where all must be.
  Status prepare(const Launch &launch, const AttentionLaunch &attention,
                 const DeviceMemory &arena, AttentionCall &call);
  /// Puts it on the device's stream. A plan of the program's that the library
  /// reads but does not run is made anew.
  Status enqueue(const AttentionCall &call);

  /// "cuDNN 9.19.0"; empty before the first attention.
  std::string versionText() const;

private:
  Status open();
  Status plan(const AttentionLaunch &attention, KnownAttention &known);
  Status makePlan(const AttentionLaunch &attention, const std::string &why,
                  KnownAttention &known);
  Status reserve(int64_t bytes);
  Status execute(const AttentionCall &call);

  const Device &device;
  const bool deterministic;
  CudnnFunctions cudnn;
  cudnnHandle_t handle = nullptr;
  std::map<std::string, KnownAttention> plans; ///< by problem
  /// Of plans that need more than the program has. What was too small stays
  /// until the end: a recorded graph may use it.
  std::vector<std::unique_ptr<DeviceMemory>> workspaces;
  int64_t workspaceBytes = 0; ///< of the last
  bool hasToldOfPlanning = false;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_ATTENTION_LAUNCHES_H
