//===- StageFunction.h - The functions of one stage -------------*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_STAGES_STAGEFUNCTION_H
#define HONE_LIB_SHARDING_STAGES_STAGEFUNCTION_H

#include "Sharding/Stages/CutValues.h"
#include "hone/Analysis/Pipeline/StageActions.h"
#include "hone/Sharding/IR/Sharding.h"

#include "llvm/ADT/MapVector.h"

#include <optional>

namespace hone::dist {

/// A function of one block that is cut by `dist.boundary`.
struct CutFunction {
  mlir::func::FuncOp func;
  Origins origins;
  /// Of values behind a boundary: the chunk that computes them.
  llvm::DenseMap<mlir::Value, int64_t> chunks;

  explicit CutFunction(mlir::func::FuncOp func) : func(func), origins(func) {}

  /// An op that reads values of two chunks is an error.
  static mlir::FailureOr<CutFunction> find(mlir::func::FuncOp func);

  /// The one chunk that computes `value`; nothing for arguments and what any
  /// chunk may compute.
  std::optional<int64_t> chunkOf(mlir::Value value) const;
  /// The chunk that result `index` is of.
  int64_t chunkOfResult(unsigned index) const;
};

/// Which stages have which state.
class Owners {
public:
  static mlir::FailureOr<Owners> find(const CutFunction &accumulate,
                                      const pipeline::Shape &shape);

  /// The stage that updates the parameter or buffer `name`; nothing if no
  /// chunk reads it.
  std::optional<int64_t> ownerOf(llvm::StringRef name) const;
  /// Chunks, ascending, that read parameter `name` of a chunk before, perhaps
  /// of their stage, and compute gradients of it.
  llvm::ArrayRef<int64_t> borrowersOf(llvm::StringRef name) const;
  int64_t stageOf(int64_t chunk) const { return shape.rankOf(int(chunk)); }
  Chunk nameOf(int64_t chunk) const {
    return pipeline::nameChunk(shape, int(chunk));
  }

private:
  pipeline::Shape shape;
  llvm::StringMap<int64_t> owners; // chunks
  llvm::StringMap<llvm::SmallVector<int64_t, 1>> borrowers;
};

/// How what a chunk gets from the one before is divided, by the number of the
/// chunk; nothing where there is no mesh.
using BoundaryShardings = llvm::DenseMap<int64_t, ShardingAttr>;

/// What propagation has found for the boundaries of `accumulate`. The gradient
/// that is handed back, and the same boundary of other functions, are divided
/// in the same way.
BoundaryShardings findBoundaryShardings(const CutFunction &accumulate);

/// The part of chunk `chunk` of @accumulate or @evaluate. Fails, with an error
/// at the op, if it reads a value of another chunk.
mlir::FailureOr<mlir::func::FuncOp>
slicePart(const CutFunction &part, const Owners &owners,
          const BoundaryShardings &shardings, int64_t chunk);

/// The part of stage `stage` of @update.
mlir::func::FuncOp sliceUpdate(mlir::func::FuncOp update, const Owners &owners,
                               int64_t stage);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_STAGES_STAGEFUNCTION_H
