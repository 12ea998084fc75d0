//===- IntervalSet.cpp - Integers that a value may be ---------------------===//

#include "hone/Analysis/Values/IntervalSet.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hone;

using Interval = IntervalSet::Interval;

IntervalSet IntervalSet::all(Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  if (width == 1)
    return IntervalSet(0, 1);
  return IntervalSet(llvm::minIntN(width), llvm::maxIntN(width));
}

/// Integers between two disjoint intervals, as far as 64 bits count them.
static uint64_t gapBetween(Interval below, Interval above) {
  return uint64_t(above.low) - uint64_t(below.high);
}

void IntervalSet::add(Interval added) {
  SmallVector<Interval, 2> kept;
  for (Interval interval : intervals) {
    if (interval.high < added.low || interval.low > added.high) {
      kept.push_back(interval);
      continue;
    }
    added = {std::min(added.low, interval.low),
             std::max(added.high, interval.high)};
  }
  auto *place =
      llvm::find_if(kept, [&](Interval each) { return each.low > added.high; });
  kept.insert(place, added);
  while (kept.size() > maxIntervals) {
    size_t nearest = 0;
    for (size_t i = 0; i + 1 != kept.size(); ++i)
      if (gapBetween(kept[i], kept[i + 1]) <
          gapBetween(kept[nearest], kept[nearest + 1]))
        nearest = i;
    kept[nearest].high = kept[nearest + 1].high;
    kept.erase(kept.begin() + nearest + 1);
  }
  intervals = std::move(kept);
}

void IntervalSet::join(const IntervalSet &other) {
  for (Interval interval : other.intervals)
    add(interval);
}

bool IntervalSet::isWithin(int64_t size, std::optional<int64_t> ignored) const {
  return llvm::all_of(intervals, [&](Interval each) {
    bool isIgnored = each.low == ignored && each.high == ignored;
    return isIgnored || (each.low >= 0 && each.high < size);
  });
}

bool IntervalSet::isOutside(int64_t size,
                            std::optional<int64_t> ignored) const {
  return !isEmpty() && llvm::all_of(intervals, [&](Interval each) {
    bool mayBeIgnored =
        ignored && each.low <= *ignored && *ignored <= each.high;
    return !mayBeIgnored && (each.high < 0 || each.low >= size);
  });
}

IntervalSet IntervalSet::where(CmpPredicate predicate,
                               const IntervalSet &other) const {
  IntervalSet result;
  if (other.isEmpty())
    return result;
  constexpr int64_t least = INT64_MIN, most = INT64_MAX;
  auto keep = [&](int64_t low, int64_t high) {
    for (Interval each : intervals)
      if (std::max(each.low, low) <= std::min(each.high, high))
        result.add({std::max(each.low, low), std::min(each.high, high)});
  };
  int64_t low = other.low(), high = other.high();
  switch (predicate) {
  case CmpPredicate::eq:
    for (Interval each : other.intervals)
      keep(each.low, each.high);
    return result;
  case CmpPredicate::ne:
    if (low != high)
      return *this;
    if (low != least)
      keep(least, low - 1);
    if (high != most)
      keep(high + 1, most);
    return result;
  case CmpPredicate::lt:
    if (high != least)
      keep(least, high - 1);
    return result;
  case CmpPredicate::le:
    keep(least, high);
    return result;
  case CmpPredicate::gt:
    if (low != most)
      keep(low + 1, most);
    return result;
  case CmpPredicate::ge:
    keep(low, most);
    return result;
  }
  llvm_unreachable("unknown predicate");
}

/// Adds what an operation makes, which may not fit its type.
static void addResult(IntervalSet &set, const IntervalSet &all,
                      std::optional<Interval> made) {
  bool fits = made && made->low >= all.low() && made->high <= all.high();
  set.add(fits ? *made : Interval{all.low(), all.high()});
}

IntervalSet IntervalSet::map(Type element, Unary f) const {
  IntervalSet result, every = all(element);
  for (Interval each : intervals)
    addResult(result, every, f(each));
  return result;
}

IntervalSet IntervalSet::map(Type element, const IntervalSet &other,
                             Binary f) const {
  IntervalSet result, every = all(element);
  for (Interval x : intervals)
    for (Interval y : other.intervals)
      addResult(result, every, f(x, y));
  return result;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

std::optional<Interval> interval::add(Interval x, Interval y) {
  Interval result;
  if (llvm::AddOverflow(x.low, y.low, result.low) ||
      llvm::AddOverflow(x.high, y.high, result.high))
    return std::nullopt;
  return result;
}

std::optional<Interval> interval::sub(Interval x, Interval y) {
  Interval result;
  if (llvm::SubOverflow(x.low, y.high, result.low) ||
      llvm::SubOverflow(x.high, y.low, result.high))
    return std::nullopt;
  return result;
}

std::optional<Interval> interval::mul(Interval x, Interval y) {
  Interval result{INT64_MAX, INT64_MIN};
  for (int64_t a : {x.low, x.high})
    for (int64_t b : {y.low, y.high}) {
      int64_t product;
      if (llvm::MulOverflow(a, b, product))
        return std::nullopt;
      result = {std::min(result.low, product), std::max(result.high, product)};
    }
  return result;
}

std::optional<Interval> interval::div(Interval x, Interval y) {
  // A quotient by zero is undefined: any number.
  if ((y.low <= 0 && y.high >= 0) ||
      (x.low == INT64_MIN && y.low <= -1 && y.high >= -1))
    return std::nullopt;
  Interval result{INT64_MAX, INT64_MIN};
  for (int64_t a : {x.low, x.high})
    for (int64_t b : {y.low, y.high})
      result = {std::min(result.low, a / b), std::max(result.high, a / b)};
  return result;
}

std::optional<Interval> interval::bitAnd(Interval x, Interval y) {
  if (x.low < 0 || y.low < 0)
    return std::nullopt;
  return Interval{0, std::min(x.high, y.high)};
}

std::optional<Interval> interval::bitOr(Interval x, Interval y) {
  if (x.low < 0 || y.low < 0)
    return std::nullopt;
  auto bits = uint64_t(std::max(x.high, y.high));
  return Interval{std::max(x.low, y.low),
                  int64_t(llvm::maskTrailingOnes<uint64_t>(
                      bits == 0 ? 0 : llvm::Log2_64(bits) + 1))};
}
