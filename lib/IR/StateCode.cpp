//===- StateCode.cpp - Optimizer state in codes of 8 bits -----------------===//

#include "hone/IR/StateCode.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

using namespace hone;

llvm::SmallVector<int64_t>
hone::stateScaleShape(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> scales(shape);
  scales.back() = stateBlocks(shape.back());
  return scales;
}

/// The end of a decade: 10^-6, ..., 1.
static double endOf(int decade) {
  return std::pow(10.0, decade + 1 - StateCode::decades);
}

// Value k of n in a decade is its end times 0.1 + 0.9 (k + 1/2) / n.
double StateCode::slope(int decade) const {
  return endOf(decade) * 0.9 / levels(decade);
}

double StateCode::offset(int decade) const {
  return endOf(decade) * (0.1 + 0.9 * (0.5 - first(decade)) / levels(decade));
}

double StateCode::threshold(int decade) const {
  auto value = [&](int of, int code) { return slope(of) * code + offset(of); };
  double above = decade == decades ? 1.0 : value(decade, first(decade));
  double below = 0.0;
  if (decade != 0)
    below = value(decade - 1, first(decade - 1) + levels(decade - 1) - 1);
  return (above + below) / 2;
}

double StateCode::decode(int8_t code) const {
  int magnitude = isSigned ? std::abs(int(code)) : int(uint8_t(code));
  if (magnitude == 0 || magnitude == top())
    return magnitude == 0 ? 0.0 : 1.0;
  int decade = 0;
  while (decade + 1 < decades && magnitude >= first(decade + 1))
    ++decade;
  double value = slope(decade) * magnitude + offset(decade);
  return isSigned && code < 0 ? -value : value;
}

int8_t StateCode::encode(double value) const {
  double magnitude = std::abs(value);
  int decade = -1;
  while (decade < decades && magnitude >= threshold(decade + 1))
    ++decade;
  if (decade == decades && value > 0)
    return int8_t(top());
  int code = 0;
  if (decade >= 0) {
    decade = std::min(decade, decades - 1);
    int last = first(decade) + levels(decade) - 1;
    // The nearest of evenly spaced values.
    double place = (magnitude - offset(decade)) / slope(decade);
    code = std::clamp(int(std::floor(place + 0.5)), first(decade), last);
  }
  if (!isSigned)
    return int8_t(value > 0 ? std::max(code, 1) : 0);
  return int8_t(value < 0 ? -code : code);
}
