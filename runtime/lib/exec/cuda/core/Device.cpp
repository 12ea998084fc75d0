//===- Device.cpp - One GPU, its memory and its streams -------------------===//

#include "exec/cuda/core/Device.h"
#include "base/Types.h"

using namespace honert;

//===----------------------------------------------------------------------===//
// Device
//===----------------------------------------------------------------------===//

Device::~Device() {
  for (CUstream stream : {secondStream, mainStream})
    if (stream)
      (void)driver.cuStreamDestroy_v2(stream);
  if (context)
    (void)driver.cuDevicePrimaryCtxRelease_v2(device);
}

Status Device::open() { return driver.open(); }

Status Device::choose(int64_t process) {
  int count = 0;
  HONERT_TRY(check(driver.cuDeviceGetCount(&count), "the number of GPUs"));
  if (count == 0)
    return Status::error(
        "libcuda.so.1: the driver sees no GPU, expected one (is "
        "CUDA_VISIBLE_DEVICES set?)");
  // A launcher may show each process its own GPU only.
  int64_t number = count == 1 ? 0 : process;
  if (number >= count)
    return Status::error(
        format("libcuda.so.1: the driver sees %d GPUs, expected one for each "
               "process of this machine; this is number %lld",
               count, static_cast<long long>(process)));
  return look(static_cast<int>(number));
}

Status Device::look(int number) {
  HONERT_TRY(check(driver.cuDeviceGet(&device, number),
                   format("GPU number %d", number)));
  char text[256] = "";
  HONERT_TRY(check(driver.cuDeviceGetName(text, sizeof text, device),
                   "the name of the GPU"));
  deviceName = text;
  int major = 0, minor = 0;
  HONERT_TRY(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, major,
                       "the architecture of the GPU"));
  HONERT_TRY(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, minor,
                       "the architecture of the GPU"));
  architecture = 10 * major + minor;
  return check(driver.cuDriverGetVersion(&driverVersion),
               "the driver's version");
}

Status Device::start() {
  CUcontext retained = nullptr;
  HONERT_TRY(check(driver.cuDevicePrimaryCtxRetain(&retained, device),
                   format("GPU %s cannot be used", deviceName.c_str())));
  context = retained;
  HONERT_TRY(check(driver.cuCtxSetCurrent(context),
                   format("GPU %s cannot be used", deviceName.c_str())));
  for (CUstream *stream : {&mainStream, &secondStream})
    HONERT_TRY(check(driver.cuStreamCreate(stream, CU_STREAM_NON_BLOCKING),
                     "a stream cannot be made"));
  return Status();
}

std::string Device::text() const {
  return format("%s (sm_%d), driver for CUDA %d.%d", deviceName.c_str(),
                architecture, driverVersion / 1000, driverVersion % 1000 / 10);
}

Status Device::noRoom(int64_t bytes, const char *what) const {
  size_t free = 0, total = 0;
  HONERT_TRY(
      check(driver.cuMemGetInfo_v2(&free, &total), "the memory of the GPU"));
  return Status::error(
      format("%s needs %s; GPU %s has %s free of %s; compile with a smaller "
             "--memory-budget, which honec --dry-run --device=NAME finds",
             what, formatBytes(bytes).c_str(), deviceName.c_str(),
             formatBytes(static_cast<int64_t>(free)).c_str(),
             formatBytes(static_cast<int64_t>(total)).c_str()));
}

Status Device::synchronize(const std::string &what) const {
  return check(driver.cuStreamSynchronize(mainStream), what);
}

Status Device::download(void *to, CUdeviceptr from, int64_t bytes,
                        const std::string &what) const {
  if (bytes == 0)
    return Status();
  HONERT_TRY(check(driver.cuMemcpyDtoHAsync_v2(
                       to, from, static_cast<size_t>(bytes), mainStream),
                   what));
  return synchronize(what);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

DeviceMemory::~DeviceMemory() {
  if (owner)
    release ? release(base) : void(owner->functions().cuMemFree_v2(base));
}

void DeviceMemory::adopt(const Device &device, CUdeviceptr address,
                         int64_t bytes,
                         std::function<void(CUdeviceptr)> releasedBy) {
  owner = &device;
  base = address;
  size = bytes;
  release = std::move(releasedBy);
}

Status DeviceMemory::allocate(const Device &device, int64_t bytes,
                              const char *what) {
  if (bytes == 0)
    return Status();
  const DriverFunctions &driver = device.functions();
  CUresult result = driver.cuMemAlloc_v2(&base, static_cast<size_t>(bytes));
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return device.noRoom(bytes, what);
  HONERT_TRY(device.check(result, std::string(what) + " cannot be allocated"));
  owner = &device;
  size = bytes;
  return Status();
}

PinnedMemory::~PinnedMemory() {
  if (owner)
    (void)owner->functions().cuMemFreeHost(base);
}

Status PinnedMemory::allocate(const Device &device, int64_t bytes) {
  if (bytes == 0)
    return Status();
  void *memory = nullptr;
  HONERT_TRY(device.check(
      device.functions().cuMemAllocHost_v2(&memory, static_cast<size_t>(bytes)),
      format("pinned memory of %s cannot be allocated",
             formatBytes(bytes).c_str())));
  owner = &device;
  base = static_cast<char *>(memory);
  return Status();
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

DeviceEvent::~DeviceEvent() {
  if (owner)
    (void)owner->functions().cuEventDestroy_v2(event);
}

Status DeviceEvent::create(const Device &device, bool timed) {
  unsigned flags = timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING;
  HONERT_TRY(device.check(device.functions().cuEventCreate(&event, flags),
                          "an event cannot be made"));
  owner = &device;
  return Status();
}

Status DeviceEvent::record(CUstream stream) const {
  return owner->check(owner->functions().cuEventRecord(event, stream),
                      "an event cannot be recorded");
}

Status DeviceEvent::recordInGraph(CUstream stream) const {
  return owner->check(owner->functions().cuEventRecordWithFlags(
                          event, stream, CU_EVENT_RECORD_EXTERNAL),
                      "an event cannot be recorded in a graph");
}

Status DeviceEvent::wait(const std::string &what) const {
  return owner->check(owner->functions().cuEventSynchronize(event), what);
}

Status DeviceEvent::holdBack(CUstream stream) const {
  return owner->check(owner->functions().cuStreamWaitEvent(stream, event, 0),
                      "a stream cannot wait for another");
}

Status DeviceEvent::secondsTo(const DeviceEvent &end, double &seconds) const {
  float milliseconds = 0;
  HONERT_TRY(owner->check(
      owner->functions().cuEventElapsedTime(&milliseconds, event, end.event),
      "the time of a launch cannot be read"));
  seconds = static_cast<double>(milliseconds) * 1e-3;
  return Status();
}
