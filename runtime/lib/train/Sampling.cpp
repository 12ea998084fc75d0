//===- Sampling.cpp - Draws a token by its logits -------------------------===//

#include "train/Sampling.h"
#include "base/Philox.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace honert;

/// A number in [0, 1) with 53 random bits. The last word of the counter keeps
/// the draws apart from other numbers of this seed.
static double uniform(uint64_t seed, int64_t position) {
  constexpr uint32_t stream = 0x67656e; // "gen"
  auto at = static_cast<uint64_t>(position);
  PhiloxCounter words = philox(
      {static_cast<uint32_t>(at), static_cast<uint32_t>(at >> 32), 0, stream},
      philoxKey(seed));
  uint64_t bits = uint64_t{words[0]} << 32 | words[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

int64_t Sampler::draw(const float *logits, int64_t position) {
  auto count = static_cast<int64_t>(order.size());
  for (int64_t id = 0; id != count; ++id)
    if (std::isnan(logits[id]))
      return -1;
  auto isBefore = [&](int64_t a, int64_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  std::iota(order.begin(), order.end(), 0);
  bool cutsShare = options.topP < 1;
  int64_t kept = options.temperature == 0 ? 1
                 : options.topK > 0       ? std::min(options.topK, count)
                                          : count;
  bool isSorted = kept < count || cutsShare;
  if (isSorted)
    std::partial_sort(order.begin(), order.begin() + kept, order.end(),
                      isBefore);
  int64_t best = isSorted
                     ? order[0]
                     : *std::min_element(order.begin(), order.end(), isBefore);
  if (!std::isfinite(logits[best]))
    return -1;
  if (kept == 1)
    return best;
  double total = 0;
  for (int64_t i = 0; i != kept; ++i) {
    double above = double(logits[order[i]]) - double(logits[best]);
    total += weights[i] = std::exp(above / options.temperature);
  }
  if (cutsShare) {
    double share = 0;
    int64_t needed = 0;
    while (needed != kept && share < options.topP * total)
      share += weights[needed++];
    kept = std::max<int64_t>(needed, 1);
    total = share;
  }
  double left = uniform(seed, position) * total;
  int64_t last = best;
  for (int64_t i = 0; i != kept; ++i)
    if (weights[i] > 0) { // rounding must not lead to one that cannot be
      last = order[i];
      if ((left -= weights[i]) < 0)
        break;
    }
  return last;
}
