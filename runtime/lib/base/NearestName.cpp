//===- NearestName.cpp - What a misspelt name was meant to be -------------===//

#include "base/NearestName.h"

#include <algorithm>
#include <numeric>
#include <utility>

using namespace honert;

/// Letters to insert, remove, replace or swap with the next to make `to` of
/// `from` (optimal string alignment).
static size_t editDistance(std::string_view from, std::string_view to) {
  std::vector<size_t> beforeLast, last(to.size() + 1), row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); ++i) {
    beforeLast = std::exchange(last, row);
    row[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      row[j + 1] =
          std::min({last[j] + (from[i] != to[j]), row[j] + 1, last[j + 1] + 1});
      if (i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j])
        row[j + 1] = std::min(row[j + 1], beforeLast[j - 1] + 1);
    }
  }
  return row.back();
}

std::string_view
honert::nearestName(std::string_view name,
                    const std::vector<std::string_view> &names) {
  constexpr size_t longest = 256; // Names are shorter; a long word is none.
  if (name.size() > longest)
    return "";
  // Dashes are not letters: "-x" resembles no other short flag.
  size_t letters = name.size() - static_cast<size_t>(
                                     std::count(name.begin(), name.end(), '-'));
  size_t best = letters < 4 ? 1 : letters / 3 + 1;
  std::string_view nearest;
  for (std::string_view known : names)
    if (size_t distance = editDistance(name, known); distance < best) {
      best = distance;
      nearest = known;
    }
  if (!nearest.empty() || letters < 3)
    return nearest;
  // The beginning of a longer name.
  for (std::string_view known : names)
    if (known.substr(0, name.size()) == name)
      return known;
  return "";
}
