//===- Device.h - One GPU, its memory and its streams ---------------------===//

#ifndef HONERT_EXEC_CUDA_CORE_DEVICE_H
#define HONERT_EXEC_CUDA_CORE_DEVICE_H

#include "exec/cuda/core/Driver.h"

#include <functional>
#include <string>
#include <utility>

namespace honert {

/// A GPU, in its primary context, which becomes that of the calling thread.
/// Everything runs in order on one stream; copies of what comes next have
/// another.
class Device {
public:
  Device() = default;
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  /// Opens the driver. To be called once.
  Status open();
  /// Looks at the GPU of the process that is number `process` of its machine:
  /// the only one that the driver shows, or the one of that number.
  Status choose(int64_t process = 0);
  /// Takes the context and makes the streams.
  Status start();

  const DriverFunctions &functions() const { return driver; }
  Status check(CUresult result, const std::string &what) const {
    return driver.check(result, what);
  }
  /// `what` begins the error.
  Status attribute(CUdevice_attribute attribute, int &value,
                   const char *what) const {
    return check(driver.cuDeviceGetAttribute(&value, attribute, device), what);
  }
  CUstream stream() const { return mainStream; }
  CUstream copyStream() const { return secondStream; }
  const std::string &name() const { return deviceName; }
  /// 90 for sm_90.
  int arch() const { return architecture; }
  /// "NVIDIA H200 (sm_90), driver for CUDA 13.0"
  std::string text() const;
  /// The error for want of `bytes` bytes of memory for `what`.
  Status noRoom(int64_t bytes, const char *what) const;
  /// Everything that was put on the main stream is done.
  Status synchronize(const std::string &what) const;
  /// Copies to memory of the host, after that; `what` begins errors.
  Status download(void *to, CUdeviceptr from, int64_t bytes,
                  const std::string &what) const;

private:
  Status look(int number);

  DriverFunctions driver;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream mainStream = nullptr, secondStream = nullptr;
  std::string deviceName;
  int architecture = 0, driverVersion = 0;
};

/// Memory on the device, 256-byte aligned at least. What it holds at first is
/// not defined.
class DeviceMemory {
public:
  DeviceMemory() = default;
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;

  /// `what` names it in the error for want of memory ("the arena").
  Status allocate(const Device &device, int64_t bytes, const char *what);
  /// Takes memory over that `release` frees.
  void adopt(const Device &device, CUdeviceptr address, int64_t bytes,
             std::function<void(CUdeviceptr)> release);
  CUdeviceptr at(int64_t offset) const {
    return base + static_cast<CUdeviceptr>(offset);
  }
  int64_t bytes() const { return size; }

private:
  const Device *owner = nullptr;
  CUdeviceptr base = 0;
  int64_t size = 0;
  std::function<void(CUdeviceptr)> release; ///< of memory that was taken over
};

/// Memory of the host that the device copies from and to by itself.
class PinnedMemory {
public:
  PinnedMemory() = default;
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory &) = delete;
  PinnedMemory &operator=(const PinnedMemory &) = delete;

  Status allocate(const Device &device, int64_t bytes);
  char *at(int64_t offset) const { return base + offset; }

private:
  const Device *owner = nullptr;
  char *base = nullptr;
};

/// A moment on a stream.
class DeviceEvent {
public:
  DeviceEvent() = default;
  DeviceEvent(DeviceEvent &&other) noexcept
      : owner(std::exchange(other.owner, nullptr)), event(other.event) {}
  ~DeviceEvent();

  /// `timed`: secondsTo() may be asked.
  Status create(const Device &device, bool timed);
  /// After what was put on `stream`, or on the main one.
  Status record(CUstream stream) const;
  Status record() const { return record(owner->stream()); }
  /// The same while `stream` is captured: each run of the graph records it
  /// anew.
  Status recordInGraph(CUstream stream) const;
  /// The host waits for it. `what` begins the error of what failed before.
  Status wait(const std::string &what = "the GPU has failed") const;
  /// What is put on `stream` from now on waits for it.
  Status holdBack(CUstream stream) const;
  /// From this moment, which has passed, to `end`, which has too.
  Status secondsTo(const DeviceEvent &end, double &seconds) const;

private:
  const Device *owner = nullptr;
  CUevent event = nullptr;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_CORE_DEVICE_H
