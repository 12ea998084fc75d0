//===- Device.cpp - A driver's device and its memory ----------------------===//

#include "emulation/driver/FakeCuda.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace honert;
using namespace honert::fake;

/// Returns from a fake function that has to fail.
#define FAKE_ENTER(...)                                                        \
  if (CUresult failed = state().enter(__VA_ARGS__))                            \
  return failed

// The emulator's, where it is linked: bytes become known, or with 0 unknown.
extern "C" __attribute__((weak)) void honemu_allocation(void *address,
                                                        int64_t bytes);

//===----------------------------------------------------------------------===//
// Driver and device
//===----------------------------------------------------------------------===//

CUresult fake::cuInit(unsigned) {
  FAKE_ENTER("cuInit", false);
  if (state().settings.devices == 0)
    return CUDA_ERROR_NO_DEVICE;
  state().isInitialised = true;
  return CUDA_SUCCESS;
}

CUresult fake::cuDriverGetVersion(int *version) {
  FAKE_ENTER("cuDriverGetVersion", false);
  *version = state().settings.driverVersion;
  return CUDA_SUCCESS;
}

CUresult fake::cuGetErrorName(CUresult error, const char **text) {
#define CUDA_CONSTANT(name, value)                                             \
  if (std::strncmp(#name, "CUDA_", 5) == 0 && error == name) {                 \
    *text = #name;                                                             \
    return CUDA_SUCCESS;                                                       \
  }
#include "exec/cuda/core/Driver.def"
#undef CUDA_CONSTANT
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult fake::cuGetErrorString(CUresult, const char **text) {
  *text = state().text.empty() ? "as told to fail" : state().text.c_str();
  return CUDA_SUCCESS;
}

CUresult fake::cuDeviceGetCount(int *count) {
  FAKE_ENTER("cuDeviceGetCount", false);
  if (!state().isInitialised)
    return state().mistake(CUDA_ERROR_NOT_INITIALIZED, "no cuInit");
  *count = state().settings.devices;
  return CUDA_SUCCESS;
}

CUresult fake::cuDeviceGet(CUdevice *device, int ordinal) {
  FAKE_ENTER("cuDeviceGet", false);
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult fake::cuDeviceGetName(char *name, int bytes, CUdevice) {
  FAKE_ENTER("cuDeviceGetName", false);
  std::snprintf(name, static_cast<size_t>(bytes), "%s",
                state().settings.name.c_str());
  return CUDA_SUCCESS;
}

CUresult fake::cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                                    CUdevice) {
  FAKE_ENTER("cuDeviceGetAttribute", false);
  int arch = state().settings.arch;
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = arch / 10;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = arch % 10;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = state().settings.processors;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    *value = state().settings.l2Bytes;
    return CUDA_SUCCESS;
  default:
    return state().mistake(CUDA_ERROR_INVALID_VALUE,
                           "an attribute of the device that is not known");
  }
}

CUresult fake::cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
  FAKE_ENTER("cuDevicePrimaryCtxRetain", false);
  *context = reinterpret_cast<CUcontext>(&state());
  state().isRetained = true;
  state().born("context");
  return CUDA_SUCCESS;
}

CUresult fake::cuDevicePrimaryCtxRelease_v2(CUdevice) {
  state().died("context");
  if (!state().live.count("context"))
    state().isRetained = state().isCurrent = false;
  return CUDA_SUCCESS;
}

CUresult fake::cuCtxSetCurrent(CUcontext context) {
  FAKE_ENTER("cuCtxSetCurrent", false);
  if (context != reinterpret_cast<CUcontext>(&state()) || !state().isRetained)
    return state().mistake(CUDA_ERROR_INVALID_CONTEXT, "no such context");
  state().isCurrent = true;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static size_t usedBytes() {
  size_t used = 0;
  for (auto [begin, bytes] : state().deviceMemory)
    used += static_cast<size_t>(bytes);
  return used;
}

CUresult fake::cuMemGetInfo_v2(size_t *free, size_t *total) {
  FAKE_ENTER("cuMemGetInfo_v2");
  *total = state().settings.memoryBytes;
  *free = *total - usedBytes();
  return CUDA_SUCCESS;
}

/// Pages of a mapping for `bytes`, guard pages at both ends included.
static size_t mappedBytes(size_t bytes) {
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + 255 + page - 1) / page * page + 2 * page;
}

CUresult fake::cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  FAKE_ENTER("cuMemAlloc_v2");
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (bytes == 0)
    return state().mistake(CUDA_ERROR_INVALID_VALUE, "memory of 0 bytes");
  if (bytes > state().settings.memoryBytes - usedBytes())
    return CUDA_ERROR_OUT_OF_MEMORY;
  size_t mapped = mappedBytes(bytes);
  void *memory = mmap(nullptr, mapped, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  char *inner = static_cast<char *>(memory) + page;
  if (mprotect(inner, mapped - 2 * page, PROT_READ | PROT_WRITE) != 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  // The end, where loops run over, lies at the guard page.
  char *begin = inner + (mapped - 2 * page) - (bytes + 255) / 256 * 256;
  std::memset(begin, 0xff, bytes);
  state().deviceMemory[begin] = static_cast<int64_t>(bytes);
  state().born("device memory");
  if (honemu_allocation)
    honemu_allocation(begin, static_cast<int64_t>(bytes));
  *address = reinterpret_cast<CUdeviceptr>(begin);
  return CUDA_SUCCESS;
}

CUresult fake::cuMemFree_v2(CUdeviceptr address) {
  auto *begin = reinterpret_cast<char *>(address);
  auto found = state().deviceMemory.find(begin);
  if (found == state().deviceMemory.end())
    return state().mistake(CUDA_ERROR_INVALID_VALUE, "memory freed twice");
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto bytes = static_cast<size_t>(found->second);
  size_t mapped = mappedBytes(bytes);
  char *inner = begin + (bytes + 255) / 256 * 256 - (mapped - 2 * page);
  munmap(inner - page, mapped);
  state().deviceMemory.erase(found);
  state().died("device memory");
  if (honemu_allocation)
    honemu_allocation(begin, 0);
  return CUDA_SUCCESS;
}

CUresult fake::cuMemAllocHost_v2(void **memory, size_t bytes) {
  FAKE_ENTER("cuMemAllocHost_v2");
  *memory = std::malloc(bytes);
  state().pinnedMemory[static_cast<char *>(*memory)] =
      static_cast<int64_t>(bytes);
  state().born("pinned memory");
  return CUDA_SUCCESS;
}

CUresult fake::cuMemFreeHost(void *memory) {
  if (state().pinnedMemory.erase(static_cast<char *>(memory)) == 0)
    return state().mistake(CUDA_ERROR_INVALID_VALUE, "memory freed twice");
  std::free(memory);
  state().died("pinned memory");
  return CUDA_SUCCESS;
}

static size_t registeredBytes() {
  size_t bytes = 0;
  for (auto [begin, size] : state().registeredMemory)
    bytes += static_cast<size_t>(size);
  return bytes;
}

CUresult fake::cuMemHostRegister_v2(void *memory, size_t bytes, unsigned) {
  FAKE_ENTER("cuMemHostRegister_v2");
  if (bytes == 0 || state().isPinned(memory, 1))
    return state().mistake(CUDA_ERROR_INVALID_VALUE,
                           "memory registered twice, or none");
  if (bytes > state().settings.pinnableBytes - registeredBytes())
    return CUDA_ERROR_OUT_OF_MEMORY;
  state().registeredMemory[static_cast<char *>(memory)] =
      static_cast<int64_t>(bytes);
  state().born("registered memory");
  return CUDA_SUCCESS;
}

CUresult fake::cuMemHostUnregister(void *memory) {
  if (state().registeredMemory.erase(static_cast<char *>(memory)) == 0)
    return state().mistake(CUDA_ERROR_INVALID_VALUE,
                           "memory that is not registered");
  state().died("registered memory");
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Both sides of a copy are what they are called.
static CUresult checkCopy(CUdeviceptr device, const void *host, size_t bytes) {
  auto size = static_cast<int64_t>(bytes);
  if (!state().isOnDevice(reinterpret_cast<void *>(device), size))
    return state().mistake(CUDA_ERROR_INVALID_VALUE,
                           "a copy outside the memory of the device");
  if (state().isOnDevice(host, 0))
    return state().mistake(CUDA_ERROR_INVALID_VALUE,
                           "a copy whose host side is the device's");
  return CUDA_SUCCESS;
}

/// A driver takes other memory too, but copies it piece by piece by way of its
/// own, while the call lasts: no graph can have that, and beside launches it is
/// not what was meant. Nor does a copy cross what was registered by one call.
static CUresult checkPinned(const void *host, size_t bytes, CUstream stream) {
  bool mayBeOther = !state().isCapturing && stream == state().firstStream;
  if (mayBeOther || state().isPinned(host, static_cast<int64_t>(bytes)))
    return CUDA_SUCCESS;
  return state().mistake(state().isCapturing
                             ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                             : CUDA_ERROR_INVALID_VALUE,
                         "a copy beside launches whose memory of the host is "
                         "not registered");
}

CUresult fake::cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from,
                                    size_t bytes, CUstream stream) {
  FAKE_ENTER("cuMemcpyHtoDAsync_v2", true, /*mayCapture=*/true);
  if (CUresult failed = checkCopy(to, from, bytes))
    return failed;
  if (CUresult failed = checkPinned(from, bytes, stream))
    return failed;
  auto *target = reinterpret_cast<void *>(to);
  if (state().isPinned(from, static_cast<int64_t>(bytes)))
    return enqueue(stream,
                   [=] {
                     std::memcpy(target, from, bytes);
                     return CUDA_SUCCESS;
                   },
                   /*isBeside=*/true,
                   {Engine::up, static_cast<int64_t>(bytes)});
  // Other memory is read before the call returns.
  auto *begin = static_cast<const char *>(from);
  return enqueue(stream, [=, copy = std::vector<char>(begin, begin + bytes)] {
    std::memcpy(target, copy.data(), bytes);
    return CUDA_SUCCESS;
  });
}

CUresult fake::cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
                                    CUstream stream) {
  FAKE_ENTER("cuMemcpyDtoHAsync_v2", true, /*mayCapture=*/true);
  if (CUresult failed = checkCopy(from, to, bytes))
    return failed;
  if (CUresult failed = checkPinned(to, bytes, stream))
    return failed;
  return enqueue(stream,
                 [=] {
                   std::memcpy(to, reinterpret_cast<void *>(from), bytes);
                   return CUDA_SUCCESS;
                 },
                 /*isBeside=*/true,
                 {Engine::down, static_cast<int64_t>(bytes)});
}

CUresult fake::cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from,
                                    size_t bytes, CUstream stream) {
  FAKE_ENTER("cuMemcpyDtoDAsync_v2", true, /*mayCapture=*/true);
  auto *target = reinterpret_cast<void *>(to);
  auto *source = reinterpret_cast<const void *>(from);
  for (const void *side : {static_cast<const void *>(target), source})
    if (!state().isOnDevice(side, static_cast<int64_t>(bytes)))
      return state().mistake(CUDA_ERROR_INVALID_VALUE,
                             "a copy outside the memory of the device");
  return enqueue(stream, [=] {
    std::memcpy(target, source, bytes);
    return CUDA_SUCCESS;
  });
}

CUresult fake::cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream) {
  FAKE_ENTER("cuMemcpy2DAsync_v2", true, /*mayCapture=*/true);
  const CUDA_MEMCPY2D rows = *copy;
  bool isPlain =
      rows.srcMemoryType == CU_MEMORYTYPE_DEVICE &&
      rows.dstMemoryType == CU_MEMORYTYPE_DEVICE && rows.Height > 0 &&
      !rows.srcXInBytes && !rows.srcY && !rows.dstXInBytes && !rows.dstY &&
      rows.srcPitch >= rows.WidthInBytes && rows.dstPitch >= rows.WidthInBytes;
  auto *to = reinterpret_cast<char *>(rows.dstDevice);
  auto *from = reinterpret_cast<const char *>(rows.srcDevice);
  auto extent = [&](size_t pitch) {
    return static_cast<int64_t>((rows.Height - 1) * pitch + rows.WidthInBytes);
  };
  if (!isPlain || !state().isOnDevice(to, extent(rows.dstPitch)) ||
      !state().isOnDevice(from, extent(rows.srcPitch)))
    return state().mistake(CUDA_ERROR_INVALID_VALUE,
                           "a copy of rows outside the memory of the device");
  return enqueue(stream, [=] {
    for (size_t row = 0; row != rows.Height; ++row)
      std::memcpy(to + row * rows.dstPitch, from + row * rows.srcPitch,
                  rows.WidthInBytes);
    return CUDA_SUCCESS;
  });
}

/// Sets `count` elements.
template <typename T>
static CUresult fill(const char *name, CUdeviceptr at, T value, size_t count,
                     CUstream stream) {
  FAKE_ENTER(name, true, /*mayCapture=*/true);
  auto *begin = reinterpret_cast<T *>(at);
  if (!state().isOnDevice(begin, static_cast<int64_t>(count * sizeof(T))))
    return state().mistake(CUDA_ERROR_INVALID_VALUE,
                           "memory set outside that of the device");
  return enqueue(
      stream,
      [=] {
        std::fill_n(begin, count, value);
        state().setSinceProduct += static_cast<int64_t>(count * sizeof(T));
        return CUDA_SUCCESS;
      },
      /*isBeside=*/true);
}

CUresult fake::cuMemsetD8Async(CUdeviceptr at, unsigned char value,
                               size_t count, CUstream stream) {
  return fill("cuMemsetD8Async", at, value, count, stream);
}

CUresult fake::cuMemsetD16Async(CUdeviceptr at, unsigned short value,
                                size_t count, CUstream stream) {
  return fill("cuMemsetD16Async", at, value, count, stream);
}

CUresult fake::cuMemsetD32Async(CUdeviceptr at, unsigned value, size_t count,
                                CUstream stream) {
  return fill("cuMemsetD32Async", at, value, count, stream);
}
