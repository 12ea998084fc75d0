//===- CheckHeaders.cpp - Our declarations against NVIDIA's ---------------===//
//
// Compiled where cuda.h is found, with cublasLt.h, cudnn_graph.h and NVTX where
// these are. No code: a wrong value or signature in the lists does not compile.
//
//===----------------------------------------------------------------------===//

#include <cuda.h>

#include <cstddef>
#include <type_traits>

#define CUDA_CONSTANT(name, value)                                             \
  static_assert(static_cast<int>(::name) == (value), #name);
#define CUDA_FUNCTION(name, parameters)                                        \
  static_assert(std::is_same_v<decltype(&::name), CUresult(*) parameters>,     \
                #name);
#include "exec/cuda/core/Driver.def"

static_assert(sizeof(CUDA_MEMCPY2D) == 128);
static_assert(offsetof(CUDA_MEMCPY2D, srcDevice) == 32);
static_assert(offsetof(CUDA_MEMCPY2D, srcPitch) == 48);
static_assert(offsetof(CUDA_MEMCPY2D, dstMemoryType) == 72);
static_assert(offsetof(CUDA_MEMCPY2D, dstDevice) == 88);
static_assert(offsetof(CUDA_MEMCPY2D, dstPitch) == 104);
static_assert(offsetof(CUDA_MEMCPY2D, Height) == 120);

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

#define CUBLAS_CONSTANT(name, value)                                           \
  static_assert(static_cast<int>(::name) == (value), #name);
#if CUBLAS_VERSION < 120900
#define CUBLAS_SCALE_CONSTANT(name, value) // not in this header
#endif
#define CUBLAS_FUNCTION(result, name, parameters)                              \
  static_assert(std::is_same_v<decltype(&::name), result(*) parameters>, #name);
#include "exec/cuda/products/Cublas.def"

static_assert(sizeof(cublasLtMatmulAlgo_t) == 64);
static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == 96);
static_assert(offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) == 64);
static_assert(offsetof(cublasLtMatmulHeuristicResult_t, state) == 72);
#endif

#if __has_include(<cudnn_graph.h>)
#include <cudnn_graph.h>

#define CUDNN_CONSTANT(name, value)                                            \
  static_assert(static_cast<int>(::name) == (value), #name);
#define CUDNN_FUNCTION(result, name, parameters)                               \
  static_assert(std::is_same_v<decltype(&::name), result(*) parameters>, #name);
#include "exec/cuda/attention/Cudnn.def"
#endif

#if __has_include(<nvtx3/nvToolsExt.h>)
#include "exec/nvtx/Declarations.h"

#include <nvtx3/nvToolsExt.h>

using namespace honert::nvtx;

static_assert(version == NVTX_VERSION);
static_assert(int(core) == NVTX_CB_MODULE_CORE);
static_assert(int(core2) == NVTX_CB_MODULE_CORE2);
static_assert(int(modules) == NVTX_CB_MODULE_SIZE);
static_assert(entries[core] == NVTX_CBID_CORE_SIZE);
static_assert(entries[cuda] == NVTX_CBID_CUDA_SIZE);
static_assert(entries[opencl] == NVTX_CBID_OPENCL_SIZE);
static_assert(entries[cudart] == NVTX_CBID_CUDART_SIZE);
static_assert(entries[core2] == NVTX_CBID_CORE2_SIZE);
static_assert(entries[honert::nvtx::sync] == NVTX_CBID_SYNC_SIZE);
static_assert(int(rangePush) == NVTX_CBID_CORE2_DomainRangePushEx);
static_assert(int(rangePop) == NVTX_CBID_CORE2_DomainRangePop);
static_assert(int(domainCreate) == NVTX_CBID_CORE2_DomainCreateA);
static_assert(int(callbacksTable) == NVTX_ETID_CALLBACKS);
static_assert(int(versionTable) == NVTX_ETID_VERSIONINFO);
static_assert(sizeof(Callbacks) == sizeof(NvtxExportTableCallbacks));
static_assert(sizeof(VersionInfo) == sizeof(NvtxExportTableVersionInfo));
static_assert(offsetof(VersionInfo, setProfilerVersion) ==
              offsetof(NvtxExportTableVersionInfo, SetInjectionNvtxVersion));
static_assert(sizeof(EventAttributes) == sizeof(nvtxEventAttributes_t));
static_assert(offsetof(EventAttributes, payload) ==
              offsetof(nvtxEventAttributes_t, payload));
static_assert(offsetof(EventAttributes, messageType) ==
              offsetof(nvtxEventAttributes_t, messageType));
static_assert(offsetof(EventAttributes, message) ==
              offsetof(nvtxEventAttributes_t, message));
static_assert(NVTX_MESSAGE_TYPE_ASCII == 1);
#endif
