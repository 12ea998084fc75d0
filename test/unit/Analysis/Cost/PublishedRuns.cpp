//===- PublishedRuns.cpp - Training runs that others measured -------------===//

#include "PublishedRuns.h"

#include <array>
#include <cmath>
#include <functional>

using namespace hone;
using namespace hone::test;

//===----------------------------------------------------------------------===//
// Configurations
//===----------------------------------------------------------------------===//

/// A GPT of the Megatron papers.
static DecoderShape gpt(int64_t layers, int64_t width, int64_t heads) {
  return {layers, width, heads, /*sequence=*/2048, /*vocabulary=*/51200};
}

static DecoderShape llama2(int64_t sequence) {
  DecoderShape shape = {32, 4096, 32, sequence, 32000, 11008};
  shape.isGated = true;
  shape.isTied = false;
  return shape;
}

std::vector<PublishedRun> test::pipelineRuns() {
  auto run = [](const char *name, DecoderShape decoder, int64_t tensor,
                int64_t pipeline, int64_t gpus, int64_t batch,
                double measured) -> PublishedRun {
    ParallelStep step = {batch, /*microBatch=*/1, tensor, pipeline,
                         gpus / (tensor * pipeline)};
    // The table has none: the fewest that divide a stage's layers.
    for (int64_t layers = decoder.layers / pipeline, chunks = 2;
         pipeline > 1 && step.chunks == 1; ++chunks)
      if (layers % chunks == 0)
        step.chunks = chunks;
    step.recomputed = Recomputed::Layers;
    return {name, decoder, step, measured};
  };
  return {
      run("1.7 B", gpt(24, 2304, 24), 1, 1, 32, 512, 137),
      run("3.6 B", gpt(30, 3072, 32), 2, 1, 64, 512, 138),
      run("7.5 B", gpt(36, 4096, 32), 4, 1, 128, 512, 142),
      run("18.4 B", gpt(40, 6144, 48), 8, 1, 256, 1024, 135),
      run("39.1 B", gpt(48, 8192, 64), 8, 2, 512, 1536, 138),
      run("76.1 B", gpt(60, 10240, 80), 8, 4, 1024, 1792, 140),
      run("145.6 B", gpt(80, 12288, 96), 8, 8, 1536, 2304, 148),
      run("310.1 B", gpt(96, 16384, 128), 8, 16, 1920, 2160, 155),
      run("529.6 B", gpt(105, 20480, 128), 8, 35, 2520, 2520, 163),
      run("1008.0 B", gpt(128, 25600, 160), 8, 64, 3072, 3072, 163),
  };
}

std::vector<PublishedRun> test::dividedStateRuns() {
  auto run = [](const char *name, DecoderShape decoder, int64_t gpus,
                int64_t microBatch, int64_t batch, double measured) {
    ParallelStep step = {batch, microBatch, 1, 1, gpus};
    step.recomputed = Recomputed::Layers;
    step.state = StateParts::All;
    return PublishedRun{name, decoder, step, measured};
  };
  DecoderShape gpt3 = gpt(96, 12288, 96), larger = gpt(105, 20480, 128);
  return {
      run("174.6 B, 384 GPUs", gpt3, 384, 4, 1536, 144),
      run("174.6 B, 768 GPUs", gpt3, 768, 2, 1536, 88),
      run("174.6 B, 1536 GPUs", gpt3, 1536, 1, 1536, 44),
      run("529.6 B, 640 GPUs", larger, 640, 4, 2560, 138),
      run("529.6 B, 1120 GPUs", larger, 1120, 2, 2240, 98),
      run("529.6 B, 2240 GPUs", larger, 2240, 1, 2240, 48),
  };
}

/// The four models of Korthikanti et al.
static std::vector<PublishedRun>
selectiveRuns(std::array<double, 4> seconds,
              std::function<void(ParallelStep &)> set) {
  std::vector<PublishedRun> runs = {
      {"22 B", gpt(48, 6144, 64), {4, 4, 8, 1, 1, 1}, seconds[0]},
      {"175 B", gpt(96, 12288, 96), {64, 1, 8, 8, 1, 3}, seconds[1]},
      {"530 B", gpt(105, 20480, 128), {280, 1, 8, 35, 1, 3}, seconds[2]},
      {"1 T", gpt(128, 25600, 160), {512, 1, 8, 64, 1, 1}, seconds[3]},
  };
  for (PublishedRun &run : runs)
    set(run.step);
  return runs;
}

std::vector<PublishedRun> test::sequenceRuns() {
  return selectiveRuns({1.10, 13.75, 37.83, 71.49}, [](ParallelStep &step) {
    step.dividesSequence = true;
    step.recomputed = Recomputed::Scores;
  });
}

std::vector<PublishedRun> test::recomputedRuns() {
  return selectiveRuns({1.42, 18.13, 49.05, 94.42}, [](ParallelStep &step) {
    step.recomputed = Recomputed::Layers;
  });
}

std::vector<double> test::sequenceUtilizations() {
  return {41.5, 51.4, 56.0, 56.3};
}

PublishedRun test::hybridRun() {
  ParallelStep step = {256, 2, 1, 1, 128};
  step.state = StateParts::Node;
  step.bytesPerScore = 0;
  return {"Llama-2 7B, 128 GPUs", llama2(4096), step, 4550};
}

std::vector<PublishedRun> test::slowNetworkRuns() {
  DecoderShape llama = {24, 2048, 32, 2048, 50272, 8192};
  llama.isGated = true;
  llama.isTied = false;
  auto run = [&](const char *name, int64_t nodes, StateParts state,
                 double measured) {
    ParallelStep step = {4 * nodes * 16 * 16, 16, 1, 1, 4 * nodes};
    step.recomputed = Recomputed::Layers;
    step.state = state;
    step.bytesPerScore = 0;
    return PublishedRun{name, llama, step, measured};
  };
  return {run("1 node", 1, StateParts::Node, 21.7),
          run("2 nodes, in the node", 2, StateParts::Node, 40.8),
          run("4 nodes, in the node", 4, StateParts::Node, 74.41),
          run("4 nodes, among all", 4, StateParts::All, 55.349)};
}

std::vector<PublishedRun> test::fineTuningRuns() {
  // Batches are assumptions: one sequence until layers are computed again,
  // eight from then on.
  ParallelStep all = {8, 1, 1, 1, 8};
  all.state = StateParts::All;
  // Without a kernel: product, scale, mask, softmax in f32 and back, product.
  all.bytesPerScore = 24;
  ParallelStep node = {32, 8, 1, 1, 4};
  node.state = StateParts::Node;
  node.recomputed = Recomputed::Layers;
  node.bytesPerScore = all.bytesPerScore;
  ParallelStep fused = node;
  fused.bytesPerScore = 0;
  ParallelStep hybrid = fused;
  hybrid.batch = 64;
  hybrid.data = 8;
  DecoderShape llama = llama2(1024);
  return {{"two nodes, state divided among all", llama, all, 1500},
          {"one node, layers computed again", llama, node, 8000},
          {"attention as one kernel", llama, fused, 16000},
          {"two nodes, state divided in the node", llama, hybrid, 24000}};
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

Cluster test::nodesOf(int64_t gpus, double bytesPerSecond) {
  Cluster cluster = Cluster::ofA100();
  cluster.network.ranksPerNode = gpus;
  cluster.network.links["net"].bandwidth = bytesPerSecond / double(gpus);
  return cluster;
}

/// The value in [low, high] at which `falling` becomes zero.
static double solve(double low, double high,
                    std::function<double(double)> falling) {
  for (int round = 0; round != 60; ++round) {
    double middle = std::sqrt(low * high);
    (falling(middle) > 0 ? low : high) = middle;
  }
  return high;
}

Cluster test::clusterOfDividedState() {
  PublishedRun run = dividedStateRuns()[2];
  auto withShare = [](double share) {
    Cluster cluster = Cluster::ofA100();
    for (auto &[name, link] : cluster.network.links)
      link.bandwidth *= share;
    return cluster;
  };
  return withShare(solve(0.01, 1, [&](double share) {
    double seconds =
        estimateStep(run.decoder, run.step, withShare(share)).total();
    return run.measured - countedTeraflops(run, seconds);
  }));
}

Cluster test::clusterOfSlowNetwork() {
  std::vector<PublishedRun> runs = slowNetworkRuns();
  auto samples = [](const PublishedRun &run, const Cluster &cluster) {
    return tokensPerSecond(run, cluster) / double(run.decoder.sequence);
  };
  Cluster cluster = nodesOf(4, 1e12);
  cluster.efficiency = solve(0.01, 1, [&](double efficiency) {
    cluster.efficiency = efficiency;
    return runs.front().measured - samples(runs.front(), cluster);
  });
  double &bandwidth = cluster.network.links["net"].bandwidth;
  bandwidth = solve(1e6, 1e12, [&](double rate) {
    bandwidth = rate;
    return runs.back().measured - samples(runs.back(), cluster);
  });
  return cluster;
}

//===----------------------------------------------------------------------===//
// Figures
//===----------------------------------------------------------------------===//

static double tokensOf(const PublishedRun &run) {
  return double(run.step.batch * run.decoder.sequence);
}

double test::tokensPerSecond(const PublishedRun &run, const Cluster &cluster) {
  return tokensOf(run) / estimateStep(run.decoder, run.step, cluster).total();
}

double test::countedTeraflops(const PublishedRun &run, double seconds) {
  double perToken = run.decoder.modelFlopsPerToken();
  if (run.step.recomputed == Recomputed::Layers)
    perToken += double(run.decoder.layers) * run.decoder.layerFlopsPerToken();
  return perToken * tokensOf(run) / seconds / double(run.step.ranks()) * 1e-12;
}

double test::utilization(const PublishedRun &run, double seconds,
                         const Cluster &cluster) {
  return run.decoder.modelFlopsPerToken() * tokensOf(run) / seconds /
         (double(run.step.ranks()) * cluster.peakFlops);
}

double test::pipelineError(const Cluster &cluster) {
  double sum = 0;
  std::vector<PublishedRun> runs = pipelineRuns();
  for (const PublishedRun &run : runs) {
    double seconds = estimateStep(run.decoder, run.step, cluster).total();
    sum += std::pow(countedTeraflops(run, seconds) / run.measured - 1, 2);
  }
  return std::sqrt(sum / double(runs.size()));
}
