//===- FusedProduct.h - Where kernels multiply and add at once --*- C++ -*-===//

#ifndef HONE_ANALYSIS_FUSION_FUSEDPRODUCT_H
#define HONE_ANALYSIS_FUSION_FUSEDPRODUCT_H

#include "hone/IR/Hone.h"

#include <optional>

namespace hone {

/// The sum of an addend and of a product that nothing else reads, which is one
/// fused multiply-add in every kernel of elementwise ops: so all of them make
/// the same bits. Products of narrow types are rounded to them first.
struct FusedProduct {
  MulOp product;
  mlir::Value addend;

  /// Of a sum with a product that `mayFuse`; the left one if both may.
  static std::optional<FusedProduct>
  of(mlir::Operation *op, llvm::function_ref<bool(MulOp)> mayFuse = {}) {
    return find(op, [&](MulOp product) {
      return product->hasOneUse() && (!mayFuse || mayFuse(product));
    });
  }

  /// The same in a kernel that has some of the block's ops, of which
  /// `isReadOnce` tells products that it has and reads once.
  static std::optional<FusedProduct>
  find(mlir::Operation *op, llvm::function_ref<bool(MulOp)> isReadOnce) {
    auto sum = mlir::dyn_cast<AddOp>(op);
    if (!sum || !mlir::isa<mlir::Float32Type, mlir::Float64Type>(
                    mlir::getElementTypeOrSelf(sum.getType())))
      return std::nullopt;
    for (auto [factor, addend] : {std::make_pair(sum.getLhs(), sum.getRhs()),
                                  std::make_pair(sum.getRhs(), sum.getLhs())})
      if (auto product = factor.getDefiningOp<MulOp>();
          product && isReadOnce(product))
        return FusedProduct{product, addend};
    return std::nullopt;
  }
};

} // namespace hone

#endif // HONE_ANALYSIS_FUSION_FUSEDPRODUCT_H
