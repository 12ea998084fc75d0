//===- StateDims.h - How optimizer state is divided -------------*- C++ -*-===//
//
// A tensor of optimizer state is divided as its parameter is. It may have fewer
// dimensions (means of rows or columns) or a scale per block of a row.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_SHARDING_PROPAGATE_STATEDIMS_H
#define HONE_LIB_SHARDING_PROPAGATE_STATEDIMS_H

#include "hone/Sharding/IR/Sharding.h"

namespace hone::dist {

/// A dimension that is divided along `axes`.
DimAttr dimOf(mlir::MLIRContext *context,
              llvm::ArrayRef<mlir::StringAttr> axes = {}, int64_t priority = 0);

/// The parameter that a tensor of state or a sum of gradients belongs to:
/// `exp_avg.wte` to `wte`.
llvm::StringRef parameterOf(llvm::StringRef name, llvm::StringRef kind);

/// Whether state of `type` has the dimensions of a parameter of `shape`: all,
/// all but one, or in place of the last one its blocks.
bool isStateOf(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> shape);

/// How state `name` is divided whose parameter, of `shape`, is divided as
/// `dims`.
llvm::SmallVector<DimAttr> dimsOfState(llvm::StringRef name,
                                       mlir::RankedTensorType type,
                                       llvm::SmallVector<DimAttr> dims,
                                       llvm::ArrayRef<int64_t> shape,
                                       const Mesh &mesh);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_PROPAGATE_STATEDIMS_H
