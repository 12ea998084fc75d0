//===- ApproximateMath.h - Polynomials for functions ------------*- C++ -*-===//

#ifndef HONE_LIB_TARGET_CPU_APPROXIMATEMATH_H
#define HONE_LIB_TARGET_CPU_APPROXIMATEMATH_H

#include "mlir/IR/PatternMatch.h"

namespace hone {

/// The rewrites of hone-approximate-math, all of benefit 1: what a target does
/// in a better way takes precedence with a larger one.
void populateApproximateMath(mlir::RewritePatternSet &patterns);

} // namespace hone

#endif // HONE_LIB_TARGET_CPU_APPROXIMATEMATH_H
