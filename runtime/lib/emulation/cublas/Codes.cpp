//===- Codes.cpp - Products of 8-bit codes, as cuBLASLt takes them --------===//
//
// The rules are those of the manual of cuBLAS 13: "Narrow Precision Data Types
// Usage" and "cublasLtMatmul()". Nothing is taken that the manual leaves open.
//
//===----------------------------------------------------------------------===//

#include "base/Fp8.h"
#include "base/ScaleLayout.h"
#include "emulation/cublas/Descriptors.h"

#include <cstring>

using namespace honert;
using namespace honert::fake;

/// The emulated GPU is every architecture that its program may be for.
static bool isArch(bool (*fits)(int)) {
  int arch = state().settings.arch;
  return arch == emulatedArch || fits(arch);
}

static std::optional<ScaleTile> tileOf(int32_t mode) {
  switch (mode) {
  case CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F:
    return ScaleTile::tensor;
  case CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0:
    return ScaleTile::row32;
  case CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F:
    return ScaleTile::row128;
  case CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F:
    return ScaleTile::block128;
  default:
    return std::nullopt;
  }
}

static bool isBlock(int32_t mode) {
  return mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F ||
         mode == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
}

/// Whether the GPU has units, or the library kernels, for a mode.
static bool hasMode(int32_t mode) {
  if (isBlock(mode))
    return isArch([](int arch) { return arch == 90; });
  if (mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0)
    return isArch([](int arch) { return arch >= 100; });
  return isArch([](int arch) { return arch >= 89; });
}

static cublasStatus_t checkModes(const CublasMatmulDesc &desc) {
  int32_t a = desc.scaleModes[0], b = desc.scaleModes[1];
  if (!tileOf(a) || !tileOf(b))
    return productMistake("a scale mode that the runtime does not use");
  if (!canMultiply(*tileOf(a), *tileOf(b)))
    return productMistake("scale modes that are not multiplied by each other");
  if (desc.isFast && isBlock(a))
    return productMistake("fast accumulation of blocks");
  return hasMode(a) && hasMode(b) ? CUBLAS_STATUS_SUCCESS
                                  : CUBLAS_STATUS_NOT_SUPPORTED;
}

static cublasStatus_t checkTypes(const CublasMatmulDesc &desc,
                                 const ProductLayouts &l) {
  if (!isFp8(l.a.dtype) || !isFp8(l.b.dtype))
    return productMistake("a product of codes and numbers");
  if (l.a.dtype == DType::f8e5m2 && l.b.dtype == DType::f8e5m2)
    return productMistake("a product of two operands of e5m2");
  if (isFp8(l.d.dtype))
    return productMistake("a result of codes, which blocks cannot have and the "
                          "runtime does not ask for");
  if (l.c.dtype != l.d.dtype)
    return productMistake("an addend of another type than the result");
  if (desc.tf32)
    return productMistake("a product of codes in TF32");
  // Where nothing is said, a bias has the type of D.
  int wanted = l.d.dtype == DType::f16 ? CUDA_R_16F : CUDA_R_16BF;
  bool isOfD = desc.biasType == -1 && l.d.dtype != DType::f32;
  if ((desc.epilogue & 4) && !isOfD && desc.biasType != wanted)
    return productMistake("a bias that is not of 16 bits beside codes");
  return CUBLAS_STATUS_SUCCESS;
}

/// Pointers apart, which checkScalePointers() and cublasLtMatmul look at.
static cublasStatus_t checkAlignment(const CublasMatmulDesc &desc,
                                     const ProductLayouts &l) {
  int64_t width = byteWidth(l.d.dtype);
  int64_t k = desc.transposes[0] ? l.a.rows : l.a.cols;
  for (int64_t bytes :
       {k, l.a.rows, l.a.stride, l.b.rows, l.b.stride, l.d.rows * width,
        l.d.stride * width, l.c.stride * width, l.d.cols})
    if (bytes % 16 != 0)
      return productMistake("a size of codes that is no multiple of 16 bytes");
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t fake::checkCodes(const CublasMatmulDesc &desc,
                                const ProductLayouts &l) {
  bool hasScales = desc.scales[0] || desc.scales[1];
  if (!isFp8(l.a.dtype) && !isFp8(l.b.dtype) && !isFp8(l.d.dtype))
    return hasScales ? productMistake("scales of a product of numbers")
                     : CUBLAS_STATUS_SUCCESS;
  if (cublasStatus_t failed = checkTypes(desc, l))
    return failed;
  if (l.d.batch != 1)
    return productMistake("a batch of products of codes");
  // GELU and sums have restrictions that differ by version.
  if (desc.epilogue & ~(CUBLASLT_EPILOGUE_DEFAULT | CUBLASLT_EPILOGUE_BIAS))
    return productMistake("an epilogue beside codes other than a bias");
  if (cublasStatus_t failed = checkModes(desc))
    return failed;
  bool takesAnyOrder =
      state().settings.arch >= 100 && state().settings.arch < 120;
  if (!takesAnyOrder && (!desc.transposes[0] || desc.transposes[1]))
    return productMistake("codes that are not A transposed times B");
  return checkAlignment(desc, l);
}

/// Codes as rows of what is summed.
static ScaleLayout scalesOf(const CublasMatmulDesc &desc, int side,
                            const CublasMatrixLayout &layout) {
  bool isOuterFirst = desc.transposes[side] == (side == 1);
  int64_t outer = isOuterFirst ? layout.rows : layout.cols;
  int64_t terms = isOuterFirst ? layout.cols : layout.rows;
  return {*tileOf(desc.scaleModes[side]), outer, terms};
}

cublasStatus_t fake::checkScalePointers(const CublasMatmulDesc &desc,
                                        const ProductLayouts &l) {
  if (!isFp8(l.a.dtype))
    return CUBLAS_STATUS_SUCCESS;
  const CublasMatrixLayout *layouts[] = {&l.a, &l.b};
  for (int side : {0, 1}) {
    const char *scales = desc.scales[side];
    ScaleLayout layout = scalesOf(desc, side, *layouts[side]);
    int64_t width = layout.tile == ScaleTile::row32 ? 1 : 4;
    // Without a pointer a scale is 1; the runtime has one for each operand.
    if (!scales || reinterpret_cast<uintptr_t>(scales) % 16 != 0)
      return productMistake("scales that are not there, or not aligned");
    if (!state().isOnDevice(scales, layout.size() * width))
      return productMistake("scales outside the memory of the device");
  }
  return CUBLAS_STATUS_SUCCESS;
}

float fake::scaleOf(const CublasMatmulDesc &desc, int side,
                    const CublasMatrixLayout &layout, int64_t outer,
                    int64_t term) {
  if (!isFp8(layout.dtype))
    return 1;
  ScaleLayout scales = scalesOf(desc, side, layout);
  int64_t index = scales.indexOfCode(outer, term);
  if (scales.tile == ScaleTile::row32)
    return decodeMxScale(static_cast<uint8_t>(desc.scales[side][index]));
  float scale;
  std::memcpy(&scale, desc.scales[side] + index * 4, sizeof scale);
  return scale;
}
