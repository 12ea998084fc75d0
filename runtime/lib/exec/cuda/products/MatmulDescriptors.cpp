//===- MatmulDescriptors.cpp - One product as cuBLASLt knows it -----------===//

#include "exec/cuda/products/Matmul.h"

using namespace honert;

MatmulDescriptors::~MatmulDescriptors() {
  for (cublasLtMatrixLayout_t layout : layouts)
    if (layout)
      (void)library.cublasLtMatrixLayoutDestroy(layout);
  if (desc)
    (void)library.cublasLtMatmulDescDestroy(desc);
}

Status MatmulDescriptors::check(cublasStatus_t status, const char *what) const {
  if (status == CUBLAS_STATUS_SUCCESS)
    return Status();
  return Status::error(format("matmul %s: %s could not %s (status %d)",
                              name.c_str(), library.versionText().c_str(), what,
                              status));
}

static cudaDataType typeOf(DType dtype) {
  switch (dtype) {
  case DType::bf16:
    return CUDA_R_16BF;
  case DType::f16:
    return CUDA_R_16F;
  case DType::f8e4m3:
    return CUDA_R_8F_E4M3;
  case DType::f8e5m2:
    return CUDA_R_8F_E5M2;
  default:
    return CUDA_R_32F;
  }
}

Status MatmulDescriptors::createLayout(const LibraryMatrix &matrix,
                                       int64_t batch,
                                       cublasLtMatrixLayout_t &layout) {
  HONERT_TRY(check(library.cublasLtMatrixLayoutCreate(
                       &layout, typeOf(matrix.dtype),
                       static_cast<uint64_t>(matrix.rows),
                       static_cast<uint64_t>(matrix.cols), matrix.stride),
                   "describe an operand"));
  if (batch == 1)
    return Status();
  auto count = static_cast<int32_t>(batch);
  HONERT_TRY(check(
      library.cublasLtMatrixLayoutSetAttribute(
          layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
      "describe a batch"));
  return check(library.cublasLtMatrixLayoutSetAttribute(
                   layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                   &matrix.batchStride, sizeof matrix.batchStride),
               "describe a batch");
}

/// The pointers are set before algorithms are asked for: the library reads
/// their alignment.
Status MatmulDescriptors::setEpilogue(const LibraryProduct &product,
                                      const DeviceMemory &arena) {
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto &value) {
    return check(library.cublasLtMatmulDescSetAttribute(desc, attribute, &value,
                                                        sizeof value),
                 "take an epilogue");
  };
  auto epilogue = static_cast<uint32_t>(product.epilogue);
  HONERT_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue));
  if (product.vector != -1) {
    addresses[4] = arena.at(product.vector);
    HONERT_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, addresses[4]));
  }
  if (product.aux != -1) {
    addresses[5] = arena.at(product.aux);
    HONERT_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, addresses[5]));
    HONERT_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, product.auxStride));
  }
  return Status();
}

/// Modes have the library's numbers. A scale is what a code is multiplied by;
/// a bias beside codes has its type named, since the result's is not always
/// allowed.
Status MatmulDescriptors::setScales(const LibraryProduct &product,
                                    const DeviceMemory &arena) {
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto &value) {
    return check(library.cublasLtMatmulDescSetAttribute(desc, attribute, &value,
                                                        sizeof value),
                 "take scales");
  };
  HONERT_TRY(set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE,
                 static_cast<int32_t>(product.aScales->mode)));
  HONERT_TRY(set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE,
                 static_cast<int32_t>(product.bScales->mode)));
  HONERT_TRY(set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                 arena.at(product.aScales->offset)));
  HONERT_TRY(set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                 arena.at(product.bScales->offset)));
  if (product.vector != -1)
    HONERT_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
                   static_cast<int32_t>(typeOf(product.d.dtype))));
  return set(CUBLASLT_MATMUL_DESC_FAST_ACCUM,
             static_cast<int8_t>(product.isFast));
}

/// Bytes from the first element to the last.
static int64_t extentOf(const LibraryMatrix &matrix, int64_t batch) {
  int64_t last = (batch - 1) * matrix.batchStride +
                 (matrix.cols - 1) * matrix.stride + matrix.rows;
  return last * byteWidth(matrix.dtype);
}

/// What the product reads, for its algorithms to be timed on; not the ones,
/// which are there already.
void MatmulDescriptors::noteOperands(const LibraryProduct &product,
                                     const DeviceMemory &arena) {
  auto add = [&](DType dtype, int64_t offset, int64_t extent) {
    operands.push_back({dtype, arena.at(offset), extent});
    bytes += extent;
  };
  auto addMatrix = [&](const LibraryMatrix &matrix) {
    add(matrix.dtype, matrix.offset, extentOf(matrix, product.batch));
  };
  auto addScales = [&](const LibraryScales &scales, int64_t outer,
                       int64_t terms) {
    ScaleTile tile = scaleTileOf(scales.mode);
    DType dtype = tile == ScaleTile::row32 ? DType::i8 : DType::f32;
    int64_t count = ScaleLayout{tile, outer, terms}.size();
    add(dtype, scales.offset, count * byteWidth(dtype));
  };
  const LibraryMatrix &d = product.d;
  addMatrix(product.a);
  if (!product.bIsOnes)
    addMatrix(product.b);
  if (product.accumulate)
    addMatrix(product.c);
  // The operands as [outer, terms].
  if (product.aScales)
    addScales(*product.aScales, product.a.cols, product.a.rows);
  if (product.bScales)
    addScales(*product.bScales, product.b.cols, product.b.rows);
  if (product.readsVector())
    add(d.dtype, product.vector, d.rows * byteWidth(d.dtype));
  if (product.readsAux())
    add(d.dtype, product.aux,
        ((d.cols - 1) * product.auxStride + d.rows) * byteWidth(d.dtype));
  bytes += extentOf(d, product.batch);
}

Status MatmulDescriptors::create(const std::string &label,
                                 const LibraryProduct &product,
                                 const MatmulLaunches &owner,
                                 const DeviceMemory &arena) {
  name = label;
  problem = product.text();
  beta = product.accumulate ? 1.0f : 0.0f;
  // Sums and biases are exact, as in an epilogue.
  bool tf32 =
      owner.options.tf32 && product.a.dtype == DType::f32 && !product.bIsOnes;
  HONERT_TRY(
      check(library.cublasLtMatmulDescCreate(
                &desc, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                CUDA_R_32F),
            "describe the product"));
  const LibraryMatrix *matrices[] = {&product.a, &product.b, &product.c,
                                     &product.d};
  const cublasLtMatmulDescAttributes_t transposes[] = {
      CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB};
  for (int i = 0; i != 4; ++i) {
    HONERT_TRY(createLayout(*matrices[i], product.batch, layouts[i]));
    addresses[i] = arena.at(matrices[i]->offset);
    int32_t op = matrices[i]->isTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    if (i < 2)
      HONERT_TRY(check(library.cublasLtMatmulDescSetAttribute(
                           desc, transposes[i], &op, sizeof op),
                       "describe the product"));
  }
  if (product.processors > 0) {
    auto count = static_cast<int32_t>(product.processors);
    HONERT_TRY(check(
        library.cublasLtMatmulDescSetAttribute(
            desc, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, &count, sizeof count),
        "leave multiprocessors free"));
  }
  if (product.bIsOnes)
    addresses[1] = owner.workspace.at(owner.sizes.onesOffset(product.b.dtype));
  noteOperands(product, arena);
  if (product.aScales)
    HONERT_TRY(setScales(product, arena));
  return setEpilogue(product, arena);
}
