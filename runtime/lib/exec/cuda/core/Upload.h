//===- Upload.h - Large copies to the device --------------------*- C++ -*-===//

#ifndef HONERT_EXEC_CUDA_CORE_UPLOAD_H
#define HONERT_EXEC_CUDA_CORE_UPLOAD_H

#include "base/Parallel.h"
#include "exec/cuda/core/Device.h"

namespace honert {

/// Copies from memory of the host that is not pinned. The driver would do that
/// with one thread, waiting for each piece; here all threads fill one pinned
/// buffer while the device reads the other.
class Upload {
public:
  Upload(const Device &device, const ThreadPool &pool)
      : device(device), pool(pool) {}

  /// Puts copies on the main stream. `source` is read when this returns; it has
  /// `bytes` bytes.
  Status copy(const char *source, CUdeviceptr target, int64_t bytes);

private:
  /// Large beside what starting a copy costs, small beside the state.
  static constexpr int64_t bufferBytes = 16 << 20;

  Status start();
  Status turn();

  const Device &device;
  const ThreadPool &pool;
  PinnedMemory buffers; ///< two, of bufferBytes; allocated by the first copy
  DeviceEvent consumed[2];
  bool hasStarted = false, wasUsed[2] = {};
  int current = 0;    ///< the buffer that is filled
  int64_t filled = 0; ///< bytes of it
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_CORE_UPLOAD_H
