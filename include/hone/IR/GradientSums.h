//===- GradientSums.h - Names of sums over micro-batches --------*- C++ -*-===//
//
// An argument of kind `grad` sums the gradient of the parameter of its name. In
// a mesh-invariant module, two places that read a parameter have a sum each
// (hone-build-step).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_IR_GRADIENTSUMS_H
#define HONE_IR_GRADIENTSUMS_H

#include "hone/IR/Hone.h"

namespace hone {

constexpr llvm::StringLiteral secondSumSuffix = "#2";

/// The name of the second sum of a parameter.
inline std::string secondGradientSum(llvm::StringRef parameter) {
  return (parameter + secondSumSuffix).str();
}

/// The parameter that `sum` names a gradient of.
inline llvm::StringRef parameterOfGradientSum(llvm::StringRef sum) {
  sum.consume_back(secondSumSuffix);
  return sum;
}

} // namespace hone

#endif // HONE_IR_GRADIENTSUMS_H
