//===- GradientSums.h - Names of sums over micro-batches --------*- C++ -*-===//
//
// An argument of kind `grad` sums the gradient of the parameter of its name. In
// a mesh-invariant module, two places that read a parameter have a sum each
// (hone-build-step); dumps add them up.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_BASE_GRADIENTSUMS_H
#define HONERT_BASE_GRADIENTSUMS_H

#include <string>
#include <string_view>

namespace honert {

constexpr std::string_view secondSumSuffix = "#2";

/// The name of the second sum of a parameter.
inline std::string secondGradientSum(std::string_view parameter) {
  return std::string(parameter).append(secondSumSuffix);
}

/// The parameter that `sum` names a gradient of.
inline std::string_view parameterOfGradientSum(std::string_view sum) {
  size_t length = secondSumSuffix.size();
  bool isSecond = sum.size() >= length &&
                  sum.substr(sum.size() - length) == secondSumSuffix;
  return isSecond ? sum.substr(0, sum.size() - length) : sum;
}

} // namespace honert

#endif // HONERT_BASE_GRADIENTSUMS_H
