//===- StageSchedule.h - The schedule of a module with stages ---*- C++ -*-===//
//
// What dist-split-stages reads of `dist.schedule`, and records for each stage.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_PIPELINE_STAGESCHEDULE_H
#define HONE_ANALYSIS_PIPELINE_STAGESCHEDULE_H

#include "hone/Analysis/Pipeline/Windows.h"
#include "hone/Sharding/IR/Chunk.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone::pipeline {

/// The lists of a module with stages, with transfers: those that its
/// `dist.schedule` names or writes down. An error is reported where they are
/// not right, or not of its stages and micro-batches.
mlir::FailureOr<Schedule> readStageSchedule(mlir::ModuleOp module);

/// What the functions of one chunk depend on.
struct ChunkTurns {
  dist::Chunk chunk;
  ChunkWindows windows;
  /// The chunk is the last, and each forward action is followed by the one that
  /// computes the gradient of its input: the two are one function, which keeps
  /// nothing in between.
  bool turnsAtOnce = false;
  /// The gradients of weights are computed later than that of the input.
  bool splitsBackward = false;
  /// Chunks of the stage whose backward part, for another micro-batch, some
  /// forward action of this chunk runs together with.
  llvm::SmallVector<int64_t, 2> overlaps;
  /// Its own backward part runs together with some forward one. It then keeps
  /// what it reads of the batch: inputs in place are those of the other.
  bool isOverlapped = false;

  /// The functions that @accumulate becomes, in the order in which they run,
  /// without the chunk.
  llvm::SmallVector<llvm::StringRef, 3> functions() const;
  mlir::DictionaryAttr toAttr(mlir::MLIRContext *context) const;
};

/// Those of the chunks of one stage, ascending: `dist.turns` of its module. A
/// dictionary where stages have one chunk each, else an array of them.
struct StageTurns {
  llvm::SmallVector<ChunkTurns, 0> chunks;

  static llvm::SmallVector<StageTurns, 0> of(const Schedule &schedule);
  /// Of the chunk whose function `function` is; null if it is of none.
  const ChunkTurns *find(llvm::StringRef function) const;
  /// Of the chunk of that number; null if the stage has none.
  const ChunkTurns *find(int64_t chunk) const;

  mlir::Attribute toAttr(mlir::MLIRContext *context) const;
  /// An error is reported where the module of a stage has none.
  static mlir::FailureOr<StageTurns> read(mlir::ModuleOp stage);
};

} // namespace hone::pipeline

#endif // HONE_ANALYSIS_PIPELINE_STAGESCHEDULE_H
