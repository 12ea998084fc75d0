//===- Descriptors.h - cuDNN's objects and who frees them -----------------===//

#ifndef HONERT_EXEC_CUDA_ATTENTION_DESCRIPTORS_H
#define HONERT_EXEC_CUDA_ATTENTION_DESCRIPTORS_H

#include "exec/cuda/attention/Cudnn.h"
#include "exec/cuda/attention/OperationGraph.h"

namespace honert {

/// Descriptors that live together and are freed in the opposite order.
class Descriptors {
public:
  using Handle = cudnnBackendDescriptor_t;

  explicit Descriptors(const CudnnFunctions &cudnn) : cudnn(cudnn) {}
  ~Descriptors();
  Descriptors(const Descriptors &) = delete;
  Descriptors &operator=(const Descriptors &) = delete;

  /// `what` completes "could not ..." in errors: "describe a tensor".
  Status create(int type, const char *what, Handle &descriptor);
  Status set(Handle descriptor, int name, int type, int64_t count,
             const void *elements, const char *what) const;
  Status finalize(Handle descriptor, const char *what) const;

  /// Makes the operation graph; `handle` is null where there is no GPU.
  Status describe(const OperationGraph &graph, cudnnHandle_t handle,
                  Handle &described);

private:
  Status describe(const GraphTensor &tensor, Handle &described);
  Status describe(const GraphNode &node, const std::vector<Handle> &tensors,
                  Handle &described);
  Status describeKind(const GraphNode &node, Handle &described);

  const CudnnFunctions &cudnn;
  std::vector<Handle> owned;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_ATTENTION_DESCRIPTORS_H
