//===- StageFront.cpp - Options that nothing else beats -------------------===//

#include "StageFront.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <functional>
#include <limits>

using namespace hone;
using llvm::ArrayRef;
using llvm::BitVector;
using llvm::SmallVector;

StageNumbers::StageNumbers(const ChainOption &cost) {
  values[Saved] = cost.saved;
  values[Seconds] = cost.forward + cost.backward;
  values[ForwardTop] = cost.saved + cost.forwardPeak;
  values[BackwardTop] = cost.lastSaved + cost.backwardPeak;
  values[Input] = cost.needsInput;
  values[LastSaved] = cost.lastSaved;
  values[LastSeconds] = cost.lastForward + cost.backward;
}

bool StageNumbers::atMost(const StageNumbers &other) const {
  return std::equal(values.begin(), values.end(), other.values.begin(),
                    std::less_equal<>());
}

bool StageFront::beats(const StageNumbers &numbers) const {
  return llvm::any_of(points, [&](const Point &point) {
    return point.numbers.atMost(numbers);
  });
}

void StageFront::add(const StageChoice &choice, const ChainOption &cost) {
  const StageNumbers numbers(cost);
  if (beats(numbers))
    return;
  llvm::erase_if(points, [&](const Point &point) {
    return numbers.atMost(point.numbers);
  });
  points.push_back({choice, cost, numbers});
}

/// The points that are least in one number, of equals the fastest.
BitVector StageFront::extremes() const {
  BitVector result(points.size());
  for (int number = 0; number != StageNumbers::count; ++number) {
    auto better = [&](const Point &left, const Point &right) {
      using N = StageNumbers;
      auto key = [&](const Point &point) {
        const auto &values = point.numbers.values;
        return std::array<double, 3>{values[number], values[N::Seconds],
                                     values[N::Saved]};
      };
      return key(left) < key(right);
    };
    result.set(std::min_element(points.begin(), points.end(), better) -
               points.begin());
  }
  return result;
}

void StageFront::thin(int count) {
  const int size = points.size();
  if (size <= count)
    return;
  // What a user of one point loses by taking another, in parts of the range of
  // each number.
  std::array<double, StageNumbers::count> range = {};
  for (int number = 0; number != StageNumbers::count; ++number) {
    auto [least, most] = std::minmax_element(
        points.begin(), points.end(), [&](const Point &a, const Point &b) {
          return a.numbers.values[number] < b.numbers.values[number];
        });
    range[number] =
        most->numbers.values[number] - least->numbers.values[number];
  }
  auto loss = [&](int from, int to) {
    double sum = 0.0;
    for (int number = 0; number != StageNumbers::count; ++number)
      if (range[number] > 0.0)
        sum += std::max(0.0, points[to].numbers.values[number] -
                                 points[from].numbers.values[number]) /
               range[number];
    return sum;
  };

  const BitVector stays = extremes();
  BitVector kept(size, true);
  auto replacementOf = [&](int from) {
    int best = -1;
    double least = std::numeric_limits<double>::infinity();
    for (int to : kept.set_bits())
      if (to != from && loss(from, to) < least) {
        least = loss(from, to);
        best = to;
      }
    return std::pair(least, best);
  };
  SmallVector<std::pair<double, int>> replacement;
  for (int point = 0; point != size; ++point)
    replacement.push_back(replacementOf(point));
  for (int left = size; left > count; --left) {
    int dropped = -1;
    auto isBetterDrop = [&](int point) {
      return dropped < 0 ||
             std::pair(stays[point], replacement[point].first) <
                 std::pair(stays[dropped], replacement[dropped].first);
    };
    for (int point : kept.set_bits())
      if (isBetterDrop(point))
        dropped = point;
    kept.reset(dropped);
    for (int point : kept.set_bits())
      if (replacement[point].second == dropped)
        replacement[point] = replacementOf(point);
  }
  SmallVector<Point, 0> left;
  for (int point : kept.set_bits())
    left.push_back(std::move(points[point]));
  points = std::move(left);
}

ArrayRef<StageFront::Point> StageFront::sorted() {
  llvm::sort(points, [](const Point &left, const Point &right) {
    using N = StageNumbers;
    auto key = [](const Point &point) {
      const auto &values = point.numbers.values;
      return std::pair(-values[N::Saved], values);
    };
    return key(left) < key(right);
  });
  return points;
}
