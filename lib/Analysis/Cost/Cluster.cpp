//===- Cluster.cpp - The machines that a job runs on ----------------------===//

#include "hone/Analysis/Cost/Cluster.h"
#include "hone/Analysis/Cost/TargetDescription.h"
#include "hone/Support/Json.h"

#include "base/DataSheet.h"

#include "llvm/Support/FormatVariadic.h"

using namespace hone;
using llvm::Error;
using llvm::StringRef;
namespace json = llvm::json;

// Peak and memory: NVIDIA's data sheet, 1.7 of its 2.039 TB/s as in
// TargetDescription.
Cluster Cluster::ofA100() {
  constexpr honert::DataSheet sheet = *honert::findDataSheet("A100-SXM4-80GB");
  return {dist::Network::ofGpus(), sheet.narrow, 0.695,
          sheet.gib * (1 << 30) - assumedLibraryBytes, 1.7e12};
}

static Error wrong(const llvm::Twine &name, const json::Value &seen,
                   StringRef expected) {
  return llvm::createStringError(
      llvm::inconvertibleErrorCode(),
      llvm::formatv("{0} is {1}, expected {2}", name.str(), seen, expected)
          .str());
}

static Error readNumber(const llvm::Twine &name, const json::Value &value,
                        double low, bool mayBeLow, double &result,
                        StringRef expected) {
  std::optional<double> number = value.getAsNumber();
  if (!number || !(mayBeLow ? *number >= low : *number > low))
    return wrong(name, value, expected);
  result = *number;
  return Error::success();
}

static Error readPositive(const llvm::Twine &name, const json::Value &value,
                          double &result) {
  return readNumber(name, value, 0, /*mayBeLow=*/false, result, "a number > 0");
}

static Error readShare(StringRef key, const json::Value &value,
                       double &result) {
  if (Error error = readPositive(key, value, result))
    return error;
  return result <= 1 ? Error::success() : wrong(key, value, "a number <= 1");
}

static Error readLink(const std::string &name, const json::Value &value,
                      dist::Link &link) {
  std::string where = "link '" + name + "'";
  const json::Object *entries = value.getAsObject();
  if (!entries)
    return wrong(where, value, "an object with latency and bandwidth");
  for (const auto &[key, entry] : *entries) {
    std::string what = key.str() + " of " + where;
    Error error = Error::success();
    if (key == "latency") {
      error = readNumber(what, entry, 0, /*mayBeLow=*/true, link.latency,
                         "a number >= 0");
    } else if (key == "bandwidth") {
      error = readPositive(what, entry, link.bandwidth);
    } else if (key == "between_nodes" && entry.getAsBoolean()) {
      link.betweenNodes = *entry.getAsBoolean();
    } else {
      error = wrong(what, entry,
                    "no other entries than latency, bandwidth and "
                    "between_nodes, true or false");
    }
    if (error)
      return error;
  }
  return link.bandwidth > 0
             ? Error::success()
             : wrong(where, value, "a bandwidth with a new link");
}

static Error readLinks(const json::Value &value, dist::Network &network) {
  const json::Object *links = value.getAsObject();
  if (!links)
    return wrong("links", value, "an object with a link of each name");
  for (const auto &[name, entry] : *links)
    if (Error error = readLink(name.str(), entry, network.links[name.str()]))
      return error;
  return Error::success();
}

/// A kind of link for one of the two sides.
static Error readKind(StringRef key, const json::Value &value,
                      const dist::Network &network, bool betweenNodes,
                      std::string &kind) {
  std::optional<StringRef> name = value.getAsString();
  const dist::Link *link = name ? network.find(*name) : nullptr;
  if (!link || link->betweenNodes != betweenNodes)
    return wrong(key, value,
                 betweenNodes ? "a link between nodes" : "a link inside nodes");
  kind = name->str();
  return Error::success();
}

static Error readEntry(StringRef key, const json::Value &value,
                       Cluster &cluster) {
  dist::Network &network = cluster.network;
  if (key == "inside")
    return readKind(key, value, network, false, network.inside);
  if (key == "between")
    return readKind(key, value, network, true, network.between);
  if (key == "peak_flops")
    return readPositive(key, value, cluster.peakFlops);
  if (key == "memory")
    return readPositive(key, value, cluster.memoryBytes);
  if (key == "memory_bandwidth")
    return readPositive(key, value, cluster.memoryBandwidth);
  if (key == "kernel_efficiency")
    return readShare(key, value, cluster.efficiency);
  if (key == "expert_efficiency")
    return readShare(key, value, cluster.expertEfficiency);
  if (key == "gpus_per_node") {
    std::optional<int64_t> count = value.getAsInteger();
    if (!count || *count < 1)
      return wrong(key, value, "an integer >= 1");
    network.ranksPerNode = *count;
    return Error::success();
  }
  return wrong("'" + key + "'", value,
               "gpus_per_node, inside, between, links, peak_flops, "
               "kernel_efficiency, expert_efficiency, memory or "
               "memory_bandwidth");
}

Error hone::parseCluster(StringRef text, Cluster &cluster) {
  llvm::Expected<json::Value> parsed = parseJson(text);
  if (!parsed)
    return parsed.takeError();
  const json::Object *entries = parsed->getAsObject();
  if (!entries)
    return wrong("the description", *parsed, "an object");
  // Links first: others name them.
  if (const json::Value *links = entries->get("links"))
    if (Error error = readLinks(*links, cluster.network))
      return error;
  for (const auto &[key, value] : *entries)
    if (key != "links" && key != "samples")
      if (Error error = readEntry(key, value, cluster))
        return error;
  return Error::success();
}
