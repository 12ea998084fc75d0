//===- IndexedProduct.h - Contractions by indices of their sum --*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_RAISE_INDEXEDPRODUCT_H
#define HONE_LIB_TRANSFORMS_RAISE_INDEXEDPRODUCT_H

#include "hone/IR/Hone.h"

namespace hone {

/// An operand, and the index of the sum that each of its dimensions is.
struct ProductOperand {
  mlir::Value value;
  llvm::SmallVector<int64_t> indices;

  bool has(int64_t index) const { return llvm::is_contained(indices, index); }
  int64_t dimOf(int64_t index) const {
    return llvm::find(indices, index) - indices.begin();
  }
};

/// A product as sums are written in papers: out[i j] = sum over k of
/// lhs[i k] * rhs[k j]. An index of one factor alone is free; one of both is
/// summed unless the result has it.
struct IndexedProduct {
  explicit IndexedProduct(DotGeneralOp op);

  /// Reads a factor that is a transpose, by `permutation`, of `source` there;
  /// false, and nothing changes, where free indices would change their order.
  bool readSource(ProductOperand &factor, mlir::Value source,
                  llvm::ArrayRef<int64_t> permutation) const;
  /// The indices of what `build` returns, in order: those of both factors,
  /// those of the left one, those of the right one.
  llvm::SmallVector<int64_t> builtOrder() const;
  /// The product that computes this, up to the order of its result's indices.
  DotGeneralOp build(mlir::OpBuilder &b, DotGeneralOp from) const;

  ProductOperand lhs, rhs;
  llvm::SmallVector<int64_t> result;
};

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_RAISE_INDEXEDPRODUCT_H
