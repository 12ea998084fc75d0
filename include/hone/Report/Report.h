//===- Report.h - Pages about a compiled program --------------*- C++ -*-===//

#ifndef HONE_REPORT_REPORT_H
#define HONE_REPORT_REPORT_H

#include "hone/Report/Ranks.h"

#include "llvm/Support/Error.h"

namespace honec {

/// What a pass says about a choice: why the ops of a group share a kernel, what
/// a stage keeps.
struct Explanation {
  std::string phase;    ///< "fuse", "checkpoint", ...
  std::string location; ///< FILE:LINE:COL of the user, or ""
  std::string text;
};

/// Writes into `directory`: index.html, which lists all launches; memory.html
/// and memory.txt, what the arena holds; as lines, padding.txt, how the pad
/// phase sized parameters, bounds.txt, which searches stopped at their bound,
/// and fusion.txt, what other phases than `checkpoint` explain; of `job`, null
/// for one rank, ranks.json. The error names the file.
llvm::Error writeReport(llvm::StringRef directory, const Summary &summary,
                        const MachineModel &machine, const JobSummary *job,
                        llvm::ArrayRef<Explanation> explanations);

} // namespace honec

#endif // HONE_REPORT_REPORT_H
