//===- IntervalSet.h - Integers that a value may be -------------*- C++ -*-===//

#ifndef HONE_ANALYSIS_VALUES_INTERVALSET_H
#define HONE_ANALYSIS_VALUES_INTERVALSET_H

#include "hone/IR/Hone.h"

#include <optional>

namespace hone {

/// A set of integers that holds all that an element may be, as a few intervals:
/// ascending and disjoint. One that an operation makes is no smaller than the
/// true set; beyond `maxIntervals` the nearest ones are joined.
class IntervalSet {
public:
  struct Interval {
    int64_t low, high; ///< both are in it
  };
  static constexpr size_t maxIntervals = 4;

  IntervalSet() = default; ///< empty
  IntervalSet(int64_t low, int64_t high) { add({low, high}); }
  /// Every integer of an element type; i1 is 0 or 1.
  static IntervalSet all(mlir::Type element);

  void add(Interval interval);
  void join(const IntervalSet &other);

  bool isEmpty() const { return intervals.empty(); }
  int64_t low() const { return intervals.front().low; }
  int64_t high() const { return intervals.back().high; }
  llvm::ArrayRef<Interval> parts() const { return intervals; }

  /// Every element lies in [0, size) or is `ignored`.
  bool isWithin(int64_t size, std::optional<int64_t> ignored) const;
  /// No element does, and there is one.
  bool isOutside(int64_t size, std::optional<int64_t> ignored) const;

  /// The elements for which `element predicate other` can hold, with some
  /// `other` of a set.
  IntervalSet where(CmpPredicate predicate, const IntervalSet &other) const;

  /// f(a) of each interval, or f(a, b) of each pair; where an f is nothing, or
  /// beyond `element`, every integer of that type.
  using Unary = llvm::function_ref<std::optional<Interval>(Interval)>;
  using Binary =
      llvm::function_ref<std::optional<Interval>(Interval, Interval)>;
  IntervalSet map(mlir::Type element, Unary f) const;
  IntervalSet map(mlir::Type element, const IntervalSet &other, Binary f) const;

private:
  llvm::SmallVector<Interval, 2> intervals;
};

/// Intervals of x + y, x - y, x * y and x / y (toward zero); nothing where one
/// is beyond 64 bits.
namespace interval {
using Interval = IntervalSet::Interval;
std::optional<Interval> add(Interval x, Interval y);
std::optional<Interval> sub(Interval x, Interval y);
std::optional<Interval> mul(Interval x, Interval y);
std::optional<Interval> div(Interval x, Interval y);
std::optional<Interval> bitAnd(Interval x, Interval y);
std::optional<Interval> bitOr(Interval x, Interval y);
} // namespace interval

} // namespace hone

#endif // HONE_ANALYSIS_VALUES_INTERVALSET_H
