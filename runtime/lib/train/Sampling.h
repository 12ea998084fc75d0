//===- Sampling.h - Draws a token by its logits -----------------*- C++ -*-===//

#ifndef HONERT_TRAIN_SAMPLING_H
#define HONERT_TRAIN_SAMPLING_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace honert {

/// How a token is drawn.
struct SamplingOptions {
  double temperature = 1; ///< 0: the likeliest token
  int64_t topK = 0;       ///< among so many of the likeliest; 0: all
  double topP = 1;        ///< among the likeliest that have this together
};

/// Draws tokens by the softmax of their logits over the temperature. A draw
/// depends on the seed and its position alone. Of equal logits the lower id
/// comes first.
class Sampler {
public:
  Sampler(const SamplingOptions &options, uint64_t seed, int64_t tokens)
      : options(options), seed(seed), order(static_cast<size_t>(tokens)),
        weights(order.size()) {}

  /// The token after `position`, of logits that are numbers; -1 if one is NaN,
  /// or none is above -inf.
  int64_t draw(const float *logits, int64_t position);

private:
  SamplingOptions options;
  uint64_t seed;
  std::vector<int64_t> order; // the likeliest first, as far as is needed
  std::vector<double> weights;
};

} // namespace honert

#endif // HONERT_TRAIN_SAMPLING_H
