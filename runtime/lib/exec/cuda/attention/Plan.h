//===- Plan.h - How cuDNN computes one attention problem ------------------===//

#ifndef HONERT_EXEC_CUDA_ATTENTION_PLAN_H
#define HONERT_EXEC_CUDA_ATTENTION_PLAN_H

#include "exec/cuda/attention/Descriptors.h"
#include "exec/cuda/attention/Graph.h"

namespace honert {

/// An execution plan, made here or read from text, and the memory it needs
/// besides operands. Its workspace begins with the scratch of our graph; the
/// library's own comes last.
class AttentionPlan {
public:
  AttentionPlan(const CudnnFunctions &cudnn, const AttentionProblem &problem);

  /// Makes a plan for `arch` (90 for sm_90): without a GPU from a description
  /// of one where `handle` is null. Errors: why there is none.
  Status build(int arch, cudnnHandle_t handle = nullptr);
  /// Takes a plan that text() of the same version of the library gave, for
  /// `arch` as build().
  Status load(const std::string &text, int arch,
              cudnnHandle_t handle = nullptr);
  Status text(std::string &text) const;

  int64_t workspaceBytes() const;

  /// Puts the call on the handle's stream. `operands` are the addresses of
  /// problem.operands(), `workspace` that of workspaceBytes() bytes.
  Status execute(cudnnHandle_t handle, const std::vector<CUdeviceptr> &operands,
                 CUdeviceptr workspace);

private:
  Status describeDevice(int arch, Descriptors::Handle &properties);
  Status createPlan(Descriptors::Handle properties, cudnnHandle_t handle,
                    const char *what);
  Status readWorkspace();
  Status finalizeFirst(const std::vector<Descriptors::Handle> &configurations,
                       Descriptors::Handle properties, cudnnHandle_t handle);

  const CudnnFunctions &cudnn;
  AttentionProblem problem;
  AttentionGraph graph;
  Descriptors descriptors;
  Descriptors::Handle plan = nullptr;
  std::map<int64_t, int64_t> scratchOffsets; ///< by id, in the workspace
  int64_t scratchBytes = 0, libraryBytes = 0;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_ATTENTION_PLAN_H
