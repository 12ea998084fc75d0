//===- FakeCublas.cpp - cuBLASLt in plain loops ---------------------------===//

#include "emulation/cublas/Descriptors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace honert;
using namespace honert::fake;

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

struct honert::CublasPreference {
  uint64_t workspaceBytes = 0;
  uint32_t alignments[4] = {256, 256, 256, 256};
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
};

static cublasStatus_t enter(const char *function, bool mayCapture = false) {
  CUresult failed = state().enter(function, true, mayCapture);
  return failed == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : failed;
}

#define FAKE_ENTER(...)                                                        \
  if (cublasStatus_t failed = enter(__VA_ARGS__))                              \
  return failed

cublasStatus_t fake::productMistake(const std::string &text) {
  (void)state().mistake(CUDA_SUCCESS, text);
  return CUBLAS_STATUS_INVALID_VALUE;
}

static cublasStatus_t mistake(const std::string &text) {
  return productMistake(text);
}

size_t fake::cublasLtGetVersion() { return state().settings.cublasVersion; }

cublasStatus_t fake::cublasLtCreate(cublasLtHandle_t *handle) {
  FAKE_ENTER("cublasLtCreate");
  *handle = reinterpret_cast<cublasLtHandle_t>(&state());
  state().born("library");
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t fake::cublasLtDestroy(cublasLtHandle_t) {
  state().died("library");
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t fake::cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc,
                                              cublasComputeType_t compute,
                                              cudaDataType_t scale) {
  FAKE_ENTER("cublasLtMatmulDescCreate");
  if ((compute != CUBLAS_COMPUTE_32F &&
       compute != CUBLAS_COMPUTE_32F_FAST_TF32) ||
      scale != CUDA_R_32F)
    return mistake("a compute type that the runtime does not use");
  *desc = new CublasMatmulDesc{compute == CUBLAS_COMPUTE_32F_FAST_TF32};
  state().born("product");
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t fake::cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete desc;
  state().died("product");
  return CUBLAS_STATUS_SUCCESS;
}

/// Reads an attribute of the size that the documentation gives it.
template <typename T>
static cublasStatus_t take(T &target, const void *value, size_t bytes) {
  if (bytes != sizeof(T))
    return mistake("an attribute of the wrong size");
  std::memcpy(&target, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

/// An attribute of scales, which came with 12.9.
static std::optional<cublasStatus_t>
setScaleAttribute(CublasMatmulDesc &desc,
                  cublasLtMatmulDescAttributes_t attribute, const void *value,
                  size_t bytes) {
  bool isOfB = attribute == CUBLASLT_MATMUL_DESC_B_SCALE_MODE ||
               attribute == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER;
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_A_SCALE_MODE:
  case CUBLASLT_MATMUL_DESC_B_SCALE_MODE:
    if (state().settings.cublasVersion < 120900)
      return mistake("a scale mode, which this version lacks");
    return take(desc.scaleModes[isOfB], value, bytes);
  case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
  case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
    return take(desc.scales[isOfB], value, bytes);
  case CUBLASLT_MATMUL_DESC_FAST_ACCUM:
    return take(desc.isFast, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
    return take(desc.biasType, value, bytes);
  default:
    return std::nullopt;
  }
}

cublasStatus_t
fake::cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                     cublasLtMatmulDescAttributes_t attribute,
                                     const void *value, size_t bytes) {
  FAKE_ENTER("cublasLtMatmulDescSetAttribute");
  int32_t number = 0;
  if (std::optional<cublasStatus_t> status =
          setScaleAttribute(*desc, attribute, value, bytes))
    return *status;
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
  case CUBLASLT_MATMUL_DESC_TRANSB:
    if (cublasStatus_t failed = take(number, value, bytes))
      return failed;
    desc->transposes[attribute == CUBLASLT_MATMUL_DESC_TRANSB] =
        number == CUBLAS_OP_T;
    return CUBLAS_STATUS_SUCCESS;
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return take(desc->epilogue, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return take(desc->vector, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
    return take(desc->aux, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
    return take(desc->auxStride, value, bytes);
  case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET:
    if (cublasStatus_t failed = take(desc->processors, value, bytes))
      return failed;
    if (desc->processors < 1 || desc->processors > state().settings.processors)
      return mistake("a product on more multiprocessors than there are");
    return CUBLAS_STATUS_SUCCESS;
  default:
    return mistake("an attribute of a product that is not known");
  }
}

cublasStatus_t fake::cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                                cudaDataType type,
                                                uint64_t rows, uint64_t cols,
                                                int64_t stride) {
  FAKE_ENTER("cublasLtMatrixLayoutCreate");
  DType dtype = type == CUDA_R_16BF      ? DType::bf16
                : type == CUDA_R_16F     ? DType::f16
                : type == CUDA_R_8F_E4M3 ? DType::f8e4m3
                : type == CUDA_R_8F_E5M2 ? DType::f8e5m2
                                         : DType::f32;
  *layout = new CublasMatrixLayout{dtype, static_cast<int64_t>(rows),
                                   static_cast<int64_t>(cols), stride};
  state().born("layout");
  if (stride < static_cast<int64_t>(rows))
    return mistake("columns that overlap");
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
fake::cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  state().died("layout");
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t fake::cublasLtMatrixLayoutSetAttribute(
    cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute,
    const void *value, size_t bytes) {
  FAKE_ENTER("cublasLtMatrixLayoutSetAttribute");
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
    return take(layout->batch, value, bytes);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
    return take(layout->batchStride, value, bytes);
  return mistake("an attribute of a layout that is not known");
}

cublasStatus_t
fake::cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  FAKE_ENTER("cublasLtMatmulPreferenceCreate");
  *preference = new CublasPreference;
  state().born("preference");
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
fake::cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  state().died("preference");
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t fake::cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes) {
  FAKE_ENTER("cublasLtMatmulPreferenceSetAttribute");
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
    return take(preference->workspaceBytes, value, bytes);
  if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
    return take(preference->reductions, value, bytes);
  int operand = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  if (operand < 0 || operand > 3)
    return mistake("an attribute of a preference that is not known");
  return take(preference->alignments[operand], value, bytes);
}

//===----------------------------------------------------------------------===//
// Algorithms
//===----------------------------------------------------------------------===//

/// What the documentation demands of an epilogue and of the operands' types.
static cublasStatus_t checkProduct(const CublasMatmulDesc &desc,
                                   const CublasMatrixLayout &a,
                                   const CublasMatrixLayout &b,
                                   const CublasMatrixLayout &c,
                                   const CublasMatrixLayout &d) {
  int64_t k = desc.transposes[0] ? a.rows : a.cols;
  int64_t rows = desc.transposes[0] ? a.cols : a.rows;
  int64_t cols = desc.transposes[1] ? b.rows : b.cols;
  if (k != (desc.transposes[1] ? b.cols : b.rows) || rows != d.rows ||
      cols != d.cols || c.rows != d.rows || c.cols != d.cols)
    return mistake("a product of matrices that do not fit");
  if (cublasStatus_t failed = checkCodes(desc, {a, b, c, d}))
    return failed;
  if (!isFp8(a.dtype) && (a.dtype != b.dtype || c.dtype != d.dtype ||
                          (d.dtype != DType::f32 && d.dtype != a.dtype)))
    return mistake("a product of types that the library does not have");
  constexpr int hasAux = 128, hasVector = 4 | 16 | 256 | 512;
  if ((desc.epilogue & hasAux) &&
      (!desc.aux || desc.auxStride % 8 != 0 || desc.auxStride < d.rows ||
       reinterpret_cast<uintptr_t>(desc.aux) % 16 != 0))
    return mistake("an argument of GELU that is not aligned");
  if ((desc.epilogue & hasVector) && !desc.vector)
    return mistake("an epilogue without its vector");
  const Settings &settings = state().settings;
  if (!settings.missingEpilogues.count(desc.epilogue))
    return CUBLAS_STATUS_SUCCESS;
  return settings.missingIsInvalid ? CUBLAS_STATUS_INVALID_VALUE
                                   : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t fake::cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference,
    int requested, cublasLtMatmulHeuristicResult_t results[], int *count) {
  FAKE_ENTER("cublasLtMatmulAlgoGetHeuristic");
  *count = 0;
  if (cublasStatus_t failed = checkProduct(*desc, *a, *b, *c, *d))
    return failed;
  const std::vector<double> &times = state().settings.algorithmTimes;
  const std::map<size_t, uint32_t> &splits = state().settings.splitAlgorithms;
  for (size_t i = 0; i != times.size() && *count < requested; ++i) {
    auto split = splits.find(i + 1);
    if (split != splits.end() && !(split->second & preference->reductions))
      continue;
    cublasLtMatmulHeuristicResult_t result = {};
    result.algo.data[0] = i + 1;
    for (int operand = 0; operand != 4; ++operand)
      result.algo.data[1 + operand] = preference->alignments[operand];
    result.algo.data[5] = desc->usedProcessors();
    result.workspaceSize = preference->workspaceBytes;
    results[(*count)++] = result;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t fake::cublasLtMatmulAlgoCheck(
    cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algorithm,
    cublasLtMatmulHeuristicResult_t *result) {
  FAKE_ENTER("cublasLtMatmulAlgoCheck");
  if (algorithm->data[0] == 0 ||
      algorithm->data[0] > state().settings.algorithmTimes.size())
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (algorithm->data[5] != desc->usedProcessors())
    return mistake("an algorithm for another number of multiprocessors");
  *result = {};
  return checkProduct(*desc, *a, *b, *c, *d);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
/// A product with everything copied that the caller may change.
struct Product {
  CublasMatmulDesc desc;
  CublasMatrixLayout a, b, c, d;
  const char *aData, *bData, *cData;
  char *dData;
  float alpha, beta;

  void run() const;
  /// Whether something that it reads is one byte over and over.
  bool readsConstants() const;

private:
  int64_t terms() const { return desc.transposes[0] ? a.rows : a.cols; }
  void runOne(int64_t batch) const;
  void finishColumn(int64_t col, std::vector<float> &sums,
                    std::vector<float> &columnSums, int64_t batch) const;
  void sumOperand() const;
  double biasOf(int64_t row) const;
};
} // namespace

static float load(const CublasMatrixLayout &layout, const char *data,
                  int64_t batch, int64_t row, int64_t col) {
  int64_t place = batch * layout.batchStride + col * layout.stride + row;
  return static_cast<float>(
      loadElement(layout.dtype, data + place * byteWidth(layout.dtype)));
}

/// f32 with ten bits after the leading one, to nearest even.
static float roundToTf32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0xfff + (bits >> 13 & 1)) & ~uint32_t(0x1fff);
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

// gelu(x) = x/2 (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3)
static double gelu(double x) {
  double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(u));
}
static double geluSlope(double x) {
  double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  double slope = std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
  double t = std::tanh(u);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope;
}

/// Beside codes of its own type.
double Product::biasOf(int64_t row) const {
  DType dtype = desc.biasType == CUDA_R_16BF  ? DType::bf16
                : desc.biasType == CUDA_R_16F ? DType::f16
                                              : d.dtype;
  return loadElement(dtype, desc.vector + row * byteWidth(dtype));
}

/// Epilogue and rounding of one column of D, whose sums are given.
void Product::finishColumn(int64_t col, std::vector<float> &sums,
                           std::vector<float> &columnSums,
                           int64_t batch) const {
  int64_t width = byteWidth(d.dtype);
  bool forward = desc.epilogue & 32, backward = desc.epilogue & 64;
  for (int64_t row = 0; row != d.rows; ++row) {
    double value = alpha * sums[row];
    if (beta != 0)
      value += beta * load(c, cData, batch, row, col);
    if ((desc.epilogue & 4) && state().settings.fault != Fault::epilogue)
      value += biasOf(row);
    char *aux =
        desc.aux ? desc.aux + (col * desc.auxStride + row) * width : nullptr;
    if (forward && (desc.epilogue & 128))
      storeElement(d.dtype, aux, value);
    if (forward)
      value = gelu(value);
    if (backward)
      value *= geluSlope(loadElement(d.dtype, aux));
    if (desc.epilogue & 16)
      columnSums[row] += static_cast<float>(value);
    int64_t place = batch * d.batchStride + col * d.stride + row;
    storeElement(d.dtype, dData + place * width, value);
  }
}

void Product::runOne(int64_t batch) const {
  int64_t k = terms(), rows = d.rows;
  auto rounded = [&](float value) {
    return desc.tf32 ? roundToTf32(value) : value;
  };
  std::vector<float> left(static_cast<size_t>(rows * k)); // column by column
  for (int64_t i = 0; i != k; ++i)
    for (int64_t row = 0; row != rows; ++row)
      left[i * rows + row] =
          rounded(desc.transposes[0] ? load(a, aData, batch, i, row)
                                     : load(a, aData, batch, row, i)) *
          scaleOf(desc, 0, a, row, i);
  std::vector<float> sums(static_cast<size_t>(rows)), columnSums(sums.size());
  for (int64_t col = 0; col != d.cols; ++col) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (int64_t i = 0; i != k; ++i) {
      float factor =
          rounded(desc.transposes[1] ? load(b, bData, batch, col, i)
                                     : load(b, bData, batch, i, col)) *
          scaleOf(desc, 1, b, col, i);
      for (int64_t row = 0; row != rows; ++row)
        sums[row] += left[i * rows + row] * factor;
    }
    finishColumn(col, sums, columnSums, batch);
  }
  if (desc.epilogue & 16)
    for (int64_t row = 0; row != rows; ++row)
      storeElement(d.dtype, desc.vector + row * byteWidth(d.dtype),
                   columnSums[row]);
}

/// The sums of an operand over the terms: BGRADA and BGRADB.
void Product::sumOperand() const {
  bool isA = desc.epilogue == CUBLASLT_EPILOGUE_BGRADA;
  int64_t count = isA ? d.rows : d.cols;
  for (int64_t i = 0; i != count; ++i) {
    float sum = 0;
    for (int64_t term = 0; term != terms(); ++term)
      sum += isA ? (desc.transposes[0] ? load(a, aData, 0, term, i)
                                       : load(a, aData, 0, i, term))
                 : (desc.transposes[1] ? load(b, bData, 0, i, term)
                                       : load(b, bData, 0, term, i));
    storeElement(d.dtype, desc.vector + i * byteWidth(d.dtype), sum);
  }
}

void Product::run() const {
  if (desc.epilogue == CUBLASLT_EPILOGUE_BGRADA ||
      desc.epilogue == CUBLASLT_EPILOGUE_BGRADB)
    sumOperand();
  for (int64_t batch = 0; batch != d.batch; ++batch)
    runOne(batch);
}

static bool isOneByte(const char *data, int64_t bytes) {
  return std::all_of(data, data + bytes,
                     [&](char each) { return each == *data; });
}

bool Product::readsConstants() const {
  int64_t width = byteWidth(d.dtype);
  bool readsVector = desc.epilogue & 4, readsAux = desc.epilogue & 64;
  return isOneByte(aData, a.bytes()) || isOneByte(bData, b.bytes()) ||
         (beta != 0 && isOneByte(cData, c.bytes())) ||
         (readsVector && isOneByte(desc.vector, d.rows * width)) ||
         (readsAux &&
          isOneByte(desc.aux,
                    ((d.cols - 1) * desc.auxStride + d.rows) * width));
}

/// The milliseconds of a run that begins now.
static double timeOf(const Product &product, uint64_t algorithm) {
  const Settings &settings = state().settings;
  if (!settings.timeOf)
    return settings.algorithmTimes[algorithm - 1];
  return settings.timeOf({static_cast<int>(algorithm),
                          static_cast<int>(product.desc.usedProcessors()),
                          product.readsConstants(),
                          state().setSinceProduct < settings.l2Bytes,
                          state().milliseconds});
}

cublasStatus_t fake::cublasLtMatmul(
    cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void *alpha,
    const void *a, cublasLtMatrixLayout_t aLayout, const void *b,
    cublasLtMatrixLayout_t bLayout, const void *beta, const void *c,
    cublasLtMatrixLayout_t cLayout, void *d, cublasLtMatrixLayout_t dLayout,
    const cublasLtMatmulAlgo_t *algorithm, void *workspace,
    size_t workspaceBytes, CUstream stream) {
  FAKE_ENTER("cublasLtMatmul", /*mayCapture=*/true);
  if (cublasStatus_t failed =
          checkProduct(*desc, *aLayout, *bLayout, *cLayout, *dLayout))
    return failed;
  if (cublasStatus_t failed =
          checkScalePointers(*desc, {*aLayout, *bLayout, *cLayout, *dLayout}))
    return failed;
  const void *data[] = {a, b, c, d};
  const CublasMatrixLayout *layouts[] = {aLayout, bLayout, cLayout, dLayout};
  for (int i = 0; i != 4; ++i) {
    if (!state().isOnDevice(data[i], layouts[i]->bytes()))
      return mistake("an operand outside the memory of the device");
    if (isFp8(aLayout->dtype) && reinterpret_cast<uintptr_t>(data[i]) % 16 != 0)
      return mistake("codes or their product at no multiple of 16 bytes");
    if (reinterpret_cast<uintptr_t>(data[i]) % algorithm->data[1 + i] != 0)
      return mistake("an operand that is less aligned than was said");
  }
  if (!state().isOnDevice(workspace, static_cast<int64_t>(workspaceBytes)))
    return mistake("a workspace outside the memory of the device");
  uint64_t number = algorithm->data[0];
  if (number == 0 || number > state().settings.algorithmTimes.size())
    return mistake("an algorithm that no heuristic gave");
  if (algorithm->data[5] != desc->usedProcessors())
    return mistake("an algorithm for another number of multiprocessors");
  Product product = {*desc,
                     *aLayout,
                     *bLayout,
                     *cLayout,
                     *dLayout,
                     static_cast<const char *>(a),
                     static_cast<const char *>(b),
                     static_cast<const char *>(c),
                     static_cast<char *>(d),
                     *static_cast<const float *>(alpha),
                     *static_cast<const float *>(beta)};
  if (state().settings.fault == Fault::stride && product.b.cols > 1)
    --product.b.stride;
  if (state().load(format("algorithm %lld of a product of %lld x %lld",
                          static_cast<long long>(number),
                          static_cast<long long>(product.d.rows),
                          static_cast<long long>(product.d.cols))))
    return CUBLAS_STATUS_EXECUTION_FAILED;
  (void)enqueue(stream, [=] {
    state().milliseconds += timeOf(product, number);
    state().setSinceProduct = 0;
    product.run();
    return CUDA_SUCCESS;
  });
  return CUBLAS_STATUS_SUCCESS;
}
