//===- ClusterStepTest.cpp - Estimates against published runs -------------===//
//
// Bounds are those that the project promises (docs/benchmarks/cluster-model.md
// has the figures). One constant is fitted to the first table; what a test fits
// besides it says.
//
//===----------------------------------------------------------------------===//

#include "PublishedRuns.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <cmath>
#include <string>

using namespace hone;
using namespace hone::test;

namespace {

double secondsOf(const PublishedRun &run, const Cluster &cluster) {
  return estimateStep(run.decoder, run.step, cluster).total();
}

/// Predicted / measured - 1.
double teraflopsError(const PublishedRun &run, const Cluster &cluster) {
  return countedTeraflops(run, secondsOf(run, cluster)) / run.measured - 1;
}

//===----------------------------------------------------------------------===//
// Published runs
//===----------------------------------------------------------------------===//

TEST(ClusterStep, CountsParametersOfPublishedModels) {
  for (const PublishedRun &run : pipelineRuns())
    EXPECT_NEAR(run.decoder.parameters() * 1e-9, std::stod(run.name), 0.06)
        << run.name;
  EXPECT_NEAR(hybridRun().decoder.parameters(), 6.74e9, 0.005e9);
  EXPECT_NEAR(slowNetworkRuns()[0].decoder.parameters(), 1.82e9, 0.005e9);
}

TEST(ClusterStep, PipelinesAreWithinEightPercent) {
  EXPECT_LT(pipelineError(Cluster::ofA100()), 0.08);
  for (const PublishedRun &run : pipelineRuns())
    EXPECT_LT(std::abs(teraflopsError(run, Cluster::ofA100())), 0.08)
        << run.name;
}

TEST(ClusterStep, EfficiencyIsFitted) {
  Cluster lower = Cluster::ofA100(), higher = lower;
  lower.efficiency -= 0.01;
  higher.efficiency += 0.01;
  double error = pipelineError(Cluster::ofA100());
  EXPECT_LT(error, pipelineError(lower));
  EXPECT_LT(error, pipelineError(higher));
}

TEST(ClusterStep, UtilizationFollowsFromTime) {
  std::vector<double> published = sequenceUtilizations();
  for (auto [index, run] : llvm::enumerate(sequenceRuns()))
    EXPECT_NEAR(100 * utilization(run, run.measured, Cluster::ofA100()),
                published[index], 0.5)
        << run.name;
}

// Nothing is fitted to these. The slowest have one layer pair per stage, where
// the model's pipelines wait too long.
TEST(ClusterStep, SequenceParallelStepsArePredicted) {
  for (const std::vector<PublishedRun> &runs :
       {sequenceRuns(), recomputedRuns()})
    for (const PublishedRun &run : runs)
      EXPECT_NEAR(secondsOf(run, Cluster::ofA100()) / run.measured, 1, 0.12)
          << run.name;
}

// With the share of the links that the implementation of that time reached
// fitted to one of the rows.
TEST(ClusterStep, DividedStateIsBoundByItsGathers) {
  Cluster cluster = clusterOfDividedState();
  std::vector<PublishedRun> runs = dividedStateRuns();
  for (size_t index : {1, 2, 4, 5})
    EXPECT_LT(std::abs(teraflopsError(runs[index], cluster)), 0.1)
        << runs[index].name;
  // Twice the GPUs for the same batch: half the rate each.
  for (size_t index : {1, 4}) {
    double ratio =
        countedTeraflops(runs[index], secondsOf(runs[index], cluster)) /
        countedTeraflops(runs[index + 1], secondsOf(runs[index + 1], cluster));
    EXPECT_NEAR(ratio, runs[index].measured / runs[index + 1].measured, 0.05);
  }
  // Large micro-batches hide the gathers, in the model more than in the run.
  for (size_t index : {0, 3}) {
    EXPECT_GT(teraflopsError(runs[index], cluster), 0) << runs[index].name;
    EXPECT_LT(teraflopsError(runs[index], cluster), 0.32) << runs[index].name;
  }
}

TEST(ClusterStep, HybridShardingOnAFastNetwork) {
  PublishedRun run = hybridRun();
  Cluster cluster = nodesOf(8, 400e9 / 8);
  EXPECT_NEAR(tokensPerSecond(run, cluster) / 128 / run.measured, 1, 0.05);
  // Their count of FLOPs: 6 per parameter and 12 per score.
  double perToken = 6 * run.decoder.parameters() +
                    12. * double(run.decoder.layers * run.decoder.width *
                                 run.decoder.sequence);
  EXPECT_NEAR(run.measured * perToken / cluster.peakFlops, 0.68, 0.005);
}

// Efficiency and bandwidth are fitted to the first and the last run; those
// between are predicted.
TEST(ClusterStep, HybridShardingOnASlowNetwork) {
  Cluster cluster = clusterOfSlowNetwork();
  std::vector<PublishedRun> runs = slowNetworkRuns();
  std::vector<double> samples;
  for (const PublishedRun &run : runs)
    samples.push_back(tokensPerSecond(run, cluster) /
                      double(run.decoder.sequence));
  EXPECT_NEAR(samples[0] / runs[0].measured, 1, 1e-6);
  EXPECT_NEAR(samples[3] / runs[3].measured, 1, 1e-6);
  EXPECT_NEAR(samples[1] / runs[1].measured, 1, 0.12);
  EXPECT_NEAR(samples[2] / runs[2].measured, 1, 0.12);
  EXPECT_NEAR(samples[2] / samples[3], 1.34, 0.15);
  // Less than the 50 Gb/s that such machines are sold with.
  EXPECT_LT(cluster.network.find("net")->bandwidth * 4, 50e9 / 8);
}

// Batches are assumed: the account has none.
TEST(ClusterStep, ChainOfAFineTuning) {
  Cluster cluster = nodesOf(4, 50e9 / 8);
  std::vector<PublishedRun> runs = fineTuningRuns();
  double before = 0;
  for (const PublishedRun &run : runs) {
    double rate = tokensPerSecond(run, cluster);
    EXPECT_GT(rate, before) << run.name;
    EXPECT_GT(rate, run.measured / 1.6) << run.name;
    EXPECT_LT(rate, run.measured * 1.6) << run.name;
    before = rate;
  }
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

const DecoderShape small = {8, 1024, 16, 512, 32000};

StepSeconds smallStep(ParallelStep step) {
  return estimateStep(small, step, Cluster::ofA100());
}

TEST(ClusterStep, OneRankWaitsForNobody) {
  StepSeconds seconds = smallStep({8, 4});
  EXPECT_EQ(seconds.tensor + seconds.stages + seconds.bubble + seconds.data, 0);
  double flops = small.modelFlopsPerToken() * 8 * 512;
  EXPECT_NEAR(seconds.products, flops / (312e12 * 0.695), 1e-12);
}

TEST(ClusterStep, WhatIsComputedAgainIsPaid) {
  ParallelStep step = {8, 4};
  double nothing = smallStep(step).products;
  step.recomputed = Recomputed::Layers;
  double layers = small.layerFlopsPerToken() * 8 * 8 * 512 / (312e12 * 0.695);
  EXPECT_NEAR(smallStep(step).products, nothing + layers, 1e-12);
  step.recomputed = Recomputed::Scores;
  EXPECT_GT(smallStep(step).products, nothing);
  EXPECT_LT(smallStep(step).products, nothing + layers);
}

// The replayed schedule gives the closed form, (p - 1)/v ranks without the
// head: of 1F1B and of its interleaved form.
TEST(ClusterStep, BubbleIsThatOfTheSchedule) {
  ParallelStep step = {32, 1, 1, 4, 1};
  StepSeconds one = smallStep(step);
  step.chunks = 2;
  StepSeconds two = smallStep(step);
  // A stage without the head and what it sends in 32 micro-batches.
  ParallelStep alone = {32, 1};
  DecoderShape quarter = small;
  quarter.layers = 2;
  quarter.vocabulary = 0;
  StepSeconds work = estimateStep(quarter, alone, Cluster::ofA100());
  double stage = (work.products + work.elements + one.stages) / 32;
  EXPECT_NEAR(one.bubble, stage * 3, 1e-9);
  stage = (work.products + work.elements + two.stages) / 32;
  EXPECT_NEAR(two.bubble, stage * 3 / 2, 1e-9);
  EXPECT_NEAR(two.stages, 2 * one.stages, 1e-9);
}

TEST(ClusterStep, SequencesDividedSendAsMuch) {
  ParallelStep step = {8, 4, 8};
  StepSeconds whole = smallStep(step);
  step.dividesSequence = true;
  StepSeconds divided = smallStep(step);
  EXPECT_NEAR(divided.tensor, whole.tensor, 1e-9);
  EXPECT_LT(divided.elements, whole.elements);
}

TEST(ClusterStep, SumsOfCopiesAreExposedOnce) {
  ParallelStep step = {64, 1, 1, 1, 8};
  StepSeconds eight = smallStep(step);
  step.batch = 128;
  EXPECT_EQ(smallStep(step).data, eight.data);
  step.state = StateParts::All;
  step.batch = 64;
  // Their update is divided, too.
  EXPECT_NEAR(smallStep(step).update, eight.update / 8, 1e-12);
}

TEST(ClusterStep, DividingInTheNodeSavesTheSlowLink) {
  ParallelStep step = {64, 4, 1, 1, 16};
  Cluster slow = nodesOf(8, 50e9 / 8);
  step.state = StateParts::All;
  double all = estimateStep(small, step, slow).data;
  step.state = StateParts::Node;
  double node = estimateStep(small, step, slow).data;
  EXPECT_LT(node, all / 2);
}

} // namespace
