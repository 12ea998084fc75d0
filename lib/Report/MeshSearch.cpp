//===- MeshSearch.cpp - What a search for a mesh has found ----------------===//

#include "hone/Report/MeshSearch.h"

#include "hone/Support/ByteSize.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace hone;
using namespace hone::report;
using namespace hone::search;
using llvm::formatv;
using llvm::StringRef;

static std::string percent(double share) {
  return formatv("{0:F1} %", 100 * share).str();
}

/// "405.85 B", "124.4 M" or "9,000".
static std::string formatCount(double count) {
  if (count >= 1e9)
    return formatv("{0:F2} B", count * 1e-9).str();
  if (count >= 1e6)
    return formatv("{0:F1} M", count * 1e-6).str();
  return formatv("{0:F0}", count).str();
}

/// "1 mesh" or "35 meshes".
static std::string countOf(int64_t count, StringRef one, StringRef many) {
  return std::to_string(count) + " " + (count == 1 ? one : many).str();
}

/// "4.746 s" or "12.345 ms".
static std::string formatSeconds(double seconds) {
  return seconds >= 1 ? formatv("{0:F3} s", seconds).str()
                      : formatv("{0:F3} ms", seconds * 1e3).str();
}

static void printInputs(llvm::raw_ostream &out,
                        const MeshSearchReport &report) {
  const Model &model = report.model;
  const Cluster &cluster = report.cluster;
  out << formatv("model            {0}: {1} parameters, {2} units between "
                 "places to cut at\n",
                 model.name, formatCount(model.parameters()),
                 model.units.size());
  out << formatv("step             {0} sequences of {1} positions, {2:E3} "
                 "FLOPs\n",
                 model.sequences, model.positions, model.flops);
  bool hasNodes = report.ranks > cluster.network.ranksPerNode;
  out << formatv("cluster          {0}: {1}", report.clusterName,
                 countOf(report.ranks, "rank", "ranks"));
  if (hasNodes)
    out << formatv(", {0} per node", cluster.network.ranksPerNode);
  out << formatv("; {0:F1} TFLOP/s at peak, of which {1:F0} %; ",
                 cluster.peakFlops * 1e-12, 100 * cluster.efficiency);
  if (std::isinf(cluster.memoryBytes))
    out << "memory without bound\n";
  else
    out << formatv("memory {0}\n", formatBytes(int64_t(cluster.memoryBytes)));
}

using Counts = std::array<int64_t, numRefusals>;

static void printRefused(llvm::raw_ostream &out, StringRef what,
                         const Counts &counts) {
  std::string text;
  for (size_t refusal = 0; refusal != numRefusals; ++refusal)
    if (counts[refusal] != 0)
      text += formatv("{0}{1} ({2})", text.empty() ? "" : ", ", counts[refusal],
                      refusalReason(Refusal(refusal)));
  if (!text.empty())
    out << formatv("  refused {0,-6} {1}\n", what, text);
}

static void printCounts(llvm::raw_ostream &out,
                        const MeshSearchReport &report) {
  const SearchResult &result = report.result;
  out << formatv("searched         {0}, {1} in {2:F1} s; {3} replayed\n",
                 countOf(result.meshes, "mesh", "meshes"),
                 countOf(result.plans, "plan", "plans"), report.seconds,
                 countOf(result.replayed, "schedule", "schedules"));
  printRefused(out, "meshes", result.refusedMeshes);
  printRefused(out, "plans", result.refusedPlans);
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static constexpr Part allParts[] = {
    Part::Products, Part::Elements, Part::Bubble, Part::Tensor, Part::Context,
    Part::Experts,  Part::Stages,   Part::Data,   Part::Update};

/// "products 70.1 %, elements 9.3 %, ...".
static std::string describeParts(const Cost &cost) {
  std::string text;
  for (Part part : allParts)
    if (cost.seconds[part] >= 0.0005 * cost.total())
      text += formatv("{0}{1} {2}", text.empty() ? "" : ", ", partName(part),
                      percent(cost.seconds[part] / cost.total()));
  return text;
}

/// "memory 7.1 GiB: state 1.2 GiB, gradients 3 GiB, ...".
static std::string describeMemory(const RankMemory &memory) {
  return formatv("memory {0}: state {1}, gradients {2}, activations {3}, "
                 "transient {4}",
                 formatBytes(int64_t(memory.total())),
                 formatBytes(int64_t(memory.state)),
                 formatBytes(int64_t(memory.gradients)),
                 formatBytes(int64_t(memory.activations)),
                 formatBytes(int64_t(memory.transient)));
}

/// What makes `slower` slower than `faster`, in shares of the latter: all that
/// grew by a tenth of the difference.
static std::string describeLoss(const Cost &slower, const Cost &faster) {
  double lost = slower.total() - faster.total();
  std::string text = "+" + percent(lost / faster.total());
  StringRef separator = ": ";
  std::vector<std::pair<double, Part>> grown;
  for (Part part : allParts)
    if (double more = slower.seconds[part] - faster.seconds[part];
        more > 0.1 * lost && more >= 0.0005 * faster.total())
      grown.push_back({more, part});
  llvm::sort(grown, [](auto &a, auto &b) { return a.first > b.first; });
  for (auto [more, part] : grown) {
    text += formatv("{0}{1} +{2}", separator, partName(part),
                    percent(more / faster.total()));
    separator = ", ";
  }
  return text;
}

/// How keys and rows are exchanged, where they are.
static std::string describeExchanges(const RankedPlan &ranked) {
  static constexpr llvm::StringLiteral rows[] = {"ep-all-to-all", "ep-gather"};
  std::string text;
  if (ranked.plan.cp > 1)
    text += "," + keyExchangeName(ranked.cost.keys).str();
  if (ranked.plan.ep > 1)
    text += "," + rows[size_t(ranked.cost.rows)].str();
  return text;
}

static std::string orDash(const std::string &text) {
  return text.empty() ? "-" : text;
}

constexpr llvm::StringLiteral rowFormat =
    "{0,3}  {1,-25} {2,-24} {3,-14} {4,-9}{5,11}{6,10}{7,8}  {8}\n";

static void printHead(llvm::raw_ostream &out) {
  out << '\n'
      << formatv(rowFormat.data(), "", "mesh", "recipe", "schedule", "batch",
                 "step", "tokens/s", "MFU", "honec");
}

static void printPlan(llvm::raw_ostream &out, const MeshSearchReport &report,
                      StringRef name, const RankedPlan &ranked) {
  const Plan &plan = ranked.plan;
  const Model &model = report.model;
  double seconds = ranked.cost.total();
  double utilization =
      model.flops / seconds / (double(report.ranks) * report.cluster.peakFlops);
  std::string recipe = formatRecipe(plan) + describeExchanges(ranked);
  int64_t microBatches =
      model.sequences / (plan.batchRanks() * plan.microBatch);
  std::string batch =
      std::to_string(plan.microBatch) + " x " + std::to_string(microBatches);
  out << formatv(rowFormat.data(), name, formatMesh(plan),
                 orDash(StringRef(recipe).ltrim(',').str()),
                 orDash(formatSchedule(plan)), batch, formatSeconds(seconds),
                 formatv("{0:F0}", model.tokens() / seconds).str(),
                 percent(utilization),
                 report.isCompiled(plan) ? "compiles" : "not yet");
  out << formatv("     keeps {0}; {1}\n", keepName(plan.keep),
                 describeParts(ranked.cost));
  out << formatv("     {0}\n", describeMemory(ranked.cost.memory));
}

static void printCompared(llvm::raw_ostream &out,
                          const MeshSearchReport &report) {
  if (report.comparedRefusal) {
    out << formatv("compared         refused: {0}\n",
                   refusalReason(*report.comparedRefusal));
    return;
  }
  if (!report.compared)
    return;
  const RankedPlan &compared = *report.compared;
  printPlan(out, report, "=", compared);
  if (compared.cost.memory.total() > report.cluster.memoryBytes)
    out << "     does not fit\n";
  if (report.result.best.empty())
    return;
  const Cost &best = report.result.best.front().cost;
  if (best.total() <= compared.cost.total())
    out << formatv("     against 1: {0}\n", describeLoss(compared.cost, best));
  else
    out << formatv("     1 against it: {0}\n",
                   describeLoss(best, compared.cost));
}

void hone::report::printMeshSearch(llvm::raw_ostream &out,
                                   const MeshSearchReport &report) {
  printInputs(out, report);
  printCounts(out, report);
  const std::vector<RankedPlan> &best = report.result.best;
  if (!best.empty() || report.compared)
    printHead(out);
  for (size_t index = 0; index != best.size(); ++index) {
    printPlan(out, report, std::to_string(index + 1), best[index]);
    if (index != 0)
      out << formatv("     against {0}: {1}\n", index,
                     describeLoss(best[index].cost, best[index - 1].cost));
  }
  if (report.compiled) {
    printPlan(out, report, "*", *report.compiled);
    if (!best.empty())
      out << formatv("     against 1: {0}\n",
                     describeLoss(report.compiled->cost, best.front().cost));
  }
  printCompared(out, report);
}
