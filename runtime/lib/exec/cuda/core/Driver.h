//===- Driver.h - The CUDA driver, opened when a program needs it ---------===//
//
// Types and values are declared here, so that the runtime builds without
// NVIDIA's headers; where these are found, CheckHeaders.cpp compares.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_EXEC_CUDA_CORE_DRIVER_H
#define HONERT_EXEC_CUDA_CORE_DRIVER_H

#include "base/Status.h"

#include <cstddef>
#include <cstdint>

namespace honert {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUdevice_attribute = int;
using CUfunction_attribute = int;
using CUjit_option = int;
using CUstreamCaptureMode = int;
using CUcontext = struct CudaContext *;
using CUmodule = struct CudaModule *;
using CUfunction = struct CudaFunction *;
using CUstream = struct CudaStream *;
using CUevent = struct CudaEvent *;
using CUgraph = struct CudaGraph *;
using CUgraphExec = struct CudaGraphExec *;

/// Rows of bytes from one place to another.
struct CUDA_MEMCPY2D {
  size_t srcXInBytes = 0, srcY = 0;
  int srcMemoryType = 0;
  const void *srcHost = nullptr;
  CUdeviceptr srcDevice = 0;
  void *srcArray = nullptr;
  size_t srcPitch = 0;
  size_t dstXInBytes = 0, dstY = 0;
  int dstMemoryType = 0;
  void *dstHost = nullptr;
  CUdeviceptr dstDevice = 0;
  void *dstArray = nullptr;
  size_t dstPitch = 0;
  size_t WidthInBytes = 0, Height = 0;
};

enum : int {
#define CUDA_CONSTANT(name, value) name = value,
#include "exec/cuda/core/Driver.def"
#undef CUDA_CONSTANT
};

/// The oldest driver that has everything, as cuDriverGetVersion counts: 12.0.
constexpr int oldestDriver = 12000;

/// The architecture of the emulated GPU (lib/fake), above all others: PTX and
/// plans of any architecture are for it, no machine code is.
constexpr int emulatedArch = 999;

/// The functions of libcuda.so.1.
struct DriverFunctions {
#define CUDA_FUNCTION(name, parameters) CUresult(*name) parameters = nullptr;
#include "exec/cuda/core/Driver.def"
#undef CUDA_FUNCTION

  /// Opens the driver and initialises it. Errors: there is none, it is too
  /// old, it does not start.
  Status open();
  /// Success, or "what: CUDA_ERROR_X (its text)".
  Status check(CUresult result, const std::string &what) const;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_CORE_DRIVER_H
