//===- FusedProduct.h - Where kernels multiply and add at once --*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_COMMON_FUSEDPRODUCT_H
#define HONE_LIB_CODEGEN_COMMON_FUSEDPRODUCT_H

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
    auto sum = mlir::dyn_cast<AddOp>(op);
    if (!sum || !mlir::isa<mlir::Float32Type, mlir::Float64Type>(
                    mlir::getElementTypeOrSelf(sum.getType())))
      return std::nullopt;
    for (auto [factor, addend] : {std::make_pair(sum.getLhs(), sum.getRhs()),
                                  std::make_pair(sum.getRhs(), sum.getLhs())})
      if (auto product = factor.getDefiningOp<MulOp>();
          product && product->hasOneUse() && (!mayFuse || mayFuse(product)))
        return FusedProduct{product, addend};
    return std::nullopt;
  }
};

} // namespace hone

#endif // HONE_LIB_CODEGEN_COMMON_FUSEDPRODUCT_H
