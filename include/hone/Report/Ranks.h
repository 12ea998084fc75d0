//===- Ranks.h - What the ranks of a job do together ------------*- C++ -*-===//

#ifndef HONE_REPORT_RANKS_H
#define HONE_REPORT_RANKS_H

#include "hone/Report/Machine.h"

#include "llvm/Support/raw_ostream.h"

namespace hone::report {

/// Collectives of one kind along the same axes, of a rank in a step.
struct TrafficRow {
  std::string kind, axes;
  int64_t count = 0, bytes = 0;
  double seconds = 0; ///< of each alone, added up
};

/// A step of all ranks.
struct JobSummary {
  std::string mesh; ///< "rep=2 (net), fs=4 (nvlink)"
  int64_t ranks = 1;
  std::vector<TrafficRow> traffic;                     ///< most seconds first
  double work = 0;                                     ///< seconds of a rank
  std::vector<std::pair<std::string, double>> exposed; ///< by axes
  double seconds = 0;                                  ///< of the step
  int64_t tokens = 0;     ///< of the step; 0: the model reads none
  double utilization = 0; ///< of the peak, by the model's FLOPs
  std::string advice;     ///< a better mesh, or ""
  std::string experts;    ///< of Summary

  double exposedSeconds() const;
};

/// What follows from the plan of one rank on `machine`; the program has a mesh.
JobSummary summarizeJob(const Summary &summary, const MachineModel &machine);

/// "rep=2 (net), fs=4 (nvlink)": the axes with their links.
std::string describeMesh(const hone::dist::Mesh &mesh);

/// What a rank sends to others of its program in a step, most seconds first.
std::vector<TrafficRow> collectTraffic(const Summary &summary);

// Lines of the dry run.
/// A row for each of `traffic`.
void printTraffic(llvm::raw_ostream &out, llvm::ArrayRef<TrafficRow> traffic);
/// The rate of a step of `seconds`; without `tokens`, its utilization alone.
void printThroughput(llvm::raw_ostream &out, int64_t tokens, double seconds,
                     double utilization);
void printJob(llvm::raw_ostream &out, const JobSummary &job);

} // namespace hone::report

#endif // HONE_REPORT_RANKS_H
