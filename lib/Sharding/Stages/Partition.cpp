//===- Partition.cpp - Equal parts of a chain -----------------------------===//

#include "Sharding/Stages/Partition.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>
#include <vector>

using namespace hone::dist;

llvm::SmallVector<size_t>
hone::dist::partitionChain(llvm::ArrayRef<double> seconds,
                           llvm::ArrayRef<int64_t> bytes, int64_t parts) {
  size_t units = seconds.size();
  assert(parts >= 1 && size_t(parts) <= units && bytes.size() + 1 == units);
  std::vector<double> before(units + 1, 0.0);
  for (size_t unit = 0; unit != units; ++unit)
    before[unit + 1] = before[unit] + seconds[unit];

  // best[end]: the longest part and the bytes of the first `end` units in as
  // many parts as rounds are done; from[part][end]: where the last of them
  // begins.
  using Cost = std::pair<double, int64_t>;
  constexpr Cost none = {std::numeric_limits<double>::infinity(), 0};
  std::vector<Cost> best(units + 1, none);
  for (size_t end = 1; end <= units; ++end)
    best[end] = {before[end], 0};
  std::vector<std::vector<size_t>> from(parts);
  for (int64_t part = 1; part != parts; ++part) {
    std::vector<Cost> longer(units + 1, none);
    from[part].assign(units + 1, 0);
    for (size_t end = size_t(part) + 1; end <= units; ++end)
      for (size_t begin = part; begin != end; ++begin) {
        Cost cost = {std::max(best[begin].first, before[end] - before[begin]),
                     best[begin].second + bytes[begin - 1]};
        if (cost < longer[end]) {
          longer[end] = cost;
          from[part][end] = begin;
        }
      }
    best = std::move(longer);
  }

  llvm::SmallVector<size_t> cuts(parts - 1);
  size_t end = units;
  for (int64_t part = parts - 1; part > 0; --part) {
    end = from[part][end];
    cuts[part - 1] = end - 1;
  }
  return cuts;
}

void hone::dist::balanceStages(llvm::MutableArrayRef<size_t> cuts,
                               llvm::ArrayRef<double> seconds, int64_t stages,
                               llvm::function_ref<int64_t(int64_t)> stageOf) {
  std::vector<double> before(seconds.size() + 1, 0.0);
  for (size_t unit = 0; unit != seconds.size(); ++unit)
    before[unit + 1] = before[unit] + seconds[unit];
  // The longest stage, and the longest part.
  auto cost = [&] {
    std::vector<double> ofStage(stages, 0.0);
    double longestPart = 0;
    for (size_t part = 0; part <= cuts.size(); ++part) {
      size_t begin = part == 0 ? 0 : cuts[part - 1] + 1;
      size_t end = part == cuts.size() ? seconds.size() : cuts[part] + 1;
      double took = before[end] - before[begin];
      ofStage[stageOf(int64_t(part))] += took;
      longestPart = std::max(longestPart, took);
    }
    return std::make_pair(*std::max_element(ofStage.begin(), ofStage.end()),
                          longestPart);
  };
  // Sums of other units round otherwise.
  auto isLess = [](std::pair<double, double> one,
                   std::pair<double, double> two) {
    double noise = 1e-9 * two.first;
    return one.first < two.first - noise ||
           (one.first <= two.first + noise && one.second < two.second - noise);
  };
  auto best = cost();
  for (bool moves = true; moves;) {
    moves = false;
    for (size_t number = 0; number != cuts.size(); ++number) {
      size_t begin = number == 0 ? 0 : cuts[number - 1] + 1;
      size_t end =
          number + 1 == cuts.size() ? seconds.size() - 1 : cuts[number + 1];
      size_t kept = cuts[number];
      for (size_t cut = begin; cut != end; ++cut) {
        cuts[number] = cut;
        if (auto found = cost(); isLess(found, best)) {
          best = found;
          kept = cut;
          moves = true;
        }
      }
      cuts[number] = kept;
    }
  }
}
