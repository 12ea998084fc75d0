//===- Annotations.h - What annotations say of all arguments ----*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_PROPAGATE_ANNOTATIONS_H
#define HONE_LIB_SHARDING_PROPAGATE_ANNOTATIONS_H

#include "hone/Sharding/IR/Sharding.h"

#include "llvm/ADT/StringMap.h"

namespace hone::dist {

/// How an argument of the model is divided in all functions.
struct ArgumentShards {
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<DimAttr> dims;
  bool isRegathered; ///< `dist.regather`
};

/// What a user annotated, and what follows from it.
struct Annotations {
  llvm::StringMap<ArgumentShards> arguments;     ///< of the model, by name
  llvm::SmallVector<mlir::StringAttr> inputAxes; ///< that divide an input
};

/// Whether @forward has arguments of a kind; a working copy is one of its
/// parameters.
bool isOfModel(llvm::StringRef kind);

/// The annotations of `func`, which reads a batch: an argument without one is
/// divided as propagation divides it there. Reports what is wrong with them.
mlir::FailureOr<Annotations> readAnnotations(mlir::func::FuncOp func,
                                             const Mesh &mesh);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_PROPAGATE_ANNOTATIONS_H
