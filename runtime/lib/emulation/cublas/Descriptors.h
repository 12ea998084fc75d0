//===- Descriptors.h - What cuBLASLt is told of a product -------*- C++ -*-===//

#ifndef HONERT_EMULATION_CUBLAS_DESCRIPTORS_H
#define HONERT_EMULATION_CUBLAS_DESCRIPTORS_H

#include "base/Types.h"
#include "emulation/driver/FakeCuda.h"

#include <optional>

struct honert::CublasMatmulDesc {
  bool tf32;
  bool transposes[2] = {false, false};
  int epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  char *vector = nullptr, *aux = nullptr;
  int64_t auxStride = 0;
  int32_t processors = 0; ///< 0: all
  // Of A and B.
  const char *scales[2] = {nullptr, nullptr};
  int32_t scaleModes[2] = {0, 0};
  int8_t isFast = 0;
  int32_t biasType = -1; ///< -1: that of D

  uint64_t usedProcessors() const {
    return static_cast<uint64_t>(
        processors == 0 ? fake::state().settings.processors : processors);
  }
};

struct honert::CublasMatrixLayout {
  DType dtype;
  int64_t rows, cols, stride;
  int32_t batch = 1;
  int64_t batchStride = 0;

  int64_t bytes() const {
    int64_t last = (batch - 1) * batchStride + (cols - 1) * stride + rows;
    return last * byteWidth(dtype);
  }
};

namespace honert::fake {

/// The matrices of a product, in the library's order.
struct ProductLayouts {
  const CublasMatrixLayout &a, &b, &c, &d;
};

/// Notes a mistake of the caller.
cublasStatus_t productMistake(const std::string &text);

/// What the documentation demands of a product of codes, and of one that is
/// not. What no GPU takes is a mistake; what this one lacks is not supported.
cublasStatus_t checkCodes(const CublasMatmulDesc &desc,
                          const ProductLayouts &layouts);
/// The operand's scales are where the library may read them.
cublasStatus_t checkScalePointers(const CublasMatmulDesc &desc,
                                  const ProductLayouts &layouts);

/// What the code of one term of A's row, or of B's column (`side` 0 or 1), is
/// multiplied by: read where the library reads it. 1 for numbers.
float scaleOf(const CublasMatmulDesc &desc, int side,
              const CublasMatrixLayout &layout, int64_t outer, int64_t term);

} // namespace honert::fake

#endif // HONERT_EMULATION_CUBLAS_DESCRIPTORS_H
