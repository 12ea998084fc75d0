//===- RowTail.h - What a row kernel computes after its sums ----*- C++ -*-===//
//
// A norm reduces each row, then makes its result of the row's elements, of what
// it found per row (a mean, an inverse deviation), and of weights per column.
// Another kernel that has the elements in registers can make the result, too,
// given the values per row: the tail of the norm. Likewise of a map whose
// kernel finds the largest magnitude of its result, and need not write it.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_FUSION_ROWTAIL_H
#define HONE_ANALYSIS_FUSION_ROWTAIL_H

#include "hone/IR/Hone.h"

#include <optional>

namespace hone {

/// Whether kernels compute with its elements in f32.
bool isComputedFloat(mlir::Value value);

struct RowTail {
  mlir::OpResult result; ///< of the row group or map
  /// Ops of its body that make the result, in program order: elementwise ops,
  /// broadcasts of vectors, and constants of one number.
  llvm::SmallVector<mlir::Operation *> ops;
  /// What these read, in the body: arguments and results with an element per
  /// point, values per row, arguments per column. All are floats.
  llvm::SmallVector<mlir::Value> inputs;

  /// The tail of `result`, if another kernel that reads it had better make it:
  /// it then reads fewer bytes than the result takes to write and to read, and
  /// both kernels make the bits that the row kernel made.
  static std::optional<RowTail> of(mlir::OpResult result);
};

} // namespace hone

#endif // HONE_ANALYSIS_FUSION_ROWTAIL_H
