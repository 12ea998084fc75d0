//===- Cudnn.h - cuDNN, opened when somebody asks about attention ---------===//

#ifndef HONERT_EXEC_CUDA_ATTENTION_CUDNN_H
#define HONERT_EXEC_CUDA_ATTENTION_CUDNN_H

#include "exec/cuda/core/Driver.h"

#include <functional>
#include <string>

namespace honert {

using cudnnStatus_t = int;
using cudnnBackendDescriptorType_t = int;
using cudnnBackendAttributeName_t = int;
using cudnnBackendAttributeType_t = int;
using cudnnBackendDescriptor_t = void *;
using cudnnHandle_t = struct CudnnContext *;
using cudaStream_t = CUstream;

enum : int {
#define CUDNN_CONSTANT(name, value) name = value,
#include "exec/cuda/attention/Cudnn.def"
#undef CUDNN_CONSTANT
};

/// The oldest version that is used, as cudnnGetVersion counts: 9.19.0, that of
/// the tests. Before 9.16, lengths that 128 does not divide need a mask.
constexpr size_t oldestCudnn = 91900;
/// The library of the backend interface.
constexpr const char *cudnnLibrary = "libcudnn_graph.so.9";

/// The functions of libcudnn_graph.so.9.
struct CudnnFunctions {
#define CUDNN_FUNCTION(result, name, parameters)                               \
  result(*name) parameters = nullptr;
#include "exec/cuda/attention/Cudnn.def"
#undef CUDNN_FUNCTION

  /// Opens the library where the loader looks, or the emulated one. Errors:
  /// there is none, or it is too old.
  Status open();
  /// Takes the functions from `find`, which answers null for one that is not
  /// there; `library` names it in errors.
  Status take(const std::string &library,
              const std::function<void *(const char *)> &find);
  /// "9.19.0"
  std::string versionText() const;
  /// Success, or "could not <what>: CUDNN_STATUS_X (why)".
  Status check(cudnnStatus_t status, const char *what) const;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_ATTENTION_CUDNN_H
