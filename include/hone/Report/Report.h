//===- Report.h - What honec says about a program ---------------*- C++ -*-===//

#ifndef HONE_REPORT_REPORT_H
#define HONE_REPORT_REPORT_H

#include "hone/Report/Ranks.h"

#include "llvm/Support/Error.h"

namespace hone::report {

/// What a pass says about a choice: why the ops of a group share a kernel, what
/// a stage keeps.
struct Explanation {
  std::string phase;    ///< "fuse", "checkpoint", ...
  std::string location; ///< FILE:LINE:COL of the user, or ""
  std::string text;
};

/// What `--report` writes: a compiled program, its estimates on a machine, and
/// the reasons of the phases.
struct Report {
  const Summary &summary;
  const MachineModel &machine;
  const JobSummary *job; ///< null for one rank
  /// How the pad phase packed and padded parameters, what stages keep, why
  /// groups were formed, and which searches stopped at their bound.
  std::vector<Explanation> sizes, stages, groups, bounds;
};

/// Sorts `explanations` into a report of the rest.
Report makeReport(const Summary &summary, const MachineModel &machine,
                  const JobSummary *job,
                  llvm::ArrayRef<Explanation> explanations);

/// The module after a phase, with locations.
struct ModuleText {
  std::string phase; ///< "import", "step", "plan"
  std::string text;
};

/// Writes report.json, whose schema is docs/report.md, and index.html, one page
/// that draws it, `texts` and the lines of the user's files below
/// `sourceFolders`, into `directory`. The error names the file.
llvm::Error writeReport(llvm::StringRef directory, const Report &report,
                        llvm::ArrayRef<ModuleText> texts,
                        llvm::ArrayRef<std::string> sourceFolders);

} // namespace hone::report

#endif // HONE_REPORT_REPORT_H
