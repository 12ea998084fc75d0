//===- Launches.h - Fused attention by cuDNN ------------------------------===//

#ifndef HONERT_EXEC_CUDA_ATTENTION_LAUNCHES_H
#define HONERT_EXEC_CUDA_ATTENTION_LAUNCHES_H

#include "exec/cuda/attention/Plan.h"
#include "exec/cuda/core/Device.h"
#include "program/Program.h"

#include <map>
#include <memory>

namespace honert {

/// An attention of the program, ready to be put on the stream.
struct AttentionCall {
  std::string name;
  AttentionPlan *plan = nullptr;
  std::vector<CUdeviceptr> operands;
  CUdeviceptr workspace = 0;
};

/// The library, and a plan per distinct problem: the executable's for this
/// architecture where the library takes it, else one that is made here.
class AttentionLaunches {
public:
  explicit AttentionLaunches(const Device &device) : device(device) {}
  ~AttentionLaunches();
  AttentionLaunches(const AttentionLaunches &) = delete;
  AttentionLaunches &operator=(const AttentionLaunches &) = delete;

  /// Opens the library with the first. Errors: there is none, it has no plan,
  /// or one that needs more workspace than the program has for it.
  Status prepare(const Launch &launch, const AttentionLaunch &attention,
                 const DeviceMemory &arena, AttentionCall &call);
  /// Puts it on the device's stream.
  Status enqueue(const AttentionCall &call) const;

  /// "cuDNN 9.19.0"; empty before the first attention.
  std::string versionText() const;

private:
  Status open();
  Status plan(const AttentionLaunch &attention,
              std::unique_ptr<AttentionPlan> &made);

  const Device &device;
  CudnnFunctions cudnn;
  cudnnHandle_t handle = nullptr;
  std::map<std::string, std::unique_ptr<AttentionPlan>> plans; ///< by problem
  bool hasToldOfPlanning = false;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_ATTENTION_LAUNCHES_H
