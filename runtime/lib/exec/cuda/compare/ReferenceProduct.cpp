//===- ReferenceProduct.cpp - Matrix products on the host -----------------===//

#include "exec/cuda/compare/ReferenceProduct.h"
#include "base/Fp8.h"

#include <algorithm>
#include <cmath>

using namespace honert;

namespace {
/// Elements of an operand of one matrix of the batch as f64: a row after the
/// other, each with its norm.
struct Rows {
  int64_t count, length;
  std::vector<double> values, norms;

  const double *at(int64_t row) const { return values.data() + row * length; }
};

/// An operand of one matrix of the batch: its first element, steps in elements,
/// and the scales of codes.
struct OperandRows {
  DType dtype;
  int64_t offset, first, count, rowStep, colStep;
  const ProductScales::Side *scales = nullptr;
};

class Product {
public:
  Product(const MatmulLaunch &launch, bool roundsToTf32, char *memory,
          const ThreadPool &pool)
      : launch(launch), memory(memory), pool(pool),
        result(expect(launch.c, launch.batch, launch.m, launch.n, 6)) {
    // Hopper sums products of codes to some 14 bits before it adds them in f32;
    // the largest difference on an H100 was 1.05 * 2^-12. Products of bf16 are
    // summed in f32.
    operandError = roundsToTf32 ? 0x1p-9 : launch.scales ? 0x1p-11 : 0;
    if (launch.activation == Activation::geluAux)
      aux = Expected{{launch.result, launch.aux,
                      (launch.m - 1) * launch.auxStride + launch.n}};
    for (Expected *each : {&result, &aux})
      each->each = Expected::none(each->tensor.count);
  }

  std::vector<Expected> run();

private:
  Expected expect(int64_t offset, int64_t batch, int64_t rows, int64_t cols,
                  int first) const;
  double load(DType dtype, int64_t offset, int64_t element) const {
    return loadElement(dtype, memory + offset + element * byteWidth(dtype));
  }
  /// What a code of an operand is multiplied by.
  double scaleOf(const ProductScales::Side &scales, const ScaleLayout &layout,
                 int64_t row, int64_t k) const;
  Rows rowsOf(const OperandRows &operand) const;
  void runMatrix(int64_t batch);
  void finish(int64_t batch, int64_t m, int64_t n, double sum, double bound);
  Expected sums();

  const MatmulLaunch &launch;
  char *memory;
  const ThreadPool &pool;
  Expected result, aux = {};
  double operandError;
};
} // namespace

/// All elements from the first of a strided tensor to its last.
Expected Product::expect(int64_t offset, int64_t batch, int64_t rows,
                         int64_t cols, int first) const {
  const int64_t *s = launch.strides.data() + first;
  int64_t last = (batch - 1) * s[0] + (rows - 1) * s[1] + (cols - 1) * s[2];
  return Expected{{launch.result, offset, last + 1}};
}

double Product::scaleOf(const ProductScales::Side &scales,
                        const ScaleLayout &layout, int64_t row,
                        int64_t k) const {
  int64_t index = layout.indexOfCode(row, k);
  if (layout.tile != ScaleTile::row32)
    return load(DType::f32, scales.offset, index);
  return decodeMxScale(static_cast<uint8_t>(memory[scales.offset + index]));
}

Rows Product::rowsOf(const OperandRows &operand) const {
  Rows rows = {operand.count, launch.k, {}, {}};
  rows.values.resize(static_cast<size_t>(operand.count * launch.k));
  rows.norms.resize(static_cast<size_t>(operand.count));
  const ProductScales::Side *scales = operand.scales;
  ScaleLayout layout = {scales ? scaleTileOf(scales->mode) : ScaleTile::tensor,
                        operand.count, launch.k};
  pool.run(operand.count, 1, [&](int64_t lo, int64_t hi) {
    for (int64_t row = lo; row != hi; ++row) {
      double squares = 0;
      double *values = rows.values.data() + row * launch.k;
      for (int64_t k = 0; k != launch.k; ++k) {
        values[k] =
            load(operand.dtype, operand.offset,
                 operand.first + row * operand.rowStep + k * operand.colStep) *
            (scales ? scaleOf(*scales, layout, row, k) : 1);
        squares += values[k] * values[k];
      }
      rows.norms[static_cast<size_t>(row)] = std::sqrt(squares);
    }
  });
  return rows;
}

// gelu(x) = x/2 (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3)
static double tanhOf(double x) {
  return std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
}
static double gelu(double x) { return 0.5 * x * (1 + tanhOf(x)); }
static double geluSlope(double x) {
  double t = tanhOf(x);
  double slope = std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope;
}

/// The largest slope of gelu.
static constexpr double steepest = 1.13;
/// Relative error of a library's gelu to its argument: it may use the
/// hardware's tanh, whose relative error is at most 2^-11 (PTX manual,
/// tanh.approx.f32).
static constexpr double activationError = 0x1p-10;

/// Bias, addend, activation and rounding of one element, whose sum is off by
/// `bound` at most.
void Product::finish(int64_t batch, int64_t m, int64_t n, double sum,
                     double bound) {
  const auto &s = launch.strides;
  DType type = launch.result;
  double value = sum, onTheWay = std::fabs(sum);
  auto add = [&](double term) {
    value += term;
    onTheWay = std::max({onTheWay, std::fabs(term), std::fabs(value)});
  };
  if (launch.bias != -1)
    add(load(type, launch.bias, n));
  if (launch.addend != -1)
    add(load(type, launch.addend, batch * s[9] + m * s[10] + n * s[11]));
  // Without the library's epilogue the sum is rounded, and again with a bias:
  // each time by half a unit in the last place.
  bound += epsilon(type) * onTheWay;
  if (launch.activation == Activation::geluAux) {
    int64_t place = m * launch.auxStride + n;
    storeElement(type, memory + launch.aux + place * byteWidth(type), value);
    aux.each[static_cast<size_t>(place)] = static_cast<float>(bound);
  }
  if (launch.activation != Activation::none)
    bound = steepest * bound + activationError * std::fabs(value);
  if (launch.activation == Activation::geluBwd)
    value *= geluSlope(load(type, launch.aux, m * launch.auxStride + n));
  else if (launch.activation != Activation::none)
    value = gelu(value);
  int64_t place = batch * s[6] + m * s[7] + n * s[8];
  storeElement(type, memory + launch.c + place * byteWidth(type), value);
  result.each[static_cast<size_t>(place)] = static_cast<float>(bound);
}

void Product::runMatrix(int64_t batch) {
  const auto &s = launch.strides;
  const ProductScales *scales = launch.scales ? &*launch.scales : nullptr;
  Rows a = rowsOf({launch.operand, launch.a, batch * s[0], launch.m, s[1], s[2],
                   scales ? &scales->a : nullptr});
  Rows b = rowsOf({launch.operandB(), launch.b, batch * s[3], launch.n, s[5],
                   s[4], scales ? &scales->b : nullptr});
  double error = operandError + sumError(launch.k);
  pool.run(launch.m, 1, [&](int64_t lo, int64_t hi) {
    for (int64_t n = 0; n != launch.n; ++n)
      for (int64_t m = lo; m != hi; ++m) {
        const double *left = a.at(m), *right = b.at(n);
        double parts[4] = {0, 0, 0, 0};
        int64_t k = 0;
        for (; k + 4 <= launch.k; k += 4)
          for (int i = 0; i != 4; ++i)
            parts[i] += left[k + i] * right[k + i];
        for (; k != launch.k; ++k)
          parts[0] += left[k] * right[k];
        double norms =
            a.norms[static_cast<size_t>(m)] * b.norms[static_cast<size_t>(n)];
        finish(batch, m, n, parts[0] + parts[1] + parts[2] + parts[3],
               error * norms);
      }
  });
}

/// The sums of an operand over k, or of the result over m.
Expected Product::sums() {
  const auto &s = launch.strides;
  bool ofA = launch.summed == Sums::ofA, ofB = launch.summed == Sums::ofB;
  int64_t count = ofA ? launch.m : launch.n;
  int64_t terms = ofA || ofB ? launch.k : launch.m;
  Expected written{{DType::f32, launch.sums, count}};
  written.units = 2;
  for (int64_t i = 0; i != count; ++i) {
    double sum = 0, squares = 0, errors = 0;
    for (int64_t term = 0; term != terms; ++term) {
      int64_t place = ofA   ? i * s[1] + term * s[2]
                      : ofB ? term * s[4] + i * s[5]
                            : term * s[7] + i * s[8];
      double value = ofA   ? load(launch.operand, launch.a, place)
                     : ofB ? load(launch.operand, launch.b, place)
                           : load(launch.result, launch.c, place);
      sum += value;
      squares += value * value;
      if (!ofA && !ofB) {
        double own = result.each[static_cast<size_t>(place)] +
                     std::fabs(value) * epsilon(launch.result);
        errors += own * own;
      }
    }
    storeElement(DType::f32, memory + launch.sums + 4 * i, sum);
    // Errors of the terms are of either sign.
    written.each.push_back(static_cast<float>(
        sumError(terms) * std::sqrt(squares * static_cast<double>(terms)) +
        4 * std::sqrt(errors)));
  }
  return written;
}

std::vector<Expected> Product::run() {
  for (int64_t batch = 0; batch != launch.batch; ++batch)
    runMatrix(batch);
  result.units = aux.units = 1;
  std::vector<Expected> written;
  if (launch.summed != Sums::none)
    written.push_back(sums());
  written.push_back(std::move(result));
  if (launch.activation == Activation::geluAux)
    written.push_back(std::move(aux));
  return written;
}

std::vector<Expected> honert::referenceProduct(const MatmulLaunch &launch,
                                               bool roundsToTf32, char *memory,
                                               const ThreadPool &pool) {
  if (launch.batch == 0 || launch.m == 0 || launch.n == 0)
    return {};
  return Product(launch, roundsToTf32, memory, pool).run();
}
