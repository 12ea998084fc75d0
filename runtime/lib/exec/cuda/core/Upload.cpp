//===- Upload.cpp - Large copies to the device ----------------------------===//

#include "exec/cuda/core/Upload.h"

#include <algorithm>
#include <cstring>

using namespace honert;

static constexpr const char *what = "state cannot be copied to the GPU";

Status Upload::start() {
  if (hasStarted)
    return Status();
  HONERT_TRY(buffers.allocate(device, 2 * bufferBytes));
  for (DeviceEvent &event : consumed)
    HONERT_TRY(event.create(device, /*timed=*/false));
  hasStarted = true;
  return Status();
}

/// Goes on with the other buffer, once the device has read what it held.
Status Upload::turn() {
  HONERT_TRY(consumed[current].record());
  wasUsed[current] = true;
  current = 1 - current;
  filled = 0;
  return wasUsed[current] ? consumed[current].wait(what) : Status();
}

Status Upload::copy(const char *source, CUdeviceptr target, int64_t bytes) {
  HONERT_TRY(start());
  for (int64_t done = 0, size = 0; done < bytes; done += size) {
    if (filled == bufferBytes)
      HONERT_TRY(turn());
    size = std::min(bufferBytes - filled, bytes - done);
    char *buffer = buffers.at(current * bufferBytes + filled);
    constexpr int64_t grain = 1 << 16;
    pool.run(size, grain, [&](int64_t lo, int64_t hi) {
      std::memcpy(buffer + lo, source + done + lo,
                  static_cast<size_t>(hi - lo));
    });
    HONERT_TRY(device.check(device.functions().cuMemcpyHtoDAsync_v2(
                                target + static_cast<CUdeviceptr>(done), buffer,
                                static_cast<size_t>(size), device.stream()),
                            what));
    constexpr int64_t alignment = 256;
    filled = std::min(bufferBytes,
                      (filled + size + alignment - 1) / alignment * alignment);
  }
  return Status();
}
