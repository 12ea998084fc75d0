//===- Optimizers.cpp - Global norm, optimizers ---------------------------===//

#include "hone/IR/StateCode.h"
#include "hone/Interpreter/Ops.h"

#include "llvm/ADT/bit.h"

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
// Rounding of updates
//===----------------------------------------------------------------------===//

/// `value` as a bf16, up with the probability that it lies above the lower
/// neighbour: 16 random bits are added below those that stay.
static double roundStochastically(double value, uint32_t random) {
  float single = float(value);
  if (!std::isfinite(single))
    return single;
  uint32_t bits = llvm::bit_cast<uint32_t>(single) + (random & 0xffff);
  return llvm::bit_cast<float>(bits & 0xffff0000);
}

/// A result of an update: its values rounded to nearest, or with the bits from
/// `shift` of each element's word where there is a key.
static Tensor roundUpdate(const ResultSpec &result, std::vector<double> values,
                          const UpdateOptions &update, int shift) {
  bool stochastic = update.rng && result.element == Element::BF16 &&
                    result.mode == Mode::Typed;
  if (stochastic) {
    PhiloxStream stream(update.rng->ints(), update.salt, update.place);
    for (auto [index, value] : llvm::enumerate(values))
      value = roundStochastically(value, stream.word(index) >> shift);
  }
  return result.floats(std::move(values));
}

/// Appends the working copy of the new parameter where one is requested.
static Tensors withWorkingCopy(Tensors results, ArrayRef<ResultSpec> specs) {
  if (specs.size() > results.size()) {
    ArrayRef<double> param = results.front().floats();
    results.push_back(
        specs[results.size()].floats({param.begin(), param.end()}));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

namespace {
/// The update of one parameter by AdamW, element by element.
struct Adamw {
  explicit Adamw(const AdamwOptions &options)
      : options(options), rate(options.lr * options.lrScale),
        decay(1 - rate * options.weightDecay * options.decayScale),
        stepSize(rate / (1 - std::pow(options.beta1, options.step))),
        secondScale(std::sqrt(1 - std::pow(options.beta2, options.step))),
        gradScale(options.maximize ? -options.gradScale : options.gradScale) {}

  void operator()(double &p, double g, double &m, double &v) const {
    g *= gradScale;
    m = options.beta1 * m + (1 - options.beta1) * g;
    v = options.beta2 * v + (1 - options.beta2) * g * g;
    p = p * decay - stepSize * m / (std::sqrt(v) / secondScale + options.eps);
  }

  const AdamwOptions &options;
  double rate, decay, stepSize, secondScale, gradScale;
};
} // namespace

Tensors interp::adamw(ArrayRef<ResultSpec> results, const Tensor &param,
                      const Tensor &grad, const Tensor &expAvg,
                      const Tensor &expAvgSq, const AdamwOptions &options) {
  if (!options.update.apply)
    return withWorkingCopy({param, expAvg, expAvgSq}, results);
  Adamw update(options);
  std::vector<double> p(param.floats()), m(expAvg.floats()),
      v(expAvgSq.floats());
  for (size_t index = 0; index != p.size(); ++index)
    update(p[index], grad.floats()[index], m[index], v[index]);
  return withWorkingCopy(
      {roundUpdate(results[0], std::move(p), options.update, 16),
       roundUpdate(results[1], std::move(m), options.update, 8),
       roundUpdate(results[2], std::move(v), options.update, 0)},
      results);
}

/// Calls `body(block, begin, end)` for the elements of each block of a tensor.
static void forEachBlock(ArrayRef<int64_t> shape,
                         function_ref<void(int64_t, int64_t, int64_t)> body) {
  int64_t width = shape.back(), block = 0;
  for (int64_t row = 0; row < elementCount(shape); row += width)
    for (int64_t column = 0; column < width; column += stateBlock)
      body(block++, row + column, row + std::min(column + stateBlock, width));
}

static std::vector<double> decodeMoment(CodedMoment moment, StateCode code) {
  std::vector<double> values(moment.codes.size());
  forEachBlock(moment.codes.shape(),
               [&](int64_t block, int64_t begin, int64_t end) {
                 for (int64_t index = begin; index != end; ++index)
                   values[index] = code.decode(moment.codes.ints()[index]) *
                                   moment.scales.floats()[block];
               });
  return values;
}

/// Appends codes and scales of `values`.
static void encodeMoment(Tensors &results, ArrayRef<ResultSpec> specs,
                         ArrayRef<double> values, StateCode code) {
  const ResultSpec &codeSpec = specs[results.size()],
                   &scaleSpec = specs[results.size() + 1];
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
  results.push_back(codeSpec.ints(std::move(codes)));
  results.push_back(scaleSpec.floats(std::move(scales)));
}

Tensors interp::adamw8bit(ArrayRef<ResultSpec> results, const Tensor &param,
                          const Tensor &grad, CodedMoment expAvg,
                          CodedMoment expAvgSq, const AdamwOptions &options) {
  if (!options.update.apply)
    return withWorkingCopy(
        {param, expAvg.codes, expAvg.scales, expAvgSq.codes, expAvgSq.scales},
        results);
  Adamw update(options);
  std::vector<double> p(param.floats()),
      m = decodeMoment(expAvg, firstMomentCode),
      v = decodeMoment(expAvgSq, secondMomentCode);
  for (size_t index = 0; index != p.size(); ++index)
    update(p[index], grad.floats()[index], m[index], v[index]);
  Tensors updated = {results[0].floats(std::move(p))};
  encodeMoment(updated, results, m, firstMomentCode);
  encodeMoment(updated, results, v, secondMomentCode);
  return withWorkingCopy(std::move(updated), results);
}

Tensors interp::sgd(ArrayRef<ResultSpec> results, const Tensor &param,
                    const Tensor &grad, const Tensor *buffer,
                    const SgdOptions &options) {
  if (!options.update.apply) {
    Tensors kept = {param};
    if (buffer)
      kept.push_back(*buffer);
    return withWorkingCopy(std::move(kept), results);
  }
  double rate = options.lr * options.lrScale;
  double decay = options.weightDecay * options.decayScale;
  double gradScale = options.maximize ? -options.gradScale : options.gradScale;
  std::vector<double> p(param.floats()), b;
  if (buffer)
    b = buffer->floats();
  for (size_t index = 0; index != p.size(); ++index) {
    double g = grad.floats()[index] * gradScale + decay * p[index];
    if (buffer) {
      b[index] = options.momentum * b[index] + g;
      g = options.nesterov ? g + options.momentum * b[index] : b[index];
    }
    p[index] -= rate * g;
  }
  Tensors updated = {roundUpdate(results[0], std::move(p), options.update, 16)};
  if (buffer)
    updated.push_back(roundUpdate(results[1], std::move(b), options.update, 0));
  return withWorkingCopy(std::move(updated), results);
}

Tensors interp::lion(ArrayRef<ResultSpec> results, const Tensor &param,
                     const Tensor &grad, const Tensor &expAvg,
                     const LionOptions &options) {
  if (!options.update.apply)
    return withWorkingCopy({param, expAvg}, results);
  double rate = options.lr * options.lrScale;
  double decay = 1 - rate * options.weightDecay * options.decayScale;
  double gradScale = options.maximize ? -options.gradScale : options.gradScale;
  std::vector<double> p(param.floats()), m(expAvg.floats());
  for (size_t index = 0; index != p.size(); ++index) {
    double g = grad.floats()[index] * gradScale;
    double direction = options.beta1 * m[index] + (1 - options.beta1) * g;
    p[index] = p[index] * decay - rate * sign(direction);
    m[index] = options.beta2 * m[index] + (1 - options.beta2) * g;
  }
  return withWorkingCopy(
      {roundUpdate(results[0], std::move(p), options.update, 16),
       roundUpdate(results[1], std::move(m), options.update, 0)},
      results);
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
  if (!options.apply || param.size() == 0)
    return withWorkingCopy(std::move(updated), results);
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
  return withWorkingCopy(std::move(updated), results);
}
