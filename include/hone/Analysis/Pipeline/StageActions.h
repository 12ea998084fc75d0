//===- StageActions.h - Lists of what a stage runs and sends ----*- C++ -*-===//
//
// From a schedule to the lists that the runtime goes through (honert_action in
// abi.def). A rank of a schedule is a stage here and holds one chunk.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_PIPELINE_STAGEACTIONS_H
#define HONE_ANALYSIS_PIPELINE_STAGEACTIONS_H

#include "hone/Analysis/Pipeline/Schedule.h"

#include "base/Enumerations.h"
#include "llvm/Support/Error.h"

namespace hone::pipeline {

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// The gradients of `weight` that stage `stage`, which does not own the weight,
/// adds up in a step.
std::string gradientSumName(int stage, llvm::StringRef weight);

//===----------------------------------------------------------------------===//
// Schedules of stages
//===----------------------------------------------------------------------===//

/// The schedule with transfers that `text` names or, as CSV, lists: what
/// parseScheduleChoice or readCsv reads. The error says what does not fit
/// `stages` stages of one chunk and `microBatches` micro-batches.
llvm::Expected<Schedule> makeStageSchedule(llvm::StringRef text, int stages,
                                           int microBatches);

/// Makes the list of `stage` one of a stage that runs the forward and the
/// backward part of a micro-batch as one function. With `receivesEarly`, what
/// it receives between the two is received before both. The error says where
/// something else runs between.
llvm::Error joinParts(Schedule &schedule, int stage, bool receivesEarly);

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

  bool isRun() const { return kind == honert::ActionKind::run; }
};

/// A weight that one stage owns and another reads. Its value goes to the other
/// before the step, the other's gradients come back before the update.
struct SharedWeight {
  std::string name;
  int peer;         ///< the other stage
  std::string kind; ///< of the argument that holds the value in this stage
};

/// What the lists of a stage depend on besides the schedule.
struct StageFacts {
  bool joinsParts = false; ///< joinParts was called: @accumulate runs both
  bool evaluates = false;
  int activationsOut = 1; ///< instances of what it hands on
  int gradientsOut = 1;   ///< instances of what it hands back
  std::vector<SharedWeight> lent, borrowed;
};

/// The function that the compute action `kind` runs.
llvm::StringRef functionOf(ActionKind kind, bool joinsParts);

/// The list "step" of `stage`: messages begin where `schedule` has them, end
/// where their buffer is needed, and all end before the update.
std::vector<StageAction> listStep(const Schedule &schedule, int stage,
                                  const StageFacts &facts);
/// The list "evaluate" of stage `stage` of `stages`.
std::vector<StageAction> listEvaluation(int stage, int stages,
                                        const StageFacts &facts);

} // namespace hone::pipeline

#endif // HONE_ANALYSIS_PIPELINE_STAGEACTIONS_H
