//===- Rows.cpp - Norms, softmax, cross entropy ---------------------------===//

#include "hone/Interpreter/Ops.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace hone;
using namespace hone::interp;

/// Calls `body(row, values of the row)` for each row along the last dimension,
/// of which the first `width` elements count (0: all).
template <typename Body>
static void forEachRow(const Tensor &tensor, int64_t width, Body body) {
  int64_t stride = tensor.shape().back();
  int64_t rows = elementCount(tensor.shape().drop_back());
  for (int64_t row = 0; row != rows; ++row)
    body(row, tensor.floats().slice(row * stride, width ? width : stride));
}

/// Ends row `row` of `values`: what is missing is padding.
static void endRow(std::vector<double> &values, int64_t row,
                   const Tensor &like) {
  values.resize((row + 1) * like.shape().back());
}

static double sumOf(ArrayRef<double> values) {
  double sum = 0;
  for (double value : values)
    sum += value;
  return sum;
}

/// ln sum exp of a row; -inf for a row of -inf, or an empty one.
static double logSumExp(ArrayRef<double> row) {
  double top = -std::numeric_limits<double>::infinity();
  for (double value : row)
    top = maximum(top, value);
  if (std::isinf(top))
    return top;
  double sum = 0;
  for (double value : row)
    sum += std::exp(value - top);
  return top + std::log(sum);
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

Tensors interp::layerNorm(ArrayRef<ResultSpec> results, const Tensor &input,
                          const Tensor *scale, const Tensor *bias, double eps,
                          int64_t width) {
  std::vector<double> values, means, rstds;
  forEachRow(input, width, [&](int64_t index, ArrayRef<double> row) {
    double mean = results[1].used(sumOf(row) / row.size(), index);
    double variance = 0;
    for (double value : row)
      variance += (value - mean) * (value - mean) / row.size();
    double rstd = results[2].used(1 / std::sqrt(variance + eps), index);
    for (auto [column, value] : llvm::enumerate(row))
      values.push_back((value - mean) * rstd *
                           (scale ? scale->floats()[column] : 1) +
                       (bias ? bias->floats()[column] : 0));
    endRow(values, index, input);
    means.push_back(mean);
    rstds.push_back(rstd);
  });
  return {results[0].floats(std::move(values)),
          results[1].floats(std::move(means)),
          results[2].floats(std::move(rstds))};
}

/// rstd * (g - [mean_row(g)] - h * mean_row(g * h)), where `normalized(row,
/// column)` is h. The two norms differ in h and in the bracketed term.
template <typename Normalized>
static Tensor normBwd(const ResultSpec &result, const Tensor &grad,
                      const Tensor *scale, const Tensor &rstd, bool centered,
                      int64_t width, Normalized normalized) {
  std::vector<double> values;
  forEachRow(grad, width, [&](int64_t row, ArrayRef<double> gradRow) {
    auto scaled = [&](size_t column) {
      return gradRow[column] * (scale ? scale->floats()[column] : 1);
    };
    double mean = 0, projection = 0;
    for (size_t column = 0; column != gradRow.size(); ++column) {
      mean += scaled(column) / gradRow.size();
      projection += scaled(column) * normalized(row, column) / gradRow.size();
    }
    for (size_t column = 0; column != gradRow.size(); ++column)
      values.push_back(rstd.floats()[row] *
                       (scaled(column) - (centered ? mean : 0) -
                        normalized(row, column) * projection));
    endRow(values, row, grad);
  });
  return result.floats(std::move(values));
}

Tensor interp::layerNormBwd(const ResultSpec &result, const Tensor &grad,
                            const Tensor &input, const Tensor &mean,
                            const Tensor &rstd, const Tensor *scale,
                            int64_t width) {
  int64_t stride = input.shape().back();
  return normBwd(result, grad, scale, rstd, /*centered=*/true, width,
                 [&](int64_t row, int64_t column) {
                   return (input.floats()[row * stride + column] -
                           mean.floats()[row]) *
                          rstd.floats()[row];
                 });
}

Tensors interp::rmsNorm(ArrayRef<ResultSpec> results, const Tensor &input,
                        const Tensor *scale, double eps, int64_t width) {
  std::vector<double> values, rstds;
  forEachRow(input, width, [&](int64_t index, ArrayRef<double> row) {
    double square = 0;
    for (double value : row)
      square += value * value / row.size();
    double rstd = results[1].used(1 / std::sqrt(square + eps), index);
    for (auto [column, value] : llvm::enumerate(row))
      values.push_back(value * rstd * (scale ? scale->floats()[column] : 1));
    endRow(values, index, input);
    rstds.push_back(rstd);
  });
  return {results[0].floats(std::move(values)),
          results[1].floats(std::move(rstds))};
}

Tensor interp::rmsNormBwd(const ResultSpec &result, const Tensor &grad,
                          const Tensor &input, const Tensor &rstd,
                          const Tensor *scale, int64_t width) {
  int64_t stride = input.shape().back();
  return normBwd(result, grad, scale, rstd, /*centered=*/false, width,
                 [&](int64_t row, int64_t column) {
                   return input.floats()[row * stride + column] *
                          rstd.floats()[row];
                 });
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

Tensor interp::softmax(const ResultSpec &result, const Tensor &input,
                       int64_t width) {
  std::vector<double> values;
  forEachRow(input, width, [&](int64_t index, ArrayRef<double> row) {
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (double value : row)
      top = maximum(top, value);
    size_t first = values.size();
    for (double value : row)
      sum += values.emplace_back(std::exp(value - top));
    for (size_t column = first; column != values.size(); ++column)
      values[column] /= sum;
    endRow(values, index, input);
  });
  return result.floats(std::move(values));
}

Tensor interp::softmaxBwd(const ResultSpec &result, const Tensor &grad,
                          const Tensor &output, int64_t width) {
  std::vector<double> values;
  forEachRow(output, width, [&](int64_t row, ArrayRef<double> outputRow) {
    ArrayRef<double> gradRow =
        grad.floats().slice(row * output.shape().back(), outputRow.size());
    double dot = 0;
    for (auto [g, y] : llvm::zip_equal(gradRow, outputRow))
      dot += g * y;
    for (auto [g, y] : llvm::zip_equal(gradRow, outputRow))
      values.push_back(y * (g - dot));
    endRow(values, row, output);
  });
  return result.floats(std::move(values));
}

//===----------------------------------------------------------------------===//
// Cross entropy
//===----------------------------------------------------------------------===//

/// The number of classes that rows of logits have.
static int64_t countClasses(const Tensor &logits,
                            const CrossEntropyOptions &options) {
  return options.width ? options.width : logits.shape().back();
}

/// The number of rows not ignored; fails where a target is no class.
static llvm::Expected<int64_t>
countTargets(const Tensor &targets, int64_t vocab,
             const CrossEntropyOptions &options) {
  int64_t count = 0;
  for (auto [row, target] : llvm::enumerate(targets.ints())) {
    if (target == options.ignoreIndex)
      continue;
    if (target < 0 || target >= vocab)
      return llvm::createStringError(
          "target " + Twine(row) + " is " + Twine(target) +
          ", expected 0 <= target < " + Twine(vocab));
    ++count;
  }
  return count;
}

llvm::Expected<Tensors>
interp::crossEntropy(ArrayRef<ResultSpec> results, const Tensor &logits,
                     const Tensor &targets,
                     const CrossEntropyOptions &options) {
  llvm::Expected<int64_t> count =
      countTargets(targets, countClasses(logits, options), options);
  if (!count)
    return count.takeError();
  double smoothing = options.labelSmoothing;
  std::vector<double> losses, lses;
  forEachRow(logits, options.width, [&](int64_t row, ArrayRef<double> x) {
    double lse = lses.emplace_back(logSumExp(x));
    int64_t target = targets.ints()[row];
    if (target == options.ignoreIndex)
      losses.push_back(0);
    else if (smoothing == 0) // no 0 * inf where a class is masked out
      losses.push_back(lse - x[target]);
    else
      losses.push_back((1 - smoothing) * (lse - x[target]) +
                       smoothing * (lse - sumOf(x) / x.size()));
  });
  if (options.reduction == LossReduction::sum)
    losses = {sumOf(losses)};
  else if (options.reduction == LossReduction::mean)
    losses = {sumOf(losses) / *count};
  return Tensors{results[0].floats(std::move(losses)),
                 results[1].floats(std::move(lses))};
}

llvm::Expected<Tensor>
interp::crossEntropyBwd(const ResultSpec &result, const Tensor &grad,
                        const Tensor &logits, const Tensor &targets,
                        const Tensor &lse, const CrossEntropyOptions &options) {
  int64_t vocab = countClasses(logits, options);
  llvm::Expected<int64_t> count = countTargets(targets, vocab, options);
  if (!count)
    return count.takeError();
  bool perRow = options.reduction == LossReduction::none;
  double divisor = options.reduction == LossReduction::mean ? *count : 1;
  double smoothing = options.labelSmoothing;
  std::vector<double> values;
  values.reserve(logits.size());
  forEachRow(logits, options.width, [&](int64_t row, ArrayRef<double> x) {
    int64_t target = targets.ints()[row];
    double weight = grad.floats()[perRow ? row : 0] / divisor;
    for (auto [column, value] : llvm::enumerate(x)) {
      if (target == options.ignoreIndex) {
        values.push_back(0);
        continue;
      }
      double expected = smoothing / vocab;
      if (int64_t(column) == target)
        expected += 1 - smoothing;
      values.push_back(weight *
                       (std::exp(value - lse.floats()[row]) - expected));
    }
    endRow(values, row, logits);
  });
  return result.floats(std::move(values));
}
