//===- Optimizers.cpp - Global norm, AdamW, SGD ---------------------------===//

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

Tensors interp::adamw(ArrayRef<ResultSpec> results, const Tensor &param,
                      const Tensor &grad, const Tensor &expAvg,
                      const Tensor &expAvgSq, const AdamwOptions &options) {
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
  return {results[0].floats(std::move(p)), results[1].floats(std::move(m)),
          results[2].floats(std::move(v))};
}

Tensors interp::sgd(ArrayRef<ResultSpec> results, const Tensor &param,
                    const Tensor &grad, const Tensor *buffer,
                    const SgdOptions &options) {
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
  Tensors updated = {results[0].floats(std::move(p))};
  if (buffer)
    updated.push_back(results[1].floats(std::move(b)));
  return updated;
}
