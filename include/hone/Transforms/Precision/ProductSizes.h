//===- ProductSizes.h - Products as products of matrices --------*- C++ -*-===//

#ifndef HONE_TRANSFORMS_PRECISION_PRODUCTSIZES_H
#define HONE_TRANSFORMS_PRECISION_PRODUCTSIZES_H

#include "hone/IR/Hone.h"

#include <optional>

namespace hone {

/// Elements of `value` along some of its dimensions.
int64_t countAlong(mlir::Value value, llvm::ArrayRef<int64_t> dims);

/// Of a product without batch dimensions: [rows, depth] by [columns, depth].
struct ProductSizes {
  int64_t rows, columns, depth;

  /// One that codes of fp8 cannot have, if there is one (fp8Multiple).
  std::optional<int64_t> oddSize() const;
};

ProductSizes sizesOf(DotGeneralOp dot);

} // namespace hone

#endif // HONE_TRANSFORMS_PRECISION_PRODUCTSIZES_H
