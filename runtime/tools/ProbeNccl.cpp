//===- ProbeNccl.cpp - hone-probe-nccl ------------------------------------===//
//
// Tries NCCL on this machine's first GPU, as its only rank: what gpu-check runs
// beside the programs. Prints a line for each thing that works; exit code 1 and
// a line on stderr for the first that does not.
//
//===----------------------------------------------------------------------===//

#include "exec/cuda/collectives/Probe.h"

#include <cstdio>

int main() {
  std::string report;
  honert::Status status = honert::probeNccl(report);
  std::fputs(report.c_str(), stdout);
  if (!status.ok())
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return status.exitCode();
}
