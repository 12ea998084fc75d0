//===- Machine.h - How long a planned program may take ----------*- C++ -*-===//

#ifndef HONE_REPORT_MACHINE_H
#define HONE_REPORT_MACHINE_H

#include "hone/Analysis/Cost/Cluster.h"
#include "hone/Analysis/Cost/ClusterTimeline.h"
#include "hone/Report/Summary.h"
#include "hone/Target/CPU/MachineCode.h"

namespace hone::report {

/// The assumed machine: what an estimate divides by.
struct MachineModel {
  /// A GPU, at whose rates the compiler decides: then the rest is not set.
  std::optional<hone::DeviceFigures> device;
  int64_t cores = 1;
  double gigahertz = 0;
  int64_t flopsPerCycle = 0; ///< per core, fp32, multiply and add
  int64_t bf16Factor = 1;    ///< products of bf16, against fp32
  double efficiency = 0.8;   ///< of the peak that matrix products reach
  double bytesPerSecond = 0; ///< memory bandwidth of all cores
  /// Against the machine of TargetDescription.
  double computingSpeed = 1, movingSpeed = 1;
  std::string description; ///< of the cluster that is assumed instead, or ""
  double clusterPeak = 0;  ///< its FLOP per second; 0: that of the machine
  double memoryBytes = 0;  ///< of a rank; 0: unknown
  double besideArena = 0;  ///< of it, what drivers and libraries take

  /// What the arena of a rank may have, if that is known.
  std::optional<int64_t> arenaRoom() const;

  double flopsPerSecond() const {
    return cores * gigahertz * 1e9 * flopsPerCycle;
  }
  /// What utilization is a share of: products of 16-bit types of a GPU, of fp32
  /// of a CPU.
  double peakFlops() const;
};

/// This machine's cores and clock, with the vector unit of `cpu`.
MachineModel modelMachine(const hone::CpuTarget &cpu);

/// The GPU that `target` describes.
MachineModel modelDevice(const hone::TargetDescription &target);

/// `machine` as a cluster without a description; its memory is unknown: 0.
hone::Cluster clusterOf(const MachineModel &machine);

/// Makes `machine` one of `cluster`, which `file` describes.
void useCluster(MachineModel &machine, const hone::Cluster &cluster,
                llvm::StringRef file);

/// The rates of `machine` in a line.
std::string describeMachine(const MachineModel &machine);

/// Seconds of one launch: the longer of computing and of moving bytes, at the
/// rates by which the compiler decides, scaled to this machine; between ranks,
/// that of the collective alone.
double estimateSeconds(const Launch &launch, const MachineModel &machine);

/// Seconds of one run of `function`, with the collectives that it waits for.
double estimateFunction(llvm::StringRef function, const Summary &summary,
                        const MachineModel &machine);

/// Work and exposed collectives of one step, all micro-batches, by the channels
/// of `summary`.
hone::TimelineSeconds estimateTimeline(const Summary &summary,
                                       const MachineModel &machine);

/// When each launch begins and ends in one run of its function; of a
/// collective, on its links.
std::vector<std::pair<double, double>>
estimateSpans(const Summary &summary, const MachineModel &machine);

/// Model FLOPs utilization: the share of the peak of all ranks that a step of
/// `seconds` reaches; 0 without seconds.
double findUtilization(const Summary &summary, const MachineModel &machine,
                       double seconds);

/// Seconds of one step, all micro-batches.
double estimateStep(const Summary &summary, const MachineModel &machine);

} // namespace hone::report

#endif // HONE_REPORT_MACHINE_H
