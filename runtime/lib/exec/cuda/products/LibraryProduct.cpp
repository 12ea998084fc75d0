//===- LibraryProduct.cpp - A matrix product as cuBLASLt is asked for it --===//

#include "exec/cuda/products/LibraryProduct.h"
#include "exec/cuda/products/Cublas.h"

#include <algorithm>
#include <optional>

using namespace honert;

namespace {
/// A matrix of the launch: where it lies and what separates its elements.
struct Strided {
  DType dtype;
  int64_t offset, rows, cols;
  int64_t batchStride, rowStride, colStride;

  Strided transposed() const {
    return {dtype, offset, cols, rows, batchStride, colStride, rowStride};
  }
};
} // namespace

/// `matrix` in columns, if its rows lie side by side and its columns apart.
static std::optional<LibraryMatrix> inColumns(const Strided &matrix) {
  int64_t stride = matrix.cols == 1 ? matrix.rows : matrix.colStride;
  if ((matrix.rows != 1 && matrix.rowStride != 1) || stride < matrix.rows)
    return std::nullopt;
  return LibraryMatrix{matrix.dtype,       matrix.rows, matrix.cols,  stride,
                       matrix.batchStride, false,       matrix.offset};
}

/// An operand, transposed by the library where it lies in rows.
static std::optional<LibraryMatrix> operand(const Strided &matrix) {
  if (std::optional<LibraryMatrix> columns = inColumns(matrix))
    return columns;
  std::optional<LibraryMatrix> rows = inColumns(matrix.transposed());
  if (rows)
    rows->isTransposed = true;
  return rows;
}

int64_t honert::operandAlignment(const MatmulLaunch &launch) {
  const int64_t sizes[] = {
      launch.batch, launch.m, launch.k, launch.batch, launch.k, launch.n,
      launch.batch, launch.m, launch.n, launch.batch, launch.m, launch.n};
  const int64_t offsets[] = {launch.a, launch.b, launch.c, launch.addend};
  int64_t alignment = 16;
  auto divide = [&](int64_t bytes) {
    while (bytes % alignment != 0)
      alignment /= 2;
  };
  for (size_t i = 0; i != 12; ++i) {
    if (i >= 9 && launch.addend == -1)
      continue;
    int64_t width = byteWidth(i < 6 ? launch.operand : launch.result);
    divide(offsets[i / 3]);
    if (sizes[i] > 1 && launch.strides[i] > 1)
      divide(launch.strides[i] * width);
  }
  return alignment;
}

/// Of a product whose operands are swapped.
static int epilogueOf(const MatmulLaunch &launch, bool withSums) {
  bool bias = launch.bias != -1;
  switch (launch.activation) {
  case Activation::gelu:
    return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  case Activation::geluAux:
    return bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
  case Activation::geluBwd:
    return withSums ? CUBLASLT_EPILOGUE_DGELU_BGRAD : CUBLASLT_EPILOGUE_DGELU;
  case Activation::none:
    break;
  }
  if (withSums)
    return launch.summed == Sums::ofA ? CUBLASLT_EPILOGUE_BGRADB
                                      : CUBLASLT_EPILOGUE_BGRADA;
  return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

static Status cannotExpress(const std::string &name, const char *what) {
  return Status::error(format("matmul %s: %s; cuBLASLt cannot express that",
                              name.c_str(), what));
}

/// What every GPU's library demands of products of codes, and what we ask of
/// them: operands are never copied into another order.
static Status checkCodes(const std::string &name, const MatmulLaunch &launch,
                         const LibraryProduct &product) {
  auto fails = [&](const char *what) { return cannotExpress(name, what); };
  if (launch.hasEpilogue())
    return fails("the result of codes has an activation, or sums beside it");
  if (!product.a.isTransposed || product.b.isTransposed)
    return fails("codes do not lie with what is summed side by side");
  int64_t d = byteWidth(product.d.dtype);
  for (int64_t bytes :
       {launch.k, product.a.stride, product.b.stride, product.d.cols,
        product.d.rows * d, product.d.stride * d, product.c.stride * d})
    if (bytes % 16 != 0)
      return fails("rows or columns of codes or of their product are no "
                   "multiple of 16 bytes");
  return Status();
}

/// Gives the product the scales of the launch, of swapped operands if `swap`.
static Status addScales(const std::string &name, const MatmulLaunch &launch,
                        bool swap, LibraryProduct &product) {
  const ProductScales &scales = *launch.scales;
  product.aScales = {scales.a.mode, scales.a.offset};
  product.bScales = {scales.b.mode, scales.b.offset};
  if (swap)
    std::swap(product.aScales, product.bScales);
  product.isFast = scales.isFast;
  return checkCodes(name, launch, product);
}

Status honert::planProduct(const std::string &name, const MatmulLaunch &launch,
                           bool withSums, LibraryProduct &product) {
  auto fails = [&](const char *what) { return cannotExpress(name, what); };
  int64_t m = launch.m, n = launch.n, k = launch.k;
  if (k == 0)
    return fails("there is nothing to sum (k is 0)");
  if (std::max({launch.batch, m, n, k}) > INT32_MAX)
    return fails("a size is above 2^31 - 1");
  auto matrix = [&](DType dtype, int64_t at, int64_t rows, int64_t cols,
                    int first) {
    const int64_t *s = launch.strides.data() + first;
    return Strided{dtype, at,  rows, cols, launch.batch == 1 ? 0 : s[0],
                   s[1],  s[2]};
  };
  Strided a = matrix(launch.operand, launch.a, m, k, 0);
  Strided b = matrix(launch.operandB(), launch.b, k, n, 3);
  Strided out = matrix(launch.result, launch.c, m, n, 6);
  bool accumulate = launch.addend != -1;
  Strided addend =
      accumulate ? matrix(launch.result, launch.addend, m, n, 9) : out;
  bool swap = inColumns(out.transposed()) && inColumns(addend.transposed());
  if (swap) {
    std::swap(a, b);
    for (Strided *each : {&a, &b, &out, &addend})
      *each = each->transposed();
  }
  std::optional<LibraryMatrix> lhs = operand(a), rhs = operand(b),
                               result = inColumns(out),
                               added = inColumns(addend);
  if (!lhs || !rhs)
    return fails("neither dimension of an operand is contiguous");
  if (!result || !added)
    return fails("result and addend are not contiguous along one dimension");
  if (!swap && (launch.bias != -1 || launch.hasEpilogue()))
    return fails("the result of an epilogue lies in columns");
  product = {launch.batch,
             *lhs,
             *rhs,
             *added,
             *result,
             accumulate,
             CUBLASLT_EPILOGUE_DEFAULT,
             -1,
             -1,
             0,
             false,
             0,
             std::nullopt,
             std::nullopt,
             false};
  if (swap)
    product.epilogue = epilogueOf(launch, withSums);
  product.vector = withSums ? launch.sums : launch.bias;
  product.aux = launch.aux;
  product.auxStride = launch.auxStride;
  return launch.scales ? addScales(name, launch, swap, product) : Status();
}

// sums[1, count] = ones[1, terms] x[terms, count]; as the library sees it
// D[count, 1] = x^T ones.
LibraryProduct honert::planSums(const MatmulLaunch &launch) {
  const auto &s = launch.strides;
  Strided x;
  if (launch.summed == Sums::ofA)
    x = {launch.operand, launch.a, launch.m, launch.k, 0, s[1], s[2]};
  else if (launch.summed == Sums::ofB)
    x = {launch.operand, launch.b, launch.n, launch.k, 0, s[5], s[4]};
  else
    x = {launch.result, launch.c, launch.n, launch.m, 0, s[8], s[7]};
  LibraryProduct product = {};
  product.batch = 1;
  product.a = *operand(x); // the product itself reads or writes it so
  product.b = {x.dtype, x.cols, 1, x.cols, 0, false, 0};
  product.c =
      product.d = {DType::f32, x.rows, 1, x.rows, 0, false, launch.sums};
  product.epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  product.vector = product.aux = -1;
  product.bIsOnes = true;
  return product;
}

// c[m, n] += ones[m, 1] bias[1, n]; as the library sees it D += bias ones^T,
// with the same vectors for every matrix of a batch.
LibraryProduct honert::planBias(const MatmulLaunch &launch,
                                const LibraryProduct &product) {
  LibraryProduct sum = product;
  const LibraryMatrix &d = product.d;
  sum.a = {d.dtype, d.rows, 1, d.rows, 0, false, launch.bias};
  sum.b = {d.dtype, d.cols, 1, d.cols, 0, true, 0};
  sum.c = d;
  sum.accumulate = sum.bIsOnes = true;
  sum.aScales = sum.bScales = std::nullopt;
  sum.isFast = false;
  return sum;
}

bool LibraryProduct::readsVector() const {
  return epilogue == CUBLASLT_EPILOGUE_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_GELU_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
}

bool LibraryProduct::readsAux() const {
  return epilogue == CUBLASLT_EPILOGUE_DGELU ||
         epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD;
}

static std::string textOf(const LibraryMatrix &matrix) {
  return format(
      "%s %lldx%lld%s by %lld batch %lld", name(matrix.dtype),
      static_cast<long long>(matrix.rows), static_cast<long long>(matrix.cols),
      matrix.isTransposed ? " T" : "", static_cast<long long>(matrix.stride),
      static_cast<long long>(matrix.batchStride));
}

std::string LibraryProduct::text() const {
  std::string text =
      format("%lld x (%s) (%s) to (%s)", static_cast<long long>(batch),
             textOf(a).c_str(), textOf(b).c_str(), textOf(d).c_str());
  if (accumulate)
    text += " plus (" + textOf(c) + ")";
  if (aScales)
    text += format(" scales %s by %s", honert::name(aScales->mode),
                   honert::name(bScales->mode));
  if (isFast)
    text += " fast";
  if (bIsOnes)
    text += " ones";
  if (aux != -1)
    text += format(" aux by %lld", static_cast<long long>(auxStride));
  if (processors > 0)
    text += format(" on %lld processors", static_cast<long long>(processors));
  return text + format(" epilogue %d", epilogue);
}
