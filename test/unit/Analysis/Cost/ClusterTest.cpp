//===- ClusterTest.cpp - Descriptions of clusters -------------------------===//

#include "hone/Analysis/Cost/Cluster.h"

#include "gtest/gtest.h"

using namespace hone;

namespace {

/// What is wrong with a description, or "".
std::string problemOf(llvm::StringRef json) {
  Cluster cluster = Cluster::ofA100();
  return llvm::toString(parseCluster(json, cluster));
}

TEST(Cluster, EntriesReplaceWhatIsKnown) {
  Cluster cluster = Cluster::ofA100();
  llvm::Error error = parseCluster(R"({
    "gpus_per_node": 4, "inside": "pcie", "between": "slow",
    "links": {"slow": {"latency": 5e-5, "bandwidth": 1.25e9,
                       "between_nodes": true},
              "pcie": {"bandwidth": 12e9}},
    "peak_flops": 1e15, "kernel_efficiency": 0.5, "memory": 4e10,
    "expert_efficiency": 0.4, "memory_bandwidth": 3e12})",
                                   cluster);
  ASSERT_FALSE(error) << llvm::toString(std::move(error));
  EXPECT_EQ(cluster.network.ranksPerNode, 4);
  EXPECT_EQ(cluster.network.inside, "pcie");
  EXPECT_EQ(cluster.network.between, "slow");
  EXPECT_EQ(cluster.network.find("slow")->bandwidth, 1.25e9);
  // What is not said stays.
  EXPECT_EQ(cluster.network.find("pcie")->latency, 5.7e-6);
  EXPECT_EQ(cluster.network.find("net")->bandwidth, 22e9);
  EXPECT_EQ(cluster.peakFlops, 1e15);
  EXPECT_EQ(cluster.efficiency, 0.5);
  EXPECT_EQ(cluster.expertEfficiency, 0.4);
  EXPECT_EQ(cluster.memoryBytes, 4e10);
  EXPECT_EQ(cluster.memoryBandwidth, 3e12);
  EXPECT_EQ(problemOf("{}"), "");
}

TEST(Cluster, ErrorsNameTheEntry) {
  EXPECT_EQ(problemOf("[8]"), "the description is [8], expected an object");
  EXPECT_NE(problemOf("{"), "");
  EXPECT_EQ(problemOf(R"({"gpus_per_node": 0})"),
            "gpus_per_node is 0, expected an integer >= 1");
  EXPECT_EQ(problemOf(R"({"gpus_per_node": 2.5})"),
            "gpus_per_node is 2.5, expected an integer >= 1");
  EXPECT_EQ(problemOf(R"({"kernel_efficiency": 1.5})"),
            "kernel_efficiency is 1.5, expected a number <= 1");
  EXPECT_EQ(problemOf(R"({"peak_flops": "fast"})"),
            "peak_flops is \"fast\", expected a number > 0");
  EXPECT_EQ(problemOf(R"({"nodes": 4})"),
            "'nodes' is 4, expected gpus_per_node, inside, between, links, "
            "peak_flops, kernel_efficiency, expert_efficiency, memory or "
            "memory_bandwidth");
  EXPECT_EQ(problemOf(R"({"links": 3})"),
            "links is 3, expected an object with a link of each name");
  EXPECT_EQ(problemOf(R"({"links": {"net": 3}})"),
            "link 'net' is 3, expected an object with latency and bandwidth");
  EXPECT_EQ(problemOf(R"({"links": {"net": {"bandwidth": -1}}})"),
            "bandwidth of link 'net' is -1, expected a number > 0");
  EXPECT_EQ(problemOf(R"({"links": {"net": {"latency": -1}}})"),
            "latency of link 'net' is -1, expected a number >= 0");
  EXPECT_EQ(problemOf(R"({"links": {"net": {"between_nodes": 1}}})"),
            "between_nodes of link 'net' is 1, expected no other entries than "
            "latency, bandwidth and between_nodes, true or false");
  EXPECT_EQ(problemOf(R"({"links": {"wifi": {"latency": 1}}})"),
            "link 'wifi' is {\"latency\":1}, expected a bandwidth with a new "
            "link");
  EXPECT_EQ(problemOf(R"({"between": "nvlink"})"),
            "between is \"nvlink\", expected a link between nodes");
  EXPECT_EQ(problemOf(R"({"inside": 1})"),
            "inside is 1, expected a link inside nodes");
}

} // namespace
