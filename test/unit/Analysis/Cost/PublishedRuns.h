//===- PublishedRuns.h - Training runs that others measured -----*- C++ -*-===//
//
// Configurations and results as published; sources are in
// docs/benchmarks/cluster-model.md.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TEST_PUBLISHEDRUNS_H
#define HONE_TEST_PUBLISHEDRUNS_H

#include "ClusterStep.h"

#include <vector>

namespace hone::test {

struct PublishedRun {
  const char *name;
  DecoderShape decoder;
  ParallelStep step;
  double measured; ///< in the unit of its table
};

/// PTD-P, table 1: TFLOP/s per GPU, by `countedTeraflops`.
std::vector<PublishedRun> pipelineRuns();
/// PTD-P, table 2: the same with ZeRO-3 of its time.
std::vector<PublishedRun> dividedStateRuns();
/// Korthikanti et al.: seconds per step with sequence parallelism and scores
/// computed again, or with whole layers computed again and neither.
std::vector<PublishedRun> sequenceRuns();
std::vector<PublishedRun> recomputedRuns();
/// Their MFU in percent, in the order of `sequenceRuns`.
std::vector<double> sequenceUtilizations();
/// Llama-2 7B of fms-fsdp on 128 A100: tokens per second and GPU.
PublishedRun hybridRun();
/// oumi#213, nodes of four A100: samples per second on 1, 2 and 4 nodes, state
/// divided in the node, and on 4 divided among all.
std::vector<PublishedRun> slowNetworkRuns();
/// A fine-tuning of Llama-2 7B on nodes of four A100, told as a chain of four
/// changes: tokens per second of the job.
std::vector<PublishedRun> fineTuningRuns();

/// Nodes of `gpus` A100 that share `bytesPerSecond` to the others.
Cluster nodesOf(int64_t gpus, double bytesPerSecond);
/// The cluster of `dividedStateRuns`: one share of all links' bandwidths, such
/// that the 174.6 B run on 1536 GPUs takes what it took.
Cluster clusterOfDividedState();
/// Of `slowNetworkRuns`: efficiency from the run on one node, bandwidth between
/// nodes from the run with state divided among all.
Cluster clusterOfSlowNetwork();

double tokensPerSecond(const PublishedRun &run, const Cluster &cluster);
/// Per GPU, for a step of `seconds`. What is computed again in layers counts.
double countedTeraflops(const PublishedRun &run, double seconds);
/// Share of the peak that `seconds` are, what is computed again not counted.
double utilization(const PublishedRun &run, double seconds,
                   const Cluster &cluster);
/// Root of the mean square of predicted / measured - 1 over `pipelineRuns`.
double pipelineError(const Cluster &cluster);

} // namespace hone::test

#endif // HONE_TEST_PUBLISHEDRUNS_H
