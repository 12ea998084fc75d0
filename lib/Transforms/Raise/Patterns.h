//===- Patterns.h - Patterns that find named ops ----------------*- C++ -*-===//
//
// One function per family of patterns of hone-raise, and what the families
// share: constants, values per row, and the way back to trained parameters.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_TRANSFORMS_RAISE_PATTERNS_H
#define HONE_LIB_TRANSFORMS_RAISE_PATTERNS_H

#include "hone/IR/Hone.h"

#include "mlir/IR/PatternMatch.h"

#include <optional>

namespace hone {

void populateRaiseNormPatterns(mlir::RewritePatternSet &patterns);
void populateRaiseGeluPatterns(mlir::RewritePatternSet &patterns);
void populateRaiseRopePatterns(mlir::RewritePatternSet &patterns);
void populateRaiseAttentionPatterns(mlir::RewritePatternSet &patterns);
void populateRaiseConvolutionPatterns(mlir::RewritePatternSet &patterns);
void populateRaiseLossPatterns(mlir::RewritePatternSet &patterns);
void populateRaiseSoftmaxPatterns(mlir::RewritePatternSet &patterns);

/// The number that every element of `value` equals, seen through changes of
/// shape.
std::optional<double> constantOf(mlir::Value value);

/// True when `number` is `expected` but for the rounding of a constant written
/// with six digits.
bool isNear(double number, double expected);

/// `value` without the reshapes that made it.
mlir::Value peelReshapes(mlir::Value value);

/// If `value` repeats one number per row along its last dimension: these
/// numbers, in a tensor whose elements are the rows in order. Else null.
mlir::Value matchPerRow(mlir::Value value);

/// If `value` repeats a vector along all dimensions but the last: the vector.
mlir::Value matchPerColumn(mlir::Value value);

/// If `rows` is the mean over the last dimension of some tensor (a sum over its
/// size): that tensor. Else null.
mlir::Value matchRowMean(mlir::Value rows);

/// True when a parameter that requires a gradient influences `value` through
/// differentiable ops.
bool dependsOnTrained(mlir::Value value);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_RAISE_PATTERNS_H
