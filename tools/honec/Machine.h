//===- Machine.h - How long a planned program may take ----------*- C++ -*-===//

#ifndef HONEC_MACHINE_H
#define HONEC_MACHINE_H

#include "Summary.h"
#include "hone/Target/Cpu.h"

namespace honec {

/// The assumed machine: what an estimate divides by.
struct MachineModel {
  /// A GPU, at whose rates the compiler decides: then the rest is not set.
  const hone::DeviceFigures *device = nullptr;
  int64_t cores = 1;
  double gigahertz = 0;
  int64_t flopsPerCycle = 0; ///< per core, fp32, multiply and add
  int64_t bf16Factor = 1;    ///< products of bf16, against fp32
  double efficiency = 0.8;   ///< of the peak that matrix products reach
  double bytesPerSecond = 0; ///< memory bandwidth of all cores
  /// Against the machine of TargetDescription.
  double computingSpeed = 1, movingSpeed = 1;

  double flopsPerSecond() const {
    return cores * gigahertz * 1e9 * flopsPerCycle;
  }
};

/// This machine's cores and clock, with the vector unit of `cpu`.
MachineModel modelMachine(const hone::CpuTarget &cpu);

/// The GPU that `target` describes.
MachineModel modelDevice(const hone::TargetDescription &target);

/// The rates of `machine` in a line.
std::string describeMachine(const MachineModel &machine);

/// Seconds of one launch: the longer of computing and of moving bytes, at the
/// rates by which the compiler decides, scaled to this machine.
double estimateSeconds(const Launch &launch, const MachineModel &machine);

/// Seconds of one step, all micro-batches.
double estimateStep(const Summary &summary, const MachineModel &machine);

} // namespace honec

#endif // HONEC_MACHINE_H
