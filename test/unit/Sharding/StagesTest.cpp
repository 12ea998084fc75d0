//===- StagesTest.cpp - Equal parts of a chain ----------------------------===//

#include "Sharding/Stages/Partition.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

using namespace hone::dist;

namespace {

using Cost = std::pair<double, int64_t>;

/// The longest part, and the bytes that are handed on.
Cost costOf(llvm::ArrayRef<double> seconds, llvm::ArrayRef<int64_t> bytes,
            llvm::ArrayRef<size_t> cuts) {
  Cost cost = {0, 0};
  double part = 0;
  for (size_t unit = 0; unit != seconds.size(); ++unit) {
    part += seconds[unit];
    cost.first = std::max(cost.first, part);
    if (llvm::is_contained(cuts, unit)) {
      cost.second += bytes[unit];
      part = 0;
    }
  }
  return cost;
}

/// The least of the costs of all cuts.
Cost leastOf(llvm::ArrayRef<double> seconds, llvm::ArrayRef<int64_t> bytes,
             int64_t parts) {
  Cost least = {1e9, 0};
  for (unsigned set = 0; set != 1u << bytes.size(); ++set) {
    llvm::SmallVector<size_t> cuts;
    for (size_t cut = 0; cut != bytes.size(); ++cut)
      if (set >> cut & 1)
        cuts.push_back(cut);
    if (int64_t(cuts.size()) == parts - 1)
      least = std::min(least, costOf(seconds, bytes, cuts));
  }
  return least;
}

TEST(PartitionChain, MakesTheLongestPartAsShortAsAllCutsCan) {
  std::minstd_rand random(1);
  for (int round = 0; round != 300; ++round) {
    size_t units = 2 + random() % 9;
    std::vector<double> seconds(units);
    std::vector<int64_t> bytes(units - 1);
    for (double &each : seconds)
      each = random() % 8;
    for (int64_t &each : bytes)
      each = 1 + random() % 4;
    int64_t parts = 1 + random() % units;
    llvm::SmallVector<size_t> cuts = partitionChain(seconds, bytes, parts);
    ASSERT_EQ(int64_t(cuts.size()), parts - 1);
    ASSERT_TRUE(std::is_sorted(cuts.begin(), cuts.end()));
    EXPECT_EQ(std::adjacent_find(cuts.begin(), cuts.end()), cuts.end());
    EXPECT_EQ(costOf(seconds, bytes, cuts).first,
              leastOf(seconds, bytes, parts).first);
  }
}

TEST(PartitionChain, HandsOnTheFewestBytesAmongEquallyLongParts) {
  // Both cuts leave a longest part of 2.
  EXPECT_EQ(partitionChain({1, 1, 1}, {8, 4}, 2),
            (llvm::SmallVector<size_t>{1}));
  EXPECT_EQ(partitionChain({1, 1, 1}, {4, 8}, 2),
            (llvm::SmallVector<size_t>{0}));
}

TEST(PartitionChain, GivesTheEndsFewerLayers) {
  // An embedding and six layers of one second, a head of two.
  std::vector<double> seconds = {1, 1, 1, 1, 1, 1, 1, 2};
  std::vector<int64_t> bytes(7, 1);
  EXPECT_EQ(partitionChain(seconds, bytes, 3),
            (llvm::SmallVector<size_t>{2, 5}));
}

/// The longest stage of four parts on two stages.
double longestStage(llvm::ArrayRef<double> seconds, llvm::ArrayRef<size_t> cuts,
                    llvm::ArrayRef<int64_t> stageOf) {
  std::vector<double> stages(2);
  size_t part = 0;
  for (size_t unit = 0; unit != seconds.size(); ++unit) {
    stages[stageOf[part]] += seconds[unit];
    if (part != cuts.size() && cuts[part] == unit)
      ++part;
  }
  return std::max(stages[0], stages[1]);
}

TEST(BalanceStages, EachUnitCounts) {
  // Equal parts of 3, 3, 3 and 5: as a loop, stage 1 has 8 and stage 0 has 6.
  std::vector<double> seconds = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4};
  llvm::SmallVector<size_t> cuts = {2, 5, 8};
  std::vector<int64_t> loop = {0, 1, 0, 1};
  balanceStages(cuts, seconds, 2, [&](int64_t part) { return loop[part]; });
  EXPECT_EQ(longestStage(seconds, cuts, loop), 7);
}

/// Cuts stay in order, and no stage becomes longer.
TEST(BalanceStages, NeverWorse) {
  std::mt19937 draw(5);
  for (int trial = 0; trial != 200; ++trial) {
    std::vector<double> seconds(4 + draw() % 12);
    for (double &unit : seconds)
      unit = 1 + draw() % 9;
    std::vector<int64_t> bytes(seconds.size() - 1, 1);
    for (const std::vector<int64_t> &stageOf :
         {std::vector<int64_t>{0, 1, 0, 1}, std::vector<int64_t>{0, 1, 1, 0}}) {
      llvm::SmallVector<size_t> cuts = partitionChain(seconds, bytes, 4);
      double before = longestStage(seconds, cuts, stageOf);
      balanceStages(cuts, seconds, 2,
                    [&](int64_t part) { return stageOf[part]; });
      EXPECT_LE(longestStage(seconds, cuts, stageOf), before);
      EXPECT_LT(cuts[0], cuts[1]);
      EXPECT_LT(cuts[1], cuts[2]);
      EXPECT_LT(cuts[2], seconds.size() - 1);
    }
  }
}

} // namespace
