//===- Summary.h - What a planned program costs ---------------*- C++ -*-===//

#ifndef HONEC_SUMMARY_H
#define HONEC_SUMMARY_H

#include "hone/Plan/Plan.h"
#include "hone/Target/Cpu.h"

namespace honec {

/// One launch of the plan.
struct Launch {
  std::string function;
  std::string family;
  std::string ops;      ///< "add, layer_norm"
  std::string location; ///< FILE:LINE:COL of the user, or ""
  int64_t flops = 0;
  int64_t bytes = 0; ///< each input read once, each output written once
  bool multipliesBf16 = false; ///< its products are of bf16 values
};

struct Summary {
  std::string model;
  int64_t microBatches = 1;
  int64_t arena = 0; ///< bytes of the peak
  std::vector<std::pair<std::string, int64_t>> categories;
  std::vector<Launch> launches;

  /// How often one optimizer step runs `function`.
  int64_t timesPerStep(llvm::StringRef function) const;
  int64_t launchesPerStep() const;
  int64_t flopsPerStep() const;
  int64_t bytesPerStep() const;
};

/// Why the ops of a group share a kernel or call, and what came nearest to it.
struct Explanation {
  std::string location; ///< FILE:LINE:COL of the user, or ""
  std::string text;
};

/// Reads the plan in `module`. `microBatches` as it was compiled with.
Summary summarize(hone::plan::ProgramOp program, int64_t microBatches);

/// The assumed machine: what an estimate divides by.
struct MachineModel {
  int64_t cores = 1;
  double gigahertz = 0;
  int64_t flopsPerCycle = 0; ///< per core, fp32, multiply and add
  int64_t bf16Factor = 1;    ///< products of bf16, against fp32
  double efficiency = 0.8;   ///< of the peak that matrix products reach
  double bytesPerSecond = 0; ///< memory bandwidth of all cores

  double flopsPerSecond() const {
    return cores * gigahertz * 1e9 * flopsPerCycle;
  }
};

/// This machine's cores and clock, with the vector unit of `cpu`.
MachineModel modelMachine(const hone::CpuTarget &cpu);

/// Seconds of one launch: the longer of computing and of moving bytes.
double estimateSeconds(const Launch &launch, const MachineModel &machine);

/// Prints memory, FLOPs and the estimated time of a step.
void printDryRun(const Summary &summary, const MachineModel &machine);

/// Writes DIR/index.html, and the explanations of the groups as lines to
/// DIR/fusion.txt; the error names the file.
llvm::Error writeReport(llvm::StringRef directory, const Summary &summary,
                        const MachineModel &machine,
                        llvm::ArrayRef<Explanation> groups);

} // namespace honec

#endif // HONEC_SUMMARY_H
