//===- LinksTest.cpp - What connects ranks, and how long collectives take -===//

#include "hone/Sharding/IR/Sharding.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace hone::dist;

namespace {

const Link nvlink = {3.4e-6, 230e9}, net = {14e-6, 22e9, true};
constexpr double bytes = 64e6;

Group group(int64_t perNode, int64_t nodes) {
  return {perNode, nodes, nvlink, net};
}

TEST(Links, RingsSendTheirShareAtEachStep) {
  EXPECT_DOUBLE_EQ(bytesSent(CollectiveKind::allReduce, 8, bytes),
                   2 * bytes * 7 / 8);
  EXPECT_DOUBLE_EQ(bytesSent(CollectiveKind::reduceScatter, 8, bytes),
                   bytes * 7 / 8);
  EXPECT_DOUBLE_EQ(bytesSent(CollectiveKind::allGather, 8, bytes), bytes * 7);
  EXPECT_DOUBLE_EQ(secondsOf(CollectiveKind::allReduce, group(8, 1), bytes),
                   14 * 3.4e-6 + 2 * bytes * 7 / 8 / 230e9);
  EXPECT_DOUBLE_EQ(secondsOf(CollectiveKind::allGather, group(1, 4), bytes),
                   3 * 14e-6 + 3 * bytes / 22e9);
}

TEST(Links, AllReduceIsAScatterAndAGather) {
  for (Group ranks : {group(8, 1), group(4, 1), group(1, 2)}) {
    double part = bytes / double(ranks.ranks());
    EXPECT_NEAR(secondsOf(CollectiveKind::allReduce, ranks, bytes),
                secondsOf(CollectiveKind::reduceScatter, ranks, bytes) +
                    secondsOf(CollectiveKind::allGather, ranks, part),
                1e-12);
  }
}

TEST(Links, RanksOfANodeShareItsWayOut) {
  // Eight groups with a rank per node each have an eighth of what one group of
  // all ranks has.
  double one = secondsOf(CollectiveKind::reduceScatter, group(1, 2), bytes);
  double all = secondsOf(CollectiveKind::reduceScatter, group(8, 2), bytes);
  EXPECT_DOUBLE_EQ(one, 14e-6 + bytes / 2 / 22e9);
  EXPECT_DOUBLE_EQ(all, 14 * 3.4e-6 + 14e-6 + bytes * 15 / 16 / (8 * 22e9));
  // No more than the links inside give.
  Group fast = group(8, 2);
  fast.between.bandwidth = 100e9;
  EXPECT_DOUBLE_EQ(secondsOf(CollectiveKind::reduceScatter, fast, bytes),
                   14 * 3.4e-6 + 14e-6 + bytes * 15 / 16 / 230e9);
}

TEST(Links, SmallSumsTakeTrees) {
  EXPECT_DOUBLE_EQ(secondsOf(CollectiveKind::allReduce, group(1, 64), 64),
                   2 * 6 * 14e-6 + 2 * 63. / 64 * 64 / 22e9 / 0.92);
  EXPECT_DOUBLE_EQ(secondsOf(CollectiveKind::allReduce, group(1, 64), 1e12),
                   2 * 63 * 14e-6 + 2 * 63. / 64 * 1e12 / 22e9);
}

TEST(Links, AloneNothingIsSent) {
  for (CollectiveKind kind :
       {CollectiveKind::allReduce, CollectiveKind::reduceScatter,
        CollectiveKind::allGather, CollectiveKind::allToAll,
        CollectiveKind::shift}) {
    EXPECT_EQ(bytesSent(kind, 1, bytes), 0);
    EXPECT_EQ(secondsOf(kind, Group(), bytes), 0);
  }
}

TEST(Links, AxesAreLinkedByPosition) {
  Mesh mesh({{"rep", 4, ""}, {"fs", 8, ""}, {"tp", 4, ""}}, Network::ofGpus());
  Group tp = mesh.group({2}), fs = mesh.group({1}), rep = mesh.group({0});
  EXPECT_EQ(tp.perNode, 4);
  EXPECT_EQ(tp.nodes, 1);
  // A node has room for two of its coordinates.
  EXPECT_EQ(fs.perNode, 2);
  EXPECT_EQ(fs.nodes, 4);
  EXPECT_EQ(rep.perNode, 1);
  EXPECT_EQ(rep.nodes, 4);
  Group all = mesh.group({0, 1, 2});
  EXPECT_EQ(all.perNode, 8);
  EXPECT_EQ(all.nodes, 16);
  EXPECT_EQ(all.inside.latency, nvlink.latency);
  EXPECT_EQ(all.between.bandwidth, net.bandwidth);
  // Processes of one host.
  Group host = Mesh({{"dp", 64, ""}}).group({0});
  EXPECT_EQ(host.perNode, 64);
  EXPECT_EQ(host.inside.bandwidth, 10e9);
}

TEST(Links, NamedLinksComeFirst) {
  Mesh mesh({{"rep", 2, "net"}, {"fs", 16, "nvlink"}}, Network::ofGpus());
  EXPECT_EQ(mesh.group({0}).nodes, 2);
  EXPECT_EQ(mesh.group({1}).perNode, 16);
  EXPECT_EQ(mesh.group({0, 1}).perNode, 16);
}

TEST(Links, NetworkIsItsAttribute) {
  MLIRContext context;
  Network network = Network::ofGpus(), read = Network::ofHost();
  network.links["slow"] = {1e-4, 1e9, true};
  network.between = "slow";
  network.ranksPerNode = 4;
  ASSERT_TRUE(succeeded(
      readNetwork(network.toAttr(&context), read, [&]() -> InFlightDiagnostic {
        return emitError(UnknownLoc::get(&context));
      })));
  EXPECT_EQ(read.toAttr(&context), network.toAttr(&context));
  EXPECT_EQ(read.kinds(), "host, net, nvlink, pcie or slow");
}

} // namespace
