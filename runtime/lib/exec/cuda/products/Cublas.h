//===- Cublas.h - cuBLASLt, opened when a program multiplies --------------===//

#ifndef HONERT_EXEC_CUDA_PRODUCTS_CUBLAS_H
#define HONERT_EXEC_CUDA_PRODUCTS_CUBLAS_H

#include "exec/cuda/core/Driver.h"

namespace honert {

using cublasStatus_t = int;
using cublasComputeType_t = int;
using cudaDataType = int;
using cudaDataType_t = int;
using cublasLtMatmulDescAttributes_t = int;
using cublasLtMatrixLayoutAttribute_t = int;
using cublasLtMatmulPreferenceAttributes_t = int;
using cublasLtHandle_t = struct CublasContext *;
using cublasLtMatmulDesc_t = struct CublasMatmulDesc *;
using cublasLtMatrixLayout_t = struct CublasMatrixLayout *;
using cublasLtMatmulPreference_t = struct CublasPreference *;

/// How the library computes a product: plain data, good for one version of it.
struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};

struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};
static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == 96);

enum : int {
#define CUBLAS_CONSTANT(name, value) name = value,
#include "exec/cuda/products/Cublas.def"
#undef CUBLAS_CONSTANT
};

/// The functions of libcublasLt.so.13 or .12.
struct CublasFunctions {
#define CUBLAS_FUNCTION(result, name, parameters)                              \
  result(*name) parameters = nullptr;
#include "exec/cuda/products/Cublas.def"
#undef CUBLAS_FUNCTION

  /// Opens the library. Errors: there is none, or it is too old.
  Status open();
  /// Errors: it is too old to multiply codes by their scales as we ask it to.
  Status checkScales() const;
  /// "cuBLASLt 13.1.0"
  std::string versionText() const;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_PRODUCTS_CUBLAS_H
