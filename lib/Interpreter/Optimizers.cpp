//===- Optimizers.cpp - Global norm, AdamW, SGD ---------------------------===//

#include "hone/Interpreter/Ops.h"
#include "hone/Interpreter/Philox.h"

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
    PhiloxStream stream(update.rng->ints(), update.salt);
    for (auto [index, value] : llvm::enumerate(values))
      value = roundStochastically(value, stream.word(index) >> shift);
  }
  return result.floats(std::move(values));
}

/// Appends the shadow of the new parameter where one is wanted.
static Tensors withShadow(Tensors results, ArrayRef<ResultSpec> specs) {
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

Tensors interp::adamw(ArrayRef<ResultSpec> results, const Tensor &param,
                      const Tensor &grad, const Tensor &expAvg,
                      const Tensor &expAvgSq, const AdamwOptions &options) {
  if (!options.update.apply)
    return withShadow({param, expAvg, expAvgSq}, results);
  double rate = options.lr * options.lrScale;
  double decay = 1 - rate * options.weightDecay * options.decayScale;
  double stepSize = rate / (1 - std::pow(options.beta1, options.step));
  double secondScale = std::sqrt(1 - std::pow(options.beta2, options.step));
  double gradScale = options.maximize ? -options.gradScale : options.gradScale;
  std::vector<double> p(param.floats()), m(expAvg.floats()),
      v(expAvgSq.floats());
  for (size_t index = 0; index != p.size(); ++index) {
    double g = grad.floats()[index] * gradScale;
    m[index] = options.beta1 * m[index] + (1 - options.beta1) * g;
    v[index] = options.beta2 * v[index] + (1 - options.beta2) * g * g;
    p[index] =
        p[index] * decay -
        stepSize * m[index] / (std::sqrt(v[index]) / secondScale + options.eps);
  }
  return withShadow({roundUpdate(results[0], std::move(p), options.update, 16),
                     roundUpdate(results[1], std::move(m), options.update, 8),
                     roundUpdate(results[2], std::move(v), options.update, 0)},
                    results);
}

Tensors interp::sgd(ArrayRef<ResultSpec> results, const Tensor &param,
                    const Tensor &grad, const Tensor *buffer,
                    const SgdOptions &options) {
  if (!options.update.apply) {
    Tensors kept = {param};
    if (buffer)
      kept.push_back(*buffer);
    return withShadow(std::move(kept), results);
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
  return withShadow(std::move(updated), results);
}
