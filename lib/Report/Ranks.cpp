//===- Ranks.cpp - What the ranks of a job do together --------------------===//

#include "hone/Report/Ranks.h"

#include "hone/Support/ByteSize.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <tuple>

using namespace hone;
using namespace hone::report;
using dist::CollectiveKind;
using dist::Group;
using dist::Mesh;
using dist::secondsOf;
using llvm::formatv;
using llvm::StringRef;

double JobSummary::exposedSeconds() const { return seconds - work; }

//===----------------------------------------------------------------------===//
// Reading the plan
//===----------------------------------------------------------------------===//

/// "fs=16 (nvlink, then net)".
static std::string describeAxis(const Mesh &mesh, unsigned axis) {
  Group group = mesh.group({axis});
  const dist::Network &network = mesh.network();
  std::string link = mesh[axis].link;
  if (link.empty() && group.perNode > 1)
    link = network.inside;
  if (mesh[axis].link.empty() && group.nodes > 1)
    link += (link.empty() ? "" : ", then ") + network.between;
  std::string text = formatv("{0}={1}", mesh[axis].name, mesh[axis].size).str();
  return link.empty() ? text : text + " (" + link + ")";
}

std::string hone::report::describeMesh(const Mesh &mesh) {
  std::string text;
  for (unsigned axis = 0; axis != mesh.numAxes(); ++axis)
    text += (axis ? ", " : "") + describeAxis(mesh, axis);
  return text;
}

std::vector<TrafficRow> hone::report::collectTraffic(const Summary &summary) {
  std::map<std::pair<std::string, std::string>, TrafficRow> rows;
  for (const Launch &launch : summary.launches) {
    int64_t times = summary.timesPerStep(launch.function);
    if (!launch.transfer || times == 0)
      continue;
    const std::string &axes = summary.channels[launch.transfer->channel];
    TrafficRow &row = rows[{launch.transfer->kind, axes}];
    row.kind = launch.transfer->kind;
    row.axes = axes;
    row.count += times;
    row.bytes += times * launch.transfer->bytes;
    row.seconds += double(times) * launch.transfer->seconds;
  }
  std::vector<TrafficRow> sorted;
  for (auto &entry : rows)
    sorted.push_back(std::move(entry.second));
  llvm::sort(sorted, [](const TrafficRow &a, const TrafficRow &b) {
    return std::tie(b.seconds, a.kind, a.axes) <
           std::tie(a.seconds, b.kind, b.axes);
  });
  return sorted;
}

//===----------------------------------------------------------------------===//
// Advice
//===----------------------------------------------------------------------===//

namespace {
/// Seconds between ranks that divide state, now and with copies per node.
struct HybridGain {
  double now = 0, then = 0;
  double bytes = 0; ///< less from each node to others
};
} // namespace

/// What a step's gathers and scatters along `axis`, which crosses nodes, would
/// cost in groups of `inner` ranks of one node, with the shards of what is
/// scattered summed between the nodes once.
static HybridGain gainOfHybrid(const Summary &summary, unsigned axis,
                               int64_t inner) {
  const Mesh &mesh = *summary.mesh;
  const dist::Network &network = mesh.network();
  int64_t ranks = mesh[axis].size;
  Group all = mesh.group({axis});
  Group node = {inner, 1, *network.find(network.inside)};
  Group copies = {1, ranks / inner, {}, all.between};
  // Of each `all.perNode` ranks one sends to another node.
  double leaving = double(inner) / double(all.perNode);
  HybridGain gain;
  for (const Launch &launch : summary.launches) {
    double times = double(summary.timesPerStep(launch.function));
    if (!launch.transfer || times == 0 ||
        launch.transfer->axes != dist::Axes{axis})
      continue;
    const LaunchTransfer &transfer = *launch.transfer;
    double sent = double(transfer.bytes);
    double whole = sent * double(ranks) / double(ranks - 1);
    gain.now += times * transfer.seconds;
    if (transfer.collective == CollectiveKind::allGather) {
      gain.then += times * secondsOf(CollectiveKind::allGather, node,
                                     whole / double(inner));
      gain.bytes += times * sent * leaving;
    } else if (transfer.collective == CollectiveKind::reduceScatter) {
      double shard = whole / double(inner);
      gain.then +=
          times * secondsOf(CollectiveKind::reduceScatter, node, whole) +
          secondsOf(CollectiveKind::allReduce, copies, shard);
      gain.bytes += times * sent * leaving -
                    double(inner) * dist::bytesSent(CollectiveKind::allReduce,
                                                    ranks / inner, shard);
    } else {
      gain.then += times * transfer.seconds;
    }
  }
  return gain;
}

/// How many ranks of `axis` one node could hold, whatever the mesh says.
static int64_t roomInNode(const Mesh &mesh, unsigned axis) {
  int64_t room = mesh.network().ranksPerNode;
  for (unsigned later = axis + 1; later != mesh.numAxes(); ++later)
    room /= mesh[later].size;
  int64_t inner = 1;
  for (int64_t parts = 2; parts < mesh[axis].size && parts <= room; ++parts)
    if (mesh[axis].size % parts == 0)
      inner = parts;
  return inner;
}

/// Names a mesh with copies per node where state on its way between nodes takes
/// a tenth of the step that copies would save.
static std::string adviseHybrid(const Summary &summary, const JobSummary &job) {
  const Mesh &mesh = *summary.mesh;
  std::optional<unsigned> axis = mesh.find("fs");
  if (!axis || mesh.find("rep") || mesh.group({*axis}).nodes == 1)
    return "";
  int64_t inner = roomInNode(mesh, *axis);
  if (inner == 1)
    return "";
  HybridGain gain = gainOfHybrid(summary, *axis, inner);
  double waited = 0;
  for (const auto &[axes, seconds] : job.exposed)
    if (axes == mesh[*axis].name)
      waited = seconds;
  double saved = std::min(gain.now - gain.then, waited);
  if (saved < 0.1 * job.seconds || gain.bytes <= 0)
    return "";
  int64_t nodes = mesh[*axis].size / inner;
  return formatv("rep={0},fs={1} in place of fs={2}: {3} less from each "
                 "node, {4:F2} ms in place of {5:F2} for state, of which a "
                 "rank then has {0} times as much",
                 nodes, inner, mesh[*axis].size,
                 formatBytes(int64_t(gain.bytes)), gain.then * 1e3,
                 gain.now * 1e3)
      .str();
}

//===----------------------------------------------------------------------===//
// The job
//===----------------------------------------------------------------------===//

JobSummary hone::report::summarizeJob(const Summary &summary,
                                      const MachineModel &machine) {
  const Mesh &mesh = *summary.mesh;
  TimelineSeconds times = estimateTimeline(summary, machine);
  JobSummary job;
  job.mesh = describeMesh(mesh);
  job.ranks = mesh.numRanks();
  job.traffic = collectTraffic(summary);
  job.work = times.work;
  for (auto [channel, seconds] : llvm::enumerate(times.exposed))
    job.exposed.push_back({summary.channels[channel], seconds});
  job.seconds = times.total();
  job.tokens = summary.tokens;
  job.utilization = findUtilization(summary, machine, job.seconds);
  job.advice = adviseHybrid(summary, job);
  job.experts = summary.experts;
  return job;
}

void hone::report::printTraffic(llvm::raw_ostream &out,
                                llvm::ArrayRef<TrafficRow> traffic) {
  out << formatv("  {0,-22}{1,-14}{2,7}{3,14}{4,12}\n", "collectives", "axes",
                 "count", "sent", "ms");
  for (const TrafficRow &row : traffic)
    out << formatv("  {0,-22}{1,-14}{2,7}{3,14}{4,12:F3}\n", row.kind, row.axes,
                   row.count, formatBytes(row.bytes), row.seconds * 1e3);
}

void hone::report::printThroughput(llvm::raw_ostream &out, int64_t tokens,
                                   double seconds, double utilization) {
  out << "throughput       ";
  if (tokens != 0)
    out << formatv("{0:F0} tokens/s, ",
                   seconds > 0 ? double(tokens) / seconds : 0);
  out << formatv("MFU {0:F1} %\n", 100 * utilization);
}

void hone::report::printJob(llvm::raw_ostream &out, const JobSummary &job) {
  out << formatv("ranks            {0}: {1}\n", job.ranks, job.mesh);
  if (!job.experts.empty())
    out << "experts          " << job.experts << '\n';
  printTraffic(out, job.traffic);
  out << formatv("exposed          {0:F3} ms of the step",
                 job.exposedSeconds() * 1e3);
  StringRef separator = ": ";
  for (const auto &[axes, seconds] : job.exposed) {
    out << separator << formatv("{0} {1:F3}", axes, seconds * 1e3);
    separator = ", ";
  }
  out << '\n';
  printThroughput(out, job.tokens, job.seconds, job.utilization);
  if (!job.advice.empty())
    out << "advice           " << job.advice << '\n';
}
