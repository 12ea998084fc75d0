//===- DryRun.h - Does it fit, and how fast may it be -----------*- C++ -*-===//

#ifndef HONE_REPORT_DRYRUN_H
#define HONE_REPORT_DRYRUN_H

#include "hone/Report/Pipeline.h"

namespace hone::report {

/// Prints memory, FLOPs and the estimated time of a step; of `job`, null for
/// one rank, what ranks send.
void printDryRun(const Summary &summary, const MachineModel &machine,
                 const JobSummary *job);

/// Prints memory, FLOPs and messages of each stage of a pipeline, and `step`,
/// of all of them.
void printDryRun(llvm::ArrayRef<Summary> stages, const PipelineSummary &step,
                 const MachineModel &machine);

} // namespace hone::report

#endif // HONE_REPORT_DRYRUN_H
