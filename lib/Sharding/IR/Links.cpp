//===- Links.cpp - Links between ranks, and times of collectives ----------===//

#include "hone/Sharding/IR/Links.h"

#include "hone/IR/Hone.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace hone;
using namespace hone::dist;

//===----------------------------------------------------------------------===//
// Networks
//===----------------------------------------------------------------------===//

// Latencies: NCCL's tuner (rings, Simple): 3.4 us over NVLink, 5.7 over PCIe,
// 14 between nodes. Bandwidths of NVLink and InfiniBand: what the rates of
// PTD-P imply for a DGX A100 (docs/benchmarks/cluster-model.md); of PCIe: 4.0
// with 16 lanes, less its overhead. A host's memory is an assumption.
static const std::map<std::string, Link, std::less<>> knownLinks = {
    {"host", {5e-6, 10e9}},
    {"net", {14e-6, 22e9, /*betweenNodes=*/true}},
    {"nvlink", {3.4e-6, 230e9}},
    {"pcie", {5.7e-6, 24e9}},
};

Network Network::ofGpus() { return {knownLinks, 8, "nvlink", "net"}; }

Network Network::ofHost() {
  return {knownLinks, std::numeric_limits<int32_t>::max(), "host", "net"};
}

FailureOr<Network> Network::of(Operation *module) {
  auto target = module->getAttrOfType<StringAttr>(attr::target);
  Network network =
      target && target.getValue().starts_with("cuda") ? ofGpus() : ofHost();
  if (Attribute said = module->getAttr(networkAttr))
    if (failed(readNetwork(said, network, [&] { return module->emitError(); })))
      return failure();
  return network;
}

const Link *Network::find(StringRef kind) const {
  auto found = links.find(kind);
  return found == links.end() ? nullptr : &found->second;
}

std::string Network::kinds() const {
  std::string text;
  size_t left = links.size();
  for (const auto &[name, link] : links)
    text += name + (--left > 1 ? ", " : left == 1 ? " or " : "");
  return text;
}

//===----------------------------------------------------------------------===//
// As an attribute
//===----------------------------------------------------------------------===//

DictionaryAttr Network::toAttr(MLIRContext *context) const {
  Builder builder(context);
  SmallVector<NamedAttribute> all;
  for (const auto &[name, link] : links) {
    SmallVector<NamedAttribute> entries = {
        builder.getNamedAttr("latency", builder.getF64FloatAttr(link.latency)),
        builder.getNamedAttr("bandwidth",
                             builder.getF64FloatAttr(link.bandwidth))};
    if (link.betweenNodes)
      entries.push_back(
          builder.getNamedAttr("between_nodes", builder.getUnitAttr()));
    all.push_back(
        builder.getNamedAttr(name, builder.getDictionaryAttr(entries)));
  }
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("links", builder.getDictionaryAttr(all)),
       builder.getNamedAttr("ranks_per_node",
                            builder.getI64IntegerAttr(ranksPerNode)),
       builder.getNamedAttr("inside", builder.getStringAttr(inside)),
       builder.getNamedAttr("between", builder.getStringAttr(between))});
}

using Emit = function_ref<InFlightDiagnostic()>;

/// One link; what it does not say stays as in `link`.
static LogicalResult readLink(StringRef name, Attribute attribute, Link &link,
                              Emit emit) {
  auto entries = dyn_cast<DictionaryAttr>(attribute);
  if (!entries)
    return emit() << networkAttr << ": link '" << name << "' is " << attribute
                  << ", expected {latency, bandwidth}";
  for (NamedAttribute entry : entries) {
    StringRef key = entry.getName();
    auto number = dyn_cast<FloatAttr>(entry.getValue());
    if (key == "between_nodes" && isa<UnitAttr>(entry.getValue()))
      link.betweenNodes = true;
    else if (key == "latency" && number && number.getValueAsDouble() >= 0)
      link.latency = number.getValueAsDouble();
    else if (key == "bandwidth" && number && number.getValueAsDouble() > 0)
      link.bandwidth = number.getValueAsDouble();
    else
      return emit() << networkAttr << ": link '" << name << "' has " << key
                    << " = " << entry.getValue()
                    << ", expected a latency >= 0, a bandwidth > 0 or "
                       "between_nodes";
  }
  if (link.bandwidth > 0)
    return success();
  return emit() << networkAttr << ": link '" << name
                << "' is new and has no bandwidth, expected one";
}

/// The kind named in `entry`, on the side that it is for.
static LogicalResult readKind(NamedAttribute entry, const Network &network,
                              bool betweenNodes, std::string &kind, Emit emit) {
  auto name = dyn_cast<StringAttr>(entry.getValue());
  const Link *link = name ? network.find(name) : nullptr;
  if (!link || link->betweenNodes != betweenNodes)
    return emit() << networkAttr << ": " << entry.getName().getValue() << " is "
                  << entry.getValue() << ", expected a link "
                  << (betweenNodes ? "between" : "inside") << " nodes";
  kind = name.str();
  return success();
}

LogicalResult dist::readNetwork(Attribute attribute, Network &network,
                                Emit emit) {
  auto entries = dyn_cast<DictionaryAttr>(attribute);
  if (!entries)
    return emit() << networkAttr << " is " << attribute
                  << ", expected a dictionary";
  // Links first: the others name them.
  if (Attribute links = entries.get("links")) {
    auto all = dyn_cast<DictionaryAttr>(links);
    if (!all)
      return emit() << networkAttr << ": links is " << links
                    << ", expected a dictionary";
    for (NamedAttribute entry : all) {
      Link &link = network.links[entry.getName().str()];
      if (failed(readLink(entry.getName(), entry.getValue(), link, emit)))
        return failure();
    }
  }
  for (NamedAttribute entry : entries) {
    StringRef key = entry.getName();
    if (key == "links")
      continue;
    if (key == "inside" || key == "between") {
      bool isBetween = key == "between";
      if (failed(readKind(entry, network, isBetween,
                          isBetween ? network.between : network.inside, emit)))
        return failure();
      continue;
    }
    auto number = dyn_cast<IntegerAttr>(entry.getValue());
    if (key != "ranks_per_node" || !number || number.getInt() < 1)
      return emit() << networkAttr << " has " << key << " = "
                    << entry.getValue()
                    << ", expected links, inside, between or a "
                       "ranks_per_node >= 1";
    network.ranksPerNode = number.getInt();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Bytes per second of one rank in a ring through `group`.
static double ringBandwidth(const Group &group) {
  if (group.nodes == 1)
    return group.inside.bandwidth;
  double between = group.between.bandwidth * double(group.perNode);
  return group.perNode == 1 ? between
                            : std::min(between, group.inside.bandwidth);
}

/// Each rank sends an equal part to each other one.
static double allToAllSeconds(const Group &group, double bytes) {
  double part = bytes / double(group.ranks());
  double here = double(group.perNode - 1), there = double(group.nodes - 1);
  return here * group.inside.latency + there * group.between.latency +
         std::max(here * part / group.inside.bandwidth,
                  there * double(group.perNode) * part /
                      group.between.bandwidth);
}

double dist::secondsOf(CollectiveKind kind, const Group &group, double bytes) {
  if (group.ranks() == 1)
    return 0;
  if (kind == CollectiveKind::allToAll)
    return allToAllSeconds(group, bytes);
  if (kind == CollectiveKind::shift) {
    const Link &slowest = group.nodes > 1 ? group.between : group.inside;
    return slowest.latency + bytes / slowest.bandwidth;
  }
  double sending = bytesSent(kind, group.ranks(), bytes) / ringBandwidth(group);
  double inside = double(group.ranks() - group.nodes) * group.inside.latency;
  double ring = inside + double(group.nodes - 1) * group.between.latency;
  if (kind != CollectiveKind::allReduce)
    return ring + sending;
  double tree = double(group.perNode - 1) * group.inside.latency +
                std::log2(double(group.nodes)) * group.between.latency;
  return std::min(2 * ring + sending, 2 * tree + sending / 0.92);
}
