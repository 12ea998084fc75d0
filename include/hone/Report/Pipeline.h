//===- Pipeline.h - A step of the stages of a pipeline ----------*- C++ -*-===//

#ifndef HONE_REPORT_PIPELINE_H
#define HONE_REPORT_PIPELINE_H

#include "hone/Analysis/Pipeline/Timeline.h"
#include "hone/Report/Report.h"

namespace hone::report {

/// What a step of all stages takes, by the launches' estimated times.
struct PipelineSummary {
  pipeline::Schedule schedule; ///< as the stages run it
  pipeline::ScheduleSeconds seconds;
  pipeline::Timeline timeline; ///< up to the update
  /// By stage, of its update. All begin together: they sum norms and the loss.
  std::vector<double> updates;

  /// Seconds of the step.
  double total() const;
  /// Seconds that a rank of `stage` works in a step.
  double work(size_t stage) const;
};

/// Predicts the step of planned stages, which `programs` are and `schedule`,
/// that of their module, orders. Weights that stages share travel beside their
/// first and last runs: nobody waits for them.
PipelineSummary summarizePipeline(llvm::ArrayRef<plan::ProgramOp> programs,
                                  llvm::ArrayRef<Summary> stages,
                                  pipeline::Schedule schedule,
                                  const MachineModel &machine);

/// Lines of the dry run.
void printPipeline(llvm::raw_ostream &out, const PipelineSummary &step,
                   llvm::ArrayRef<Summary> stages, const MachineModel &machine);

/// Writes pipeline.json, whose schema is docs/report.md, and index.html, a page
/// that draws the schedule, into `directory`, and the report of each stage into
/// stage0, stage1, ... there. The error names the file.
llvm::Error writePipelineReport(llvm::StringRef directory,
                                const PipelineSummary &step,
                                llvm::ArrayRef<Summary> stages,
                                const MachineModel &machine,
                                llvm::ArrayRef<Explanation> explanations,
                                llvm::ArrayRef<ModuleText> texts,
                                llvm::ArrayRef<std::string> sourceFolders);

} // namespace hone::report

#endif // HONE_REPORT_PIPELINE_H
