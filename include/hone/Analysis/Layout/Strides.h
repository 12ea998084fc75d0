//===- Strides.h - Dimensions that share a stride ---------------*- C++ -*-===//

#ifndef HONE_ANALYSIS_LAYOUT_STRIDES_H
#define HONE_ANALYSIS_LAYOUT_STRIDES_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace hone {

/// Several dimensions walked as one index.
struct CollapsedDims {
  int64_t size;   ///< elements along the index
  int64_t stride; ///< elements of memory between neighbours
};

/// Row-major strides of a shape, in elements.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// The index that walks `dims` (outermost first) of a tensor with the given
/// strides, if one stride does; no dimensions give {1, 0}.
std::optional<CollapsedDims> collapseDims(llvm::ArrayRef<int64_t> shape,
                                          llvm::ArrayRef<int64_t> strides,
                                          llvm::ArrayRef<int64_t> dims);

/// Whether the three kinds of dimensions of an operand of a product have one
/// stride each, and one of the matrix's two strides is 1, as libraries ask for.
bool isStridedMatrix(llvm::ArrayRef<int64_t> shape,
                     llvm::ArrayRef<int64_t> batch,
                     llvm::ArrayRef<int64_t> free,
                     llvm::ArrayRef<int64_t> contract);

/// Rows of `width` elements that lie `stride` elements apart: a part of a wider
/// buffer along its last dimension.
struct RowLayout {
  int64_t width, stride;
};

/// The layout of a part along the last dimension, or none of a whole buffer.
/// The memory plan makes no other parts.
std::optional<RowLayout> rowLayout(mlir::MemRefType type);

} // namespace hone

#endif // HONE_ANALYSIS_LAYOUT_STRIDES_H
