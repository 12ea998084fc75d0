//===- Cluster.h - The machines that a job runs on --------------*- C++ -*-===//

#ifndef HONE_ANALYSIS_COST_CLUSTER_H
#define HONE_ANALYSIS_COST_CLUSTER_H

#include "hone/Sharding/IR/Links.h"

#include "llvm/Support/Error.h"

namespace hone {

/// GPUs and their links; of one GPU where nothing else is said.
struct Cluster {
  dist::Network network;
  double peakFlops;       ///< products of 16-bit types, per second
  double efficiency;      ///< share of that which products reach
  double memoryBytes;     ///< what fits
  double memoryBandwidth; ///< bytes per second that kernels reach
  /// The share that products of experts reach; 0: as the target's kernel for
  /// them, beside other products.
  double expertEfficiency = 0;

  /// Nodes of eight A100 with 80 GB, NVLink and InfiniBand, as in PTD-P. The
  /// efficiency is fitted to its table (docs/benchmarks/cluster-model.md).
  static Cluster ofA100();
};

/// Reads a description over `cluster`, whose entries stay where it has none:
///
///   {"gpus_per_node": 8, "inside": "nvlink", "between": "net",
///    "links": {"net": {"latency": 14e-6, "bandwidth": 22e9,
///                      "between_nodes": true}},
///    "peak_flops": 312e12, "kernel_efficiency": 0.695,
///    "expert_efficiency": 0.4, "memory": 80e9, "memory_bandwidth": 1.7e12}
///
/// Seconds, bytes and bytes per second; `links` may change known kinds and add
/// others; one with the name of an axis is that axis's. `samples`, which
/// --bench-collectives fits links to, is not read. An error names the entry,
/// what it is and what was expected.
llvm::Error parseCluster(llvm::StringRef json, Cluster &cluster);

} // namespace hone

#endif // HONE_ANALYSIS_COST_CLUSTER_H
