/*===- NullDriver.c - A CUDA driver that sees no GPU ----------------------===*
 *
 * cuDNN and NVRTC open libcuda.so.1 and look these functions up, also where
 * they only make plans. Loaded by hone-plan-attention, so that a plan is the
 * same on every host, with a driver or without. All calls but one fail.
 *
 *===----------------------------------------------------------------------===*/

#include <stddef.h>
#include <stdint.h>

enum { success = 0, noDevice = 100, notFound = 500 };

int cuInit(unsigned flags) {
  (void)flags;
  return noDevice;
}

/* That of the GPUs in exec/cuda/attention/GpuProperties.cpp. */
int cuDriverGetVersion(int *version) {
  *version = 13000;
  return success;
}

int cuDeviceGetCount(int *count) {
  *count = 0;
  return noDevice;
}

int cuGetProcAddress_v2(const char *symbol, void **function, int version,
                        uint64_t flags, int *status) {
  (void)symbol, (void)version, (void)flags;
  *function = NULL;
  if (status)
    *status = 1; /* no such symbol */
  return notFound;
}

#define NO_DEVICE(name)                                                        \
  int name(void);                                                              \
  int name(void) { return noDevice; }
NO_DEVICE(cuCtxGetCurrent)
NO_DEVICE(cuCtxGetDevice)
NO_DEVICE(cuCtxGetLimit)
NO_DEVICE(cuCtxPopCurrent)
NO_DEVICE(cuCtxPushCurrent)
NO_DEVICE(cuDeviceGet)
NO_DEVICE(cuDeviceGetAttribute)
NO_DEVICE(cuDevicePrimaryCtxRelease)
NO_DEVICE(cuDevicePrimaryCtxReset)
NO_DEVICE(cuDevicePrimaryCtxRetain)
NO_DEVICE(cuFuncGetAttribute)
NO_DEVICE(cuFuncSetAttribute)
NO_DEVICE(cuGetErrorName)
NO_DEVICE(cuGetErrorString)
NO_DEVICE(cuKernelGetAttribute)
NO_DEVICE(cuKernelSetAttribute)
NO_DEVICE(cuLaunchCooperativeKernel)
NO_DEVICE(cuLaunchKernel)
NO_DEVICE(cuLaunchKernelEx)
NO_DEVICE(cuLibraryGetKernel)
NO_DEVICE(cuLibraryLoadData)
NO_DEVICE(cuLibraryLoadFromFile)
NO_DEVICE(cuLibraryUnload)
NO_DEVICE(cuLinkAddData)
NO_DEVICE(cuLinkAddData_v2)
NO_DEVICE(cuLinkAddFile_v2)
NO_DEVICE(cuLinkComplete)
NO_DEVICE(cuLinkCreate)
NO_DEVICE(cuLinkCreate_v2)
NO_DEVICE(cuLinkDestroy)
NO_DEVICE(cuMemcpyDtoH_v2)
NO_DEVICE(cuModuleGetFunction)
NO_DEVICE(cuModuleGetGlobal_v2)
NO_DEVICE(cuModuleLoadData)
NO_DEVICE(cuModuleLoadDataEx)
NO_DEVICE(cuModuleLoadFatBinary)
NO_DEVICE(cuModuleUnload)
NO_DEVICE(cuOccupancyMaxActiveBlocksPerMultiprocessor)
NO_DEVICE(cuOccupancyMaxPotentialClusterSize)
NO_DEVICE(cuStreamGetCtx)
NO_DEVICE(cuStreamSynchronize)
NO_DEVICE(cuTensorMapEncodeTiled)
