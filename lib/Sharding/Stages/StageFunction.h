//===- StageFunction.h - The functions of one stage -------------*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_STAGES_STAGEFUNCTION_H
#define HONE_LIB_SHARDING_STAGES_STAGEFUNCTION_H

#include "Sharding/Stages/CutValues.h"
#include "hone/Sharding/IR/Sharding.h"

#include "llvm/ADT/MapVector.h"

#include <optional>

namespace hone::dist {

/// A function of one block that is cut by `dist.boundary`.
struct CutFunction {
  mlir::func::FuncOp func;
  Origins origins;
  /// Of values behind a boundary: the stage that computes them.
  llvm::DenseMap<mlir::Value, int64_t> stages;

  explicit CutFunction(mlir::func::FuncOp func) : func(func), origins(func) {}

  /// An op that reads values of two stages is an error.
  static mlir::FailureOr<CutFunction> find(mlir::func::FuncOp func);

  /// The one stage that computes `value`; nothing for arguments and what any
  /// stage may compute.
  std::optional<int64_t> stageOf(mlir::Value value) const;
  /// The stage that result `index` is of.
  int64_t stageOfResult(unsigned index) const;
};

/// Which stages have which state.
class Owners {
public:
  static mlir::FailureOr<Owners> find(const CutFunction &accumulate,
                                      int64_t stages);

  /// The stage that updates the parameter or buffer `name`; nothing if no
  /// stage reads it.
  std::optional<int64_t> ownerOf(llvm::StringRef name) const;
  /// Stages, ascending, that read parameter `name` of another, and compute
  /// gradients of it.
  llvm::ArrayRef<int64_t> borrowersOf(llvm::StringRef name) const;
  int64_t stages() const { return count; }

private:
  int64_t count = 0;
  llvm::StringMap<int64_t> owners;
  llvm::StringMap<llvm::SmallVector<int64_t, 1>> borrowers;
};

/// How what a stage gets from the one before is divided, by the number of the
/// stage; nothing where there is no mesh.
using BoundaryShardings = llvm::DenseMap<int64_t, ShardingAttr>;

/// What propagation has found for the boundaries of `accumulate`. The gradient
/// that is handed back, and the same boundary of other functions, are divided
/// in the same way.
BoundaryShardings findBoundaryShardings(const CutFunction &accumulate);

/// The part of stage `stage` of @accumulate or @evaluate. Fails, with an error
/// at the op, if it reads a value of another stage.
mlir::FailureOr<mlir::func::FuncOp>
slicePart(const CutFunction &part, const Owners &owners,
          const BoundaryShardings &shardings, int64_t stage);

/// The part of stage `stage` of @update.
mlir::func::FuncOp sliceUpdate(mlir::func::FuncOp update, const Owners &owners,
                               int64_t stage);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_STAGES_STAGEFUNCTION_H
