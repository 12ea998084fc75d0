//===- Links.h - Links between ranks, and times of collectives --*- C++ -*-===//
//
// The one list of kinds of links, and the one model of collectives: a ring or a
// tree takes steps, each of a link's latency, and sends at its bandwidth.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_SHARDING_IR_LINKS_H
#define HONE_SHARDING_IR_LINKS_H

#include "base/Collectives.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>

namespace hone::dist {

/// A kind of link.
struct Link {
  double latency = 0; ///< seconds of a step of a collective
  double bandwidth =
      0; ///< bytes per second of a rank, while all of a node send
  bool betweenNodes = false;
};

/// On modules: a network other than the target's, as a dictionary
/// `{inside = "nvlink", between = "net", ranks_per_node = 8 : i64,
///   links = {net = {bandwidth = 5.0e+9, between_nodes, latency = 2.0e-5}}}`,
/// in which every entry may be missing.
constexpr llvm::StringLiteral networkAttr = "dist.network";

/// How the nodes of a cluster and the ranks in them are linked.
struct Network {
  /// By name; one with the name of an axis is that axis's. Without a
  /// description: those of NCCL's tuner (latencies of its rings, protocol
  /// Simple; what PTD-P reached in bandwidth), and memory of a host.
  std::map<std::string, Link, std::less<>> links;
  int64_t ranksPerNode;
  std::string inside;  ///< kind between ranks of a node
  std::string between; ///< kind between nodes

  /// GPUs, eight to a node, or else processes of one host.
  static Network ofGpus();
  static Network ofHost();
  /// What `module` says, or what its target has (hone.target); wrong ones are
  /// reported.
  static mlir::FailureOr<Network> of(mlir::Operation *module);

  const Link *find(llvm::StringRef kind) const;
  /// "host, net, nvlink or pcie".
  std::string kinds() const;
  /// For `networkAttr`.
  mlir::DictionaryAttr toAttr(mlir::MLIRContext *context) const;
};

/// Reads `attribute` over `network`; `emit` reports what is wrong in it.
mlir::LogicalResult
readNetwork(mlir::Attribute attribute, Network &network,
            llvm::function_ref<mlir::InFlightDiagnostic()> emit);

/// Ranks that exchange: `perNode` on each of `nodes` nodes.
struct Group {
  int64_t perNode = 1, nodes = 1;
  Link inside = {0, std::numeric_limits<double>::infinity()};
  Link between = {0, std::numeric_limits<double>::infinity(), true};

  int64_t ranks() const { return perNode * nodes; }
};

/// What a group of ranks does together (abi.def), and what that sends.
using honert::bytesSent;
using honert::CollectiveKind;

/// Seconds until all ranks of `group` are done, each of which gives `bytes`.
///
/// A ring passes through each node once. Its steps are n - 1, of which nodes -
/// 1 between nodes; an all-reduce takes twice that, or a tree: then only the
/// logarithm of `nodes` between them, at 0.92 of the bandwidth (NCCL's tuner).
/// Links between nodes are those of all ranks of a node: a group with several
/// ranks there has several shares of them, one with a single rank one share.
double secondsOf(CollectiveKind kind, const Group &group, double bytes);

} // namespace hone::dist

#endif // HONE_SHARDING_IR_LINKS_H
