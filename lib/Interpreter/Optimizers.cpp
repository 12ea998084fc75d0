//===- Optimizers.cpp - Global norm, optimizers ---------------------------===//

#include "hone/IR/StateCode.h"
#include "hone/Interpreter/Ops.h"

#include <cmath>

using namespace mlir;
using namespace hone;
using namespace hone::interp;

Tensor interp::globalNorm(const ResultSpec &result, ArrayRef<Tensor> inputs) {
  double sum = 0;
  for (const Tensor &input : inputs)
    for (double value : input.floats())
      sum += value * value;
  return result.floats({std::sqrt(sum)});
}

//===----------------------------------------------------------------------===//
// State in codes
//===----------------------------------------------------------------------===//

/// Calls `body(block, begin, end)` for the elements of each block of a tensor.
static void forEachBlock(ArrayRef<int64_t> shape,
                         function_ref<void(int64_t, int64_t, int64_t)> body) {
  int64_t width = shape.back(), block = 0;
  for (int64_t row = 0; row < elementCount(shape); row += width)
    for (int64_t column = 0; column < width; column += stateBlock)
      body(block++, row + column, row + std::min(column + stateBlock, width));
}

std::vector<double> interp::decodeMoment(const CodedMoment &moment,
                                         StateCode code) {
  std::vector<double> values(moment.codes.size());
  forEachBlock(moment.codes.shape(),
               [&](int64_t block, int64_t begin, int64_t end) {
                 for (int64_t index = begin; index != end; ++index)
                   values[index] = code.decode(moment.codes.ints()[index]) *
                                   moment.scales.floats()[block];
               });
  return values;
}

CodedMoment interp::encodeMoment(const ResultSpec &codeSpec,
                                 const ResultSpec &scaleSpec,
                                 ArrayRef<double> values, StateCode code) {
  std::vector<int64_t> codes(values.size());
  std::vector<double> scales(elementCount(scaleSpec.shape));
  forEachBlock(codeSpec.shape, [&](int64_t block, int64_t begin, int64_t end) {
    double scale = 0;
    for (double value : values.slice(begin, end - begin))
      scale = std::max(scale, std::abs(value));
    if (scale < smallestStateScale)
      return;
    scales[block] = scale;
    for (int64_t index = begin; index != end; ++index)
      codes[index] = code.encode(values[index] / scale);
  });
  return {codeSpec.ints(std::move(codes)), scaleSpec.floats(std::move(scales))};
}

//===----------------------------------------------------------------------===//
// Adafactor
//===----------------------------------------------------------------------===//

static double rootMeanSquare(ArrayRef<double> values) {
  double sum = 0;
  for (double value : values)
    sum += value * value;
  return std::sqrt(sum / double(values.size()));
}

namespace {
/// Second moments of a tensor as means of rows and columns, of each matrix.
struct Factors {
  std::vector<double> rows, columns;

  /// Moves towards the means of `squares` by `share`.
  void blend(ArrayRef<int64_t> shape, ArrayRef<double> squares, double share);
  /// The moment of each element.
  std::vector<double> product(ArrayRef<int64_t> shape, double eps) const;
};
} // namespace

void Factors::blend(ArrayRef<int64_t> shape, ArrayRef<double> squares,
                    double share) {
  size_t height = shape[shape.size() - 2], width = shape.back();
  std::vector<double> rowSums(rows.size()), columnSums(columns.size());
  for (size_t index = 0; index != squares.size(); ++index) {
    size_t row = index / width;
    rowSums[row] += squares[index];
    columnSums[row / height * width + index % width] += squares[index];
  }
  for (auto [mean, sum] : llvm::zip(rows, rowSums))
    mean += share * (sum / double(width) - mean);
  for (auto [mean, sum] : llvm::zip(columns, columnSums))
    mean += share * (sum / double(height) - mean);
}

std::vector<double> Factors::product(ArrayRef<int64_t> shape,
                                     double eps) const {
  size_t height = shape[shape.size() - 2], width = shape.back();
  std::vector<double> means(rows.size() / std::max<size_t>(height, 1));
  for (size_t row = 0; row != rows.size(); ++row)
    means[row / height] += rows[row] / double(height);
  std::vector<double> moments(elementCount(shape));
  for (size_t index = 0; index != moments.size(); ++index) {
    size_t row = index / width, matrix = row / height;
    moments[index] = rows[row] * columns[matrix * width + index % width] /
                     maximum(means[matrix], eps);
  }
  return moments;
}

Tensors interp::adafactor(ArrayRef<ResultSpec> results, const Tensor &param,
                          const Tensor &grad, ArrayRef<Tensor> variances,
                          const AdafactorOptions &options) {
  Tensors updated = {param};
  updated.append(variances.begin(), variances.end());
  if (param.size() == 0)
    return updated;
  double rate = options.lr * options.lrScale;
  double decay = 1 - rate * options.weightDecay * options.decayScale;
  double share = std::pow(double(options.step), options.beta2Decay);
  double gradScale = options.maximize ? -options.gradScale : options.gradScale;
  std::vector<double> p(param.floats()), u(grad.floats()), squares;
  for (double &value : u) {
    value *= gradScale;
    squares.push_back(value * value);
  }
  std::vector<double> moments;
  if (variances.size() == 2) {
    Factors factors = {variances[0].floats(), variances[1].floats()};
    factors.blend(param.shape(), squares, share);
    moments = factors.product(param.shape(), options.eps1);
    updated[1] = results[1].floats(std::move(factors.rows));
    updated[2] = results[2].floats(std::move(factors.columns));
  } else {
    moments = variances[0].floats();
    for (auto [moment, square] : llvm::zip(moments, squares))
      moment += share * (square - moment);
    updated[1] = results[1].floats(moments);
  }
  for (auto [value, moment] : llvm::zip(u, moments))
    value /= std::sqrt(maximum(moment, options.eps1 * options.eps1));
  double size = maximum(options.eps2, rootMeanSquare(p)) *
                minimum(rate, 1 / std::sqrt(double(options.step))) /
                maximum(1.0, rootMeanSquare(u) / options.clipThreshold);
  for (auto [value, move] : llvm::zip(p, u))
    value = value * decay - size * move;
  updated[0] = results[0].floats(std::move(p));
  return updated;
}
