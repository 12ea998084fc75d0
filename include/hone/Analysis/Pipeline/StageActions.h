//===- StageActions.h - Lists of what a stage runs and sends ----*- C++ -*-===//
//
// From a schedule to the lists that the runtime goes through (honert_action in
// abi.def). A rank of a schedule is a stage here.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_PIPELINE_STAGEACTIONS_H
#define HONE_ANALYSIS_PIPELINE_STAGEACTIONS_H

#include "hone/Analysis/Pipeline/Schedule.h"
#include "hone/Sharding/IR/Chunk.h"

#include "base/Enumerations.h"
#include "llvm/Support/Error.h"

namespace hone::pipeline {

//===----------------------------------------------------------------------===//
// Schedules of stages
//===----------------------------------------------------------------------===//

/// The chunks of `stages` stages in the schedule that `text` names or, as CSV,
/// lists: what parseScheduleChoice or readCsv reads. The micro-batches are
/// those of the lists, or 1. The error says why it is not of these stages.
llvm::Expected<Shape> readStageShape(llvm::StringRef text, int stages);

/// That schedule with transfers. The error says what does not fit `stages`
/// stages with `chunksPerStage` chunks each, and `microBatches` micro-batches,
/// or that a name with "+overlap" has no two actions that run together.
llvm::Expected<Schedule> makeStageSchedule(llvm::StringRef text, int stages,
                                           int chunksPerStage,
                                           int microBatches);

/// Makes the list of the last chunk's stage one that runs the forward and the
/// backward part of a micro-batch of this chunk as one function. With
/// `receivesEarly`, what the stage receives between the two is received before
/// both. The error says where something else runs between.
llvm::Error joinParts(Schedule &schedule, bool receivesEarly);

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

/// One honert_action.
struct StageAction {
  honert::ActionKind kind;
  std::string argumentKind; ///< of a transfer
  std::string name;         ///< of its argument; of a run, the function
  int micro;
  int peer; ///< of a transfer: the other stage
  /// Of a run of a forward and a backward part: the micro-batch of the latter.
  std::optional<int> beside = std::nullopt;

  bool isRun() const { return kind == honert::ActionKind::run; }
};

/// A weight that one stage owns and another reads. Its value goes to the other
/// before the step, the other's gradients come back before the update.
struct SharedWeight {
  std::string name;
  int peer;         ///< the other stage
  std::string kind; ///< of the argument that holds the value in this stage
  std::vector<std::string> sums; ///< of gradients, one for each reading chunk
};

/// What the lists of a stage depend on besides the schedule, for a chunk of it.
struct ChunkFacts {
  bool joinsParts = false; ///< joinParts was called: @accumulate runs both
  int activationsOut = 1;  ///< instances of what it hands on
  int gradientsOut = 1;    ///< instances of what it hands back
};

struct StageFacts {
  bool evaluates = false;
  std::vector<ChunkFacts> chunks; ///< in ascending order
  std::vector<SharedWeight> lent, borrowed;
};

/// What functions and boundaries of chunk `number` are called.
dist::Chunk nameChunk(const Shape &shape, int number);

/// The function that the compute action `kind` runs, without its chunk.
llvm::StringRef functionOf(ActionKind kind, bool joinsParts);

/// The function of a stage that runs the forward part of chunk `forward` and
/// the backward part of chunk `backward` together.
std::string overlapFunction(dist::Chunk forward, dist::Chunk backward);
/// Whether overlapFunction names it.
bool isOverlapFunction(llvm::StringRef name);

/// The list "step" of `stage`: messages begin where `schedule` has them, end
/// where their buffer is needed, and all end before the update.
std::vector<StageAction> listStep(const Schedule &schedule, int stage,
                                  const StageFacts &facts);
/// The list "evaluate" of `stage`: its chunks, one after the other.
std::vector<StageAction> listEvaluation(const Shape &shape, int stage,
                                        const StageFacts &facts);

} // namespace hone::pipeline

#endif // HONE_ANALYSIS_PIPELINE_STAGEACTIONS_H
