//===- RegionParts.h - Regions that are too long ----------------*- C++ -*-===//

#ifndef HONE_LIB_ANALYSIS_FUSION_REGIONPARTS_H
#define HONE_LIB_ANALYSIS_FUSION_REGIONPARTS_H

#include "mlir/IR/Operation.h"

namespace hone {

/// `ops` of one block, in its order, in parts of at most `most` ops. The
/// largest values between ops of a part stay there: kernels are chosen for each
/// part alone, so that what leaves one is stored. No part waits for itself by
/// way of others.
llvm::SmallVector<llvm::SmallVector<mlir::Operation *>>
cutRegion(llvm::ArrayRef<mlir::Operation *> ops, int64_t most);

} // namespace hone

#endif // HONE_LIB_ANALYSIS_FUSION_REGIONPARTS_H
