//===- StageSchedule.h - The schedule of a module with stages ---*- C++ -*-===//

#ifndef HONE_ANALYSIS_PIPELINE_STAGESCHEDULE_H
#define HONE_ANALYSIS_PIPELINE_STAGESCHEDULE_H

#include "hone/Analysis/Pipeline/Windows.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone::pipeline {

/// The lists of a module that dist-split-stages has left, with transfers: those
/// that its `dist.schedule` names or writes down. An error is reported where
/// they are not right, or not of its stages and micro-batches.
mlir::FailureOr<Schedule> readStageSchedule(mlir::ModuleOp module);

/// Whether `chunk` is the last, and each forward action is followed by the one
/// that computes the gradient of its input, before any other: the two may be
/// one function then, which keeps nothing in between.
bool turnsAtOnce(const Schedule &schedule, int chunk);

} // namespace hone::pipeline

#endif // HONE_ANALYSIS_PIPELINE_STAGESCHEDULE_H
