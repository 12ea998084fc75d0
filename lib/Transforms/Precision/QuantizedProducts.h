//===- QuantizedProducts.h - Products that will multiply codes of fp8 -----===//

#ifndef HONE_LIB_TRANSFORMS_PRECISION_QUANTIZEDPRODUCTS_H
#define HONE_LIB_TRANSFORMS_PRECISION_QUANTIZEDPRODUCTS_H

#include "hone/IR/Hone.h"

namespace hone {

/// Fails where no product of the module's target, or of its mode, multiplies
/// codes that are scaled so.
mlir::LogicalResult checkFp8Target(mlir::ModuleOp module, Fp8Scaling scaling);

/// Which products are marked, and what is said.
struct MarkOptions {
  llvm::StringRef keep; ///< products of parameters that match are not
  bool small;           ///< those are too that a GPU gains nothing by
  bool report;          ///< a remark per product with a parameter that is not
};

/// Marks products of `forward` whose operands have their final types.
mlir::LogicalResult markProducts(mlir::func::FuncOp forward, Fp8Scaling scaling,
                                 const MarkOptions &options);

/// Checks the marks of `forward`; without `scaling` it may have none.
mlir::LogicalResult verifyMarks(mlir::func::FuncOp forward,
                                std::optional<Fp8Scaling> scaling);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_PRECISION_QUANTIZEDPRODUCTS_H
