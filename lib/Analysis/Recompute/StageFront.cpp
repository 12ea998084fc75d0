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

void StageFront::add(const StageChoice &choice, const ChainOption &cost,
                     int number) {
  const StageNumbers numbers(cost);
  if (beats(numbers))
    return;
  llvm::erase_if(points, [&](const Point &point) {
    return numbers.atMost(point.numbers);
  });
  points.push_back({choice, cost, numbers, number});
}

static double higherTop(const StageNumbers &numbers) {
  using N = StageNumbers;
  return std::max(numbers.values[N::ForwardTop],
                  numbers.values[N::BackwardTop]);
}

/// The points of least bytes saved, seconds and peak, of equals the fastest.
BitVector StageFront::extremes() const {
  using N = StageNumbers;
  BitVector result(points.size());
  auto keepLeast = [&](auto numberOf) {
    auto key = [&](const Point &point) {
      return std::array<double, 3>{numberOf(point.numbers),
                                   point.numbers.values[N::Seconds],
                                   point.numbers.values[N::Saved]};
    };
    auto least = std::min_element(points.begin(), points.end(),
                                  [&](const Point &left, const Point &right) {
                                    return key(left) < key(right);
                                  });
    result.set(least - points.begin());
  };
  keepLeast([](const N &numbers) { return numbers.values[N::Saved]; });
  keepLeast([](const N &numbers) { return numbers.values[N::Seconds]; });
  keepLeast(higherTop);
  return result;
}

/// Prices that a chain may put on an option: so many seconds per byte that
/// stays, and a part of that per byte of the higher peak, which a chain pays
/// once and not per stage.
SmallVector<SmallVector<double>> StageFront::prices() const {
  using N = StageNumbers;
  auto bytesOf = [](const Point &point, double peakPart) {
    return point.numbers.values[N::Saved] + peakPart * higherTop(point.numbers);
  };
  auto rangeOf = [&](auto numberOf) {
    double least = numberOf(points.front()), most = least;
    for (const Point &point : points) {
      least = std::min(least, numberOf(point));
      most = std::max(most, numberOf(point));
    }
    return std::max(most - least, 1e-300);
  };
  auto secondsOf = [](const Point &point) {
    return point.numbers.values[N::Seconds];
  };
  const double secondsRange = rangeOf(secondsOf);
  SmallVector<SmallVector<double>> scenarios;
  for (double peakPart : {0.0, 0.1, 1.0}) {
    const double bytesRange =
        rangeOf([&](const Point &point) { return bytesOf(point, peakPart); });
    for (double weight = 1.0 / 64; weight <= 64.0; weight *= 2.0) {
      SmallVector<double> &price = scenarios.emplace_back();
      for (const Point &point : points)
        price.push_back((secondsOf(point) / secondsRange +
                         weight * bytesOf(point, peakPart) / bytesRange) /
                        (1.0 + weight));
    }
  }
  return scenarios;
}

void StageFront::thin(int count) {
  const int size = points.size();
  if (size <= count)
    return;
  if (count <= 0) {
    points.clear();
    return;
  }
  const BitVector stays = extremes();
  const SmallVector<SmallVector<double>> scenarios = prices();
  BitVector kept(size, true);
  for (int left = size; left > count; --left) {
    // A point is missed where it has the best price, by what the next has more.
    SmallVector<double> loss(size, 0.0);
    for (const SmallVector<double> &price : scenarios) {
      int best = -1, next = -1;
      for (int point : kept.set_bits())
        if (best < 0 || price[point] < price[best]) {
          next = best;
          best = point;
        } else if (next < 0 || price[point] < price[next]) {
          next = point;
        }
      loss[best] += price[next] - price[best];
    }
    int dropped = -1;
    for (int point : kept.set_bits())
      if (dropped < 0 || std::pair(stays[point], loss[point]) <
                             std::pair(stays[dropped], loss[dropped]))
        dropped = point;
    kept.reset(dropped);
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
