//===- SearchTest.cpp - The best plans for a number of ranks --------------===//

#include "Models.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace hone;
using namespace hone::search;
using hone::test::smallModel;

namespace {

Cluster clusterOf(double memoryBytes) {
  Cluster cluster = Cluster::ofA100();
  cluster.memoryBytes = memoryBytes;
  return cluster;
}

SearchResult search(const Model &model, const Cluster &cluster, int64_t ranks,
                    bool prunes = true) {
  SearchOptions options;
  options.ranks = ranks;
  options.prunes = prunes;
  return searchPlans(model, cluster, options);
}

// Replaying every plan finds the same, with memory that binds and that does
// not, with and without experts.
TEST(MeshSearch, BoundsLeaveOutNothing) {
  for (bool hasExperts : {false, true})
    for (double memory : {1.5e9, 4e9, 80e9}) {
      Model model = smallModel(8, 1024, hasExperts);
      SearchResult pruned = search(model, clusterOf(memory), 16);
      SearchResult all = search(model, clusterOf(memory), 16, false);
      ASSERT_EQ(pruned.best.size(), all.best.size());
      for (size_t index = 0; index != all.best.size(); ++index) {
        EXPECT_EQ(formatPlan(pruned.best[index].plan),
                  formatPlan(all.best[index].plan));
        EXPECT_EQ(pruned.best[index].cost.total(),
                  all.best[index].cost.total());
      }
      EXPECT_EQ(pruned.plans, all.plans);
      EXPECT_LT(pruned.replayed * 10, all.replayed);
    }
}

TEST(MeshSearch, PlansAreOrderedPossibleAndFit) {
  Model model = smallModel(8, 2048, /*hasExperts=*/true);
  Cluster cluster = clusterOf(20e9);
  SearchResult result = search(model, cluster, 32);
  ASSERT_EQ(result.best.size(), 10u);
  Estimator estimator(model, cluster);
  double before = 0;
  for (const RankedPlan &ranked : result.best) {
    EXPECT_EQ(ranked.plan.ranks(), 32);
    EXPECT_EQ(estimator.findRefusal(ranked.plan), std::nullopt);
    EXPECT_LE(ranked.cost.memory.total(), 20e9);
    EXPECT_GE(ranked.cost.total(), before);
    before = ranked.cost.total();
  }
  EXPECT_GT(result.refusedPlans[size_t(Refusal::Memory)], 0);
}

TEST(MeshSearch, OneRank) {
  SearchResult result = search(smallModel(4, 512), clusterOf(80e9), 1);
  ASSERT_EQ(result.best.size(), 1u);
  EXPECT_EQ(result.meshes, 1);
  EXPECT_EQ(result.refusedMeshes, decltype(result.refusedMeshes)());
  EXPECT_EQ(formatMesh(result.best.front().plan), "dp=1");
  EXPECT_EQ(result.best.front().plan.keep, Keep::All);
}

// 31 divides no size of the model but the batch, if that is a multiple.
TEST(MeshSearch, OddNumbersOfRanks) {
  Model model = smallModel(4, 512);
  EXPECT_TRUE(search(model, clusterOf(80e9), 31).best.empty());
  model.sequences = 62;
  SearchResult result = search(model, clusterOf(80e9), 31);
  ASSERT_EQ(result.best.size(), 1u);
  EXPECT_EQ(result.best.front().plan.batchRanks(), 31);
}

TEST(MeshSearch, NothingFits) {
  SearchResult result = search(smallModel(8, 1024), clusterOf(1e6), 8);
  EXPECT_TRUE(result.best.empty());
  EXPECT_GT(result.refusedPlans[size_t(Refusal::Memory)], 0);
}

// Ranks on slow links keep to what sends least there.
TEST(MeshSearch, TensorParallelismStaysInNodes) {
  Model model = smallModel(32, 8192);
  model.sequences = 64;
  SearchResult result = search(model, clusterOf(80e9), 64);
  ASSERT_FALSE(result.best.empty());
  EXPECT_LE(result.best.front().plan.tp, 8);
}

TEST(MeshSearch, OnlyAcceptedMeshes) {
  Model model = smallModel(8, 1024);
  Cluster cluster = clusterOf(80e9);
  auto isPlain = [](const Plan &plan) { return plan.pp * plan.cp == 1; };
  SearchOptions options;
  options.ranks = 16;
  options.accepts = isPlain;
  for (const RankedPlan &ranked : searchPlans(model, cluster, options).best)
    EXPECT_TRUE(isPlain(ranked.plan)) << formatPlan(ranked.plan);
}

} // namespace
