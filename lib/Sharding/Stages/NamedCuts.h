//===- NamedCuts.h - Cuts that a user has named -----------------*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_STAGES_NAMEDCUTS_H
#define HONE_LIB_SHARDING_STAGES_NAMEDCUTS_H

#include "Sharding/Stages/CutValues.h"

namespace hone::dist {

/// For each of `names`, parameters or modules in the order of the model, the
/// cut of `found` behind which it is the first that is read: where its chunk
/// begins. An error is reported where there is none.
mlir::FailureOr<llvm::SmallVector<size_t>>
findNamedCuts(mlir::func::FuncOp func, const Origins &origins,
              const CutValues &found, llvm::ArrayRef<llvm::StringRef> names);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_STAGES_NAMEDCUTS_H
