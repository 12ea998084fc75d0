//===- QuantizedProducts.h - Products that will multiply codes of fp8 -----===//

#ifndef HONE_LIB_TRANSFORMS_PRECISION_QUANTIZEDPRODUCTS_H
#define HONE_LIB_TRANSFORMS_PRECISION_QUANTIZEDPRODUCTS_H

#include "hone/IR/Hone.h"

namespace hone {

/// Fails where no product of the module's target, or of its mode, multiplies
/// codes that are scaled so.
mlir::LogicalResult checkFp8Target(mlir::ModuleOp module, Fp8Scaling scaling);

/// Marks products of `forward` whose operands have their final types. Those of
/// parameters that match `keep` are not marked. `report`: a remark per product
/// with a parameter that is not marked.
mlir::LogicalResult markProducts(mlir::func::FuncOp forward, Fp8Scaling scaling,
                                 llvm::StringRef keep, bool report);

/// Checks the marks of `forward`; without `scaling` it may have none.
mlir::LogicalResult verifyMarks(mlir::func::FuncOp forward,
                                std::optional<Fp8Scaling> scaling);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_PRECISION_QUANTIZEDPRODUCTS_H
