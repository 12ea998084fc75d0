//===- Windows.cpp - Convolution and pooling ------------------------------===//

#include "hone/Interpreter/Ops.h"

#include "llvm/Support/Parallel.h"

using namespace mlir;
using namespace hone;
using namespace hone::interp;

namespace {
/// A position of the output, a tap, and the position of the input that the tap
/// reads there; all row-major over spatial dimensions.
struct Tap {
  int64_t output, tap, input;
};
} // namespace

/// Every tap of every output position that reads the input, in the order of
/// outputs, then taps.
static std::vector<Tap> findTaps(const Window &window, Dims input,
                                 Dims output) {
  std::vector<Tap> found;
  Shape inputStrides = stridesOf(input);
  forEachIndex(output, [&](ArrayRef<int64_t> at, int64_t position) {
    forEachIndex(window.sizes, [&](ArrayRef<int64_t> tap, int64_t number) {
      int64_t from = 0;
      for (size_t dim = 0; dim != tap.size(); ++dim) {
        int64_t place = at[dim] * window.strides[dim] +
                        tap[dim] * window.dilations[dim] - window.low[dim];
        if (place < 0 || place >= input[dim])
          return;
        from += place * inputStrides[dim];
      }
      found.push_back({position, number, from});
    });
  });
  return found;
}

static Dims spatial(const Shape &shape) {
  return Dims(shape).drop_front().drop_back();
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

namespace {
/// The three tensors of a convolution, seen as [batch, positions, channels] and
/// [taps, channels per group, channels].
struct Convolution {
  Convolution(const Window &window, const Shape &image, const Shape &kernel,
              const Shape &output)
      : taps(findTaps(window, spatial(image), spatial(output))),
        batch(image.front()), inputs(elementCount(spatial(image))),
        outputs(elementCount(spatial(output))), channels(image.back()),
        perGroup(kernel[kernel.size() - 2]), made(output.back()),
        madePerGroup(made / std::max<int64_t>(1, channels / perGroup)) {}

  int64_t imageAt(int64_t n, const Tap &tap, int64_t group) const {
    return (n * inputs + tap.input) * channels + group * perGroup;
  }
  int64_t kernelAt(const Tap &tap, int64_t c) const {
    return (tap.tap * perGroup + c) * made;
  }
  int64_t outputAt(int64_t n, const Tap &tap) const {
    return (n * outputs + tap.output) * made;
  }
  int64_t groupOf(int64_t channel) const { return channel / madePerGroup; }

  std::vector<Tap> taps;
  int64_t batch, inputs, outputs, channels, perGroup, made, madePerGroup;
};
} // namespace

Tensor interp::conv(const ResultSpec &result, const Window &window,
                    const Tensor &input, const Tensor &weight) {
  Convolution c(window, Shape(input.shape()), Shape(weight.shape()),
                result.shape);
  std::vector<double> values(elementCount(result.shape));
  ArrayRef<double> x = input.floats(), w = weight.floats();
  llvm::parallelFor(0, c.batch, [&](size_t n) {
    for (const Tap &tap : c.taps)
      for (int64_t o = 0; o != c.made; ++o)
        for (int64_t i = 0; i != c.perGroup; ++i)
          values[c.outputAt(n, tap) + o] +=
              x[c.imageAt(n, tap, c.groupOf(o)) + i] *
              w[c.kernelAt(tap, i) + o];
  });
  return result.floats(std::move(values));
}

Tensor interp::convBwdInput(const ResultSpec &result, const Window &window,
                            const Tensor &grad, const Tensor &weight) {
  Convolution c(window, result.shape, Shape(weight.shape()),
                Shape(grad.shape()));
  std::vector<double> values(elementCount(result.shape));
  ArrayRef<double> dy = grad.floats(), w = weight.floats();
  llvm::parallelFor(0, c.batch, [&](size_t n) {
    for (const Tap &tap : c.taps)
      for (int64_t o = 0; o != c.made; ++o)
        for (int64_t i = 0; i != c.perGroup; ++i)
          values[c.imageAt(n, tap, c.groupOf(o)) + i] +=
              dy[c.outputAt(n, tap) + o] * w[c.kernelAt(tap, i) + o];
  });
  return result.floats(std::move(values));
}

Tensor interp::convBwdWeight(const ResultSpec &result, const Window &window,
                             const Tensor &input, const Tensor &grad) {
  Convolution c(window, Shape(input.shape()), result.shape,
                Shape(grad.shape()));
  std::vector<double> values(elementCount(result.shape));
  ArrayRef<double> x = input.floats(), dy = grad.floats();
  for (int64_t n = 0; n != c.batch; ++n)
    for (const Tap &tap : c.taps)
      for (int64_t i = 0; i != c.perGroup; ++i)
        for (int64_t o = 0; o != c.made; ++o)
          values[c.kernelAt(tap, i) + o] +=
              x[c.imageAt(n, tap, c.groupOf(o)) + i] *
              dy[c.outputAt(n, tap) + o];
  return result.floats(std::move(values));
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

Tensors interp::maxPool(ArrayRef<ResultSpec> results, const Window &window,
                        const Tensor &input) {
  Shape shape(input.shape());
  std::vector<Tap> all =
      findTaps(window, spatial(shape), spatial(results[0].shape));
  int64_t channels = shape.back(), inputs = elementCount(spatial(shape));
  int64_t outputs = elementCount(spatial(results[0].shape));
  std::vector<double> values(elementCount(results[0].shape));
  std::vector<int64_t> taps(values.size(), -1);
  ArrayRef<double> x = input.floats();
  for (int64_t n = 0; n != shape.front(); ++n)
    for (const Tap &tap : all)
      for (int64_t c = 0; c != channels; ++c) {
        int64_t to = (n * outputs + tap.output) * channels + c;
        double value = x[(n * inputs + tap.input) * channels + c];
        double leader = values[to];
        bool leaderIsNan = leader != leader, valueIsNan = value != value;
        if (taps[to] >= 0 && (leaderIsNan || !(valueIsNan || value > leader)))
          continue;
        values[to] = value;
        taps[to] = tap.tap;
      }
  return {results[0].floats(std::move(values)),
          results[1].ints(std::move(taps))};
}

Tensor interp::maxPoolBwd(const ResultSpec &result, const Window &window,
                          const Tensor &grad, const Tensor &taps) {
  Shape shape = result.shape, gradShape(grad.shape());
  std::vector<Tap> all = findTaps(window, spatial(shape), spatial(gradShape));
  int64_t channels = shape.back(), inputs = elementCount(spatial(shape));
  int64_t outputs = elementCount(spatial(gradShape));
  std::vector<double> values(elementCount(shape));
  for (int64_t n = 0; n != shape.front(); ++n)
    for (const Tap &tap : all)
      for (int64_t c = 0; c != channels; ++c) {
        int64_t from = (n * outputs + tap.output) * channels + c;
        if (taps.ints()[from] == tap.tap)
          values[(n * inputs + tap.input) * channels + c] +=
              grad.floats()[from];
      }
  return result.floats(std::move(values));
}
