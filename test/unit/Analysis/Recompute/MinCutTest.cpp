//===- MinCutTest.cpp - Minimum cuts against all cuts ---------------------===//

#include "Analysis/Recompute/MinCut.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace hone;

namespace {
struct Edge {
  int from, to;
  double capacity;
};

FlowNetwork::Cut minimumCut(int nodes, const std::vector<Edge> &edges,
                            int64_t maxSteps = FlowNetwork::unlimited) {
  FlowNetwork network(nodes);
  for (const Edge &edge : edges)
    network.addEdge(edge.from, edge.to, edge.capacity);
  return std::move(network).minimumCut(0, nodes - 1, maxSteps);
}

double capacityOf(const std::vector<Edge> &edges,
                  const llvm::BitVector &fromSource) {
  double sum = 0.0;
  for (const Edge &edge : edges)
    if (fromSource[edge.from] && !fromSource[edge.to])
      sum += edge.capacity;
  return sum;
}

double leastOfAllCuts(int nodes, const std::vector<Edge> &edges) {
  double least = FlowNetwork::infinite;
  for (unsigned set = 0; set != 1u << (nodes - 2); ++set) {
    llvm::BitVector fromSource(nodes);
    fromSource.set(0);
    for (int node = 1; node != nodes - 1; ++node)
      fromSource[node] = set >> (node - 1) & 1;
    least = std::min(least, capacityOf(edges, fromSource));
  }
  return least;
}

TEST(MinCut, GoesThroughTheNarrowestPlaceOfAPath) {
  const FlowNetwork::Cut cut =
      minimumCut(4, {{0, 1, 5.0}, {1, 2, 2.0}, {2, 3, 7.0}});
  EXPECT_EQ(cut.capacity, 2.0);
  EXPECT_TRUE(cut.fromSource[0] && cut.fromSource[1]);
  EXPECT_FALSE(cut.fromSource[2] || cut.fromSource[3]);
}

TEST(MinCut, SendsFlowBackWhereAPathWasTakenTooSoon) {
  // 0-1-4-5 and 0-2-3-5 are disjoint; the path 0-1-3-5 blocks both.
  const std::vector<Edge> edges = {{0, 1, 1.0}, {0, 2, 1.0}, {1, 3, 1.0},
                                   {1, 4, 1.0}, {2, 3, 1.0}, {3, 5, 1.0},
                                   {4, 5, 1.0}};
  EXPECT_EQ(minimumCut(6, edges).capacity, 2.0);
}

TEST(MinCut, TakesTheFewestNodesOfEqualCuts) {
  const FlowNetwork::Cut cut = minimumCut(3, {{0, 1, 3.0}, {1, 2, 3.0}});
  EXPECT_EQ(cut.capacity, 3.0);
  EXPECT_EQ(cut.fromSource.count(), 1u);
}

TEST(MinCut, SaysThatNothingSeparates) {
  EXPECT_EQ(minimumCut(3, {{0, 1, FlowNetwork::infinite},
                           {1, 2, FlowNetwork::infinite}})
                .capacity,
            FlowNetwork::infinite);
}

TEST(MinCut, EqualsTheLeastOfAllCuts) {
  std::mt19937 random(7);
  auto below = [&](int bound) {
    return std::uniform_int_distribution<int>(0, bound - 1)(random);
  };
  for (int round = 0; round != 400; ++round) {
    const int nodes = 3 + below(7);
    std::vector<Edge> edges;
    for (int number = below(4 * nodes); number >= 0; --number) {
      const int from = below(nodes - 1), to = 1 + below(nodes - 1);
      if (from != to)
        edges.push_back(
            {from, to,
             below(8) == 0 ? FlowNetwork::infinite : below(100) / 7.0});
    }
    const FlowNetwork::Cut cut = minimumCut(nodes, edges);
    const double least = leastOfAllCuts(nodes, edges);
    if (least == FlowNetwork::infinite) {
      EXPECT_EQ(cut.capacity, least) << "round " << round;
      continue;
    }
    EXPECT_NEAR(cut.capacity, least, 1e-9) << "round " << round;
    EXPECT_NEAR(capacityOf(edges, cut.fromSource), least, 1e-9)
        << "round " << round;
  }
}

/// Random edges of `nodes` nodes, some of which no cut may go through.
std::vector<Edge> randomEdges(std::mt19937 &random, int nodes) {
  auto below = [&](int bound) {
    return std::uniform_int_distribution<int>(0, bound - 1)(random);
  };
  std::vector<Edge> edges;
  for (int number = 6 * nodes; number >= 0; --number) {
    const int from = below(nodes - 1), to = 1 + below(nodes - 1);
    if (from != to)
      edges.push_back(
          {from, to,
           below(16) == 0 ? FlowNetwork::infinite : below(100) / 7.0});
  }
  return edges;
}

TEST(MinCut, GivesASoundCutWhereStepsDoNotDo) {
  std::mt19937 random(11);
  int dearer = 0;
  for (int round = 0; round != 200; ++round) {
    SCOPED_TRACE(round);
    const int nodes = 6 + round % 8;
    const std::vector<Edge> edges = randomEdges(random, nodes);
    const FlowNetwork::Cut best = minimumCut(nodes, edges);
    EXPECT_TRUE(best.isMinimum);
    // As many steps as it takes change nothing.
    const FlowNetwork::Cut enough = minimumCut(nodes, edges, best.steps);
    EXPECT_TRUE(enough.isMinimum);
    EXPECT_EQ(enough.fromSource, best.fromSource);
    const FlowNetwork::Cut stopped = minimumCut(nodes, edges, 0);
    EXPECT_LE(stopped.steps, best.steps);
    if (stopped.isMinimum)
      continue;
    EXPECT_EQ(stopped.capacity == FlowNetwork::infinite,
              best.capacity == FlowNetwork::infinite);
    if (stopped.capacity == FlowNetwork::infinite)
      continue;
    EXPECT_TRUE(stopped.fromSource[0]);
    EXPECT_FALSE(stopped.fromSource[nodes - 1]);
    EXPECT_NEAR(capacityOf(edges, stopped.fromSource), stopped.capacity, 1e-9);
    EXPECT_GE(stopped.capacity, best.capacity - 1e-9);
    dearer += stopped.capacity > best.capacity + 1e-9;
  }
  EXPECT_GT(dearer, 0);
}
} // namespace
