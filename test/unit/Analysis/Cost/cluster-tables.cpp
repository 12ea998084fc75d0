//===- cluster-tables.cpp - Prints estimates beside published runs --------===//
//
//   cluster-tables      the tables of docs/benchmarks/cluster-model.md
//
// test/Analysis/Cost/cluster-tables.test compares the page with them.
//
//===----------------------------------------------------------------------===//

#include "PublishedRuns.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace hone;
using namespace hone::test;
using llvm::formatv;
using llvm::outs;

static double percentOff(double predicted, double measured) {
  return 100 * (predicted / measured - 1);
}

static StepSeconds secondsOf(const PublishedRun &run, const Cluster &cluster) {
  return estimateStep(run.decoder, run.step, cluster);
}

static std::string signedPercent(double value) {
  return formatv("{0}{1:F1} %", value < 0 ? "" : "+", value).str();
}

static void printPipelines() {
  Cluster cluster = Cluster::ofA100();
  outs() << "### Pipelines, tensor and data parallel (PTD-P, table 1)\n\n"
            "| model | tensor x pipeline x data | TFLOP/s per GPU: published | "
            "model | off | elements | tensor | stages | bubble | data |\n"
            "|---|---|---|---|---|---|---|---|---|---|\n";
  for (const PublishedRun &run : pipelineRuns()) {
    StepSeconds seconds = secondsOf(run, cluster);
    double rate = countedTeraflops(run, seconds.total());
    auto share = [&](double part) {
      return formatv("{0:F1} %", 100 * part / seconds.total()).str();
    };
    outs() << formatv(
        "| {0} | {1} x {2} x {3} | {4:F0} | {5:F1} | {6} | {7} | {8} | {9} | "
        "{10} | {11} |\n",
        run.name, run.step.tensor, run.step.pipeline, run.step.data,
        run.measured, rate, signedPercent(percentOff(rate, run.measured)),
        share(seconds.elements), share(seconds.tensor), share(seconds.stages),
        share(seconds.bubble), share(seconds.data));
  }
  outs() << formatv("\nRoot of the mean square: {0:F1} %, at an efficiency of "
                    "{1:F3}.\n\n",
                    100 * pipelineError(cluster), cluster.efficiency);
}

static void printDividedState() {
  Cluster cluster = clusterOfDividedState(), ideal = Cluster::ofA100();
  outs() << "### ZeRO-3 (PTD-P, table 2)\n\n"
            "| model | TFLOP/s per GPU: published | model | off | with all of "
            "the links |\n|---|---|---|---|---|\n";
  for (const PublishedRun &run : dividedStateRuns()) {
    double rate = countedTeraflops(run, secondsOf(run, cluster).total());
    outs() << formatv("| {0} | {1:F0} | {2:F1} | {3} | {4:F1} |\n", run.name,
                      run.measured, rate,
                      signedPercent(percentOff(rate, run.measured)),
                      countedTeraflops(run, secondsOf(run, ideal).total()));
  }
  double share = cluster.network.find("net")->bandwidth /
                 ideal.network.find("net")->bandwidth;
  outs() << formatv("\nShare of the links that the third row implies: {0:F3} "
                    "({1:F1} GB/s of a node's {2:F0}).\n\n",
                    share, 8e-9 * cluster.network.find("net")->bandwidth,
                    8e-9 * ideal.network.find("net")->bandwidth);
}

static void printSequences() {
  Cluster cluster = Cluster::ofA100();
  std::vector<PublishedRun> present = sequenceRuns(), full = recomputedRuns();
  std::vector<double> published = sequenceUtilizations();
  outs()
      << "### Sequence parallel (Korthikanti et al.)\n\n"
         "| model | MFU: published | from published seconds | seconds: "
         "published | model | off | layers computed again: published | model "
         "| off |\n|---|---|---|---|---|---|---|---|---|\n";
  for (size_t index = 0; index != present.size(); ++index) {
    const PublishedRun &run = present[index], &other = full[index];
    double seconds = secondsOf(run, cluster).total();
    double otherSeconds = secondsOf(other, cluster).total();
    outs() << formatv(
        "| {0} | {1:F1} % | {2:F1} % | {3:F2} | {4:F2} | {5} | {6:F2} | {7:F2} "
        "| {8} |\n",
        run.name, published[index],
        100 * utilization(run, run.measured, cluster), run.measured, seconds,
        signedPercent(percentOff(seconds, run.measured)), other.measured,
        otherSeconds, signedPercent(percentOff(otherSeconds, other.measured)));
  }
  outs() << '\n';
}

static void printRates(const char *title, const char *unit,
                       llvm::ArrayRef<PublishedRun> runs,
                       const Cluster &cluster, double tokens) {
  outs() << "### " << title << "\n\n| run | " << unit
         << ": published | model | off | exposed communication |\n"
            "|---|---|---|---|---|\n";
  for (const PublishedRun &run : runs) {
    StepSeconds seconds = secondsOf(run, cluster);
    double rate = tokensPerSecond(run, cluster) / tokens;
    outs() << formatv("| {0} | {1:F1} | {2:F1} | {3} | {4:F1} % |\n", run.name,
                      run.measured, rate,
                      signedPercent(percentOff(rate, run.measured)),
                      100 * seconds.data / seconds.total());
  }
  outs() << '\n';
}

int main() {
  outs() << "<!-- tables: cluster-tables -->\n\n";
  printPipelines();
  printDividedState();
  printSequences();
  printRates("Hybrid sharding, 400 Gb/s per node (fms-fsdp)",
             "tokens/s per GPU", hybridRun(), nodesOf(8, 400e9 / 8), 128);
  Cluster slow = clusterOfSlowNetwork();
  printRates("Hybrid against full sharding, nodes of four A100 (oumi#213)",
             "samples/s", slowNetworkRuns(), slow, 2048);
  outs() << formatv("Fitted: efficiency {0:F3} to the first row, {1:F1} Gb/s "
                    "per node to the last.\n\n",
                    slow.efficiency,
                    4 * 8e-9 * slow.network.find("net")->bandwidth);
  printRates("A fine-tuning of Llama-2 7B, nodes of four A100, 50 Gb/s per "
             "node",
             "tokens/s of the job", fineTuningRuns(), nodesOf(4, 50e9 / 8), 1);
  outs() << "<!-- end of tables -->\n";
  return 0;
}
