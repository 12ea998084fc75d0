//===- CheckHeaders.cpp - Our declarations against NVIDIA's ---------------===//
//
// Compiled where cuda.h is found, with cublasLt.h and cudnn_graph.h where these
// are. No code: a wrong value or signature in the lists does not compile.
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
