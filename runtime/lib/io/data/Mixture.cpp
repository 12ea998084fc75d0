//===- Mixture.cpp - Which source a window comes from ---------------------===//

#include "io/data/Mixture.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

using namespace honert;

std::vector<int64_t> Mixture::round(const std::vector<double> &weights) {
  double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<int64_t> counts;
  std::vector<double> remainders;
  int64_t left = slots;
  for (double weight : weights) {
    double exact = weight / sum * static_cast<double>(slots);
    counts.push_back(static_cast<int64_t>(std::floor(exact)));
    remainders.push_back(exact - std::floor(exact));
    left -= counts.back();
  }
  std::vector<size_t> order(weights.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(-remainders[a], a) < std::pair(-remainders[b], b);
  });
  for (int64_t i = 0; i < left; ++i)
    ++counts[order[static_cast<size_t>(i) % order.size()]];
  return counts;
}

/// Earliest deadline first. So that prefixes stay within one window of their
/// shares, the i-th slot of a source (from 0) must come after i / share slots
/// have begun, and before (i + 1) / share have ended. One choice per slot then
/// meets all deadlines, since the shares add up to 1 (Baruah et al.,
/// "Proportionate progress", Algorithmica 1996). To take the source that lags
/// most, as smooth weighted round robin does, does not: with seven sources one
/// can be 1.2 windows off.
Mixture::Mixture(std::vector<int64_t> slotCounts)
    : counts(std::move(slotCounts)) {
  std::vector<int64_t> taken(counts.size());
  for (int64_t slot = 0; slot < slots; ++slot) {
    size_t first = counts.size();
    int64_t deadline = 0;
    for (size_t source = 0; source != counts.size(); ++source) {
      int64_t count = counts[source], done = taken[source];
      if ((slot + 1) * count <= done * slots)
        continue; // too early
      int64_t own = ((done + 1) * slots - 1) / count;
      if (first == counts.size() || own < deadline) {
        first = source;
        deadline = own;
      }
    }
    table.push_back(
        {static_cast<uint16_t>(first), static_cast<uint16_t>(taken[first]++)});
  }
}

Mixture::Place Mixture::at(int64_t window) const {
  const Slot &slot = table[static_cast<size_t>(window % slots)];
  return {slot.source, window / slots * counts[slot.source] + slot.before};
}
