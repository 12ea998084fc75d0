//===- StageMovesTest.cpp - Options with values in a second arena ---------===//

#include "hone/Analysis/Recompute/StageMoves.h"

#include "StageOracle.h"

#include <gtest/gtest.h>

#include <random>

using namespace hone;
using namespace hone::test;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

/// A byte per second up, two down.
constexpr HostLink slow = {1, 2, 0};

bool anyValue(int) { return true; }

/// x -> h -> g -> k -> y, of which the backward reads h, g and k.
StageWriter layer(std::mt19937 &random) {
  auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  StageWriter stage;
  stage.value("x", 4, Kind::Input);
  stage.value("dy", 4, Kind::GradientIn);
  stage.forward("h", draw(2, 12), draw(1, 20), {"x"});
  stage.forward("g", draw(2, 12), draw(1, 20), {"h"});
  stage.forward("k", draw(2, 12), draw(1, 20), {"g"});
  stage.forward("y", 4, draw(1, 20), {"k"}, Kind::Output);
  stage.backward("dk", 6, draw(1, 20), {"dy", "k"});
  stage.backward("dg", 6, draw(1, 20), {"dk", "g"});
  stage.backward("dx", 4, draw(1, 20), {"dg", "h"}, Kind::GradientOut);
  return stage;
}

/// Every option with every set of its saved values away.
SmallVector<StageOption> allMoves(const StageGraph &graph,
                                  ArrayRef<StageOption> options,
                                  const HostLink &link) {
  SmallVector<StageOption> all;
  for (const StageOption &option : options)
    for (unsigned set = 0; set != 1u << option.saved.size(); ++set) {
      SmallVector<int> values;
      for (size_t i = 0; i != option.saved.size(); ++i)
        if (set >> i & 1)
          values.push_back(option.saved[i]);
      all.push_back(withAway(graph, option, values, link));
    }
  return all;
}

/// As hone-plan-checkpoints makes it: the last two stages keep what they save.
Chain chainOf(const StageGraph &graph, ArrayRef<StageOption> plain,
              ArrayRef<StageOption> moves, int stages) {
  Chain chain;
  for (int stage = 0; stage != stages; ++stage)
    chain.stages.push_back(
        chainStage(graph, stage + 2 < stages ? moves : plain));
  chain.inputBytes = chain.inputGradientBytes = 4;
  return chain;
}

} // namespace

/// Of 10, 6 and 4 bytes that are saved, 10 and 4 are copied within 16 seconds.
TEST(StageMoves, TheLargestGoThatTheLinkHides) {
  StageWriter stage;
  stage.value("x", 1, Kind::Input);
  stage.value("dy", 1, Kind::GradientIn);
  stage.forward("a", 10, 4, {"x"});
  stage.forward("b", 6, 4, {"a"});
  stage.forward("c", 4, 4, {"b"});
  stage.forward("y", 1, 4, {"c"}, Kind::Output);
  stage.backward("dx", 1, 15, {"dy", "a", "b", "c"}, Kind::GradientOut);
  SmallVector<StageOption> plain = planStage(stage.graph);
  SmallVector<StageOption> moves =
      withMoves(stage.graph, plain, slow, anyValue);
  ASSERT_GT(moves.size(), plain.size() + 1);
  const StageOption &hidden = moves[plain.size()],
                    &whole = moves[plain.size() + 1];
  EXPECT_EQ(hidden.away, (SmallVector<int, 4>{stage["a"], stage["c"]}));
  EXPECT_EQ(hidden.cost.saved, plain[0].cost.saved - 14);
  EXPECT_EQ(hidden.cost.forwardPeak, plain[0].cost.forwardPeak + 14);
  EXPECT_EQ(hidden.cost.forward, plain[0].cost.forward);
  EXPECT_EQ(hidden.cost.backward, plain[0].cost.backward);
  EXPECT_EQ(whole.away.size(), 3u);
  EXPECT_EQ(whole.cost.backward, 20); // bytes that go up, at one per second
  EXPECT_EQ(whole.cost.forward, plain[0].cost.forward);
}

/// The link hides the two smaller values of three. In the arena, all or none of
/// them are the two options that a chain would miss most.
TEST(StageMoves, WhatIsBestToSaveIsAnotherSetWhereItGoes) {
  StageWriter stage;
  stage.value("x", 1, Kind::Input);
  stage.value("dy", 1, Kind::GradientIn);
  stage.forward("a", 10, 10, {"x"});
  stage.forward("b", 6, 6, {"a"});
  stage.forward("c", 200, 60, {"b"});
  stage.forward("y", 1, 4, {"c"}, Kind::Output);
  stage.backward("dx", 1, 20, {"dy", "a", "b", "c"}, Kind::GradientOut);
  StageLimits limits;
  limits.kept = 2;
  SmallVector<int, 4> small = {stage["a"], stage["b"]};
  auto savesSmall = [&](const StageOption &option) {
    return option.saved == small;
  };
  SmallVector<StageOption> plain = planStage(stage.graph, limits);
  EXPECT_TRUE(llvm::none_of(plain, savesSmall));
  SmallVector<StageOption> options =
      planStageWithMoves(stage.graph, limits, slow, anyValue);
  ASSERT_GT(options.size(), plain.size());
  for (auto [before, now] : llvm::zip(plain, options))
    EXPECT_EQ(before.saved, now.saved);
  auto found = llvm::find_if(options, [&](const StageOption &option) {
    return savesSmall(option) && option.away == small;
  });
  ASSERT_NE(found, options.end());
  EXPECT_EQ(found->cost.saved, 1);
  EXPECT_EQ(found->cost.backward, 80); // with c again
  EXPECT_EQ(options.back().away.size(), 3u);
}

/// Of all that it chooses from, and no less fast.
TEST(StageMoves, OneHasTheMostBytesAway) {
  using Away = std::pair<int64_t, double>; // bytes, seconds less than none
  for (unsigned seed = 0; seed != 60; ++seed) {
    std::mt19937 random(seed);
    StageWriter stage = layer(random);
    double rate = 0.2 * (1 + seed % 8);
    HostLink link = {rate, rate, 0};
    auto most = [&](ArrayRef<StageOption> options) {
      Away most = {0, 0};
      for (const StageOption &option : options) {
        int64_t bytes = 0;
        for (int value : option.away)
          bytes += stage.graph.values[value].bytes;
        if (bytes > 0)
          most = std::max(
              most, Away(bytes, -option.cost.forward - option.cost.backward));
      }
      return most;
    };
    StageLimits limits, all;
    limits.kept = 1 + seed % 3;
    all.kept = 1 << 20;
    SmallVector<StageOption> moves =
        planStageWithMoves(stage.graph, limits, link, anyValue);
    EXPECT_LE(int(moves.size()), 2 * limits.kept + 1);
    EXPECT_EQ(most(moves),
              most(withMoves(stage.graph, planStage(stage.graph, all), link,
                             anyValue)))
        << "seed " << seed;
  }
}

/// Two small values of which a large one is made again are more, but less.
TEST(StageMoves, BytesAwayCountAndNotValues) {
  StageWriter stage;
  stage.value("x", 1, Kind::Input);
  stage.value("dy", 1, Kind::GradientIn);
  stage.forward("a", 2, 30, {"x"});
  stage.forward("b", 2, 30, {"a"});
  stage.forward("c", 100, 1, {"a", "b"});
  stage.forward("y", 1, 4, {"c"}, Kind::Output);
  stage.backward("dx", 1, 20, {"dy", "c"}, Kind::GradientOut);
  StageLimits limits;
  limits.kept = 1;
  SmallVector<int, 4> large = {stage["c"]};
  EXPECT_TRUE(llvm::any_of(
      planStageWithMoves(stage.graph, limits, slow, anyValue),
      [&](const StageOption &option) { return option.away == large; }));
}

TEST(StageMoves, NoneAreKept) {
  std::mt19937 random(1);
  StageWriter stage = layer(random);
  StageLimits limits;
  limits.kept = 0;
  EXPECT_TRUE(planStage(stage.graph, limits).empty());
  EXPECT_TRUE(planStageWithMoves(stage.graph, limits, slow, anyValue).empty());
}

TEST(StageMoves, OnlySomeValuesMayGo) {
  std::mt19937 random(1);
  StageWriter stage = layer(random);
  int h = stage["h"];
  for (const StageOption &option : planStageWithMoves(
           stage.graph, {}, slow, [h](int value) { return value == h; }))
    for (int value : option.away)
      EXPECT_EQ(value, h);
}

/// Small chains within every budget: no more than a twentieth slower than with
/// every set of values that could be away.
TEST(StageMoves, FewSetsAreEnough) {
  double worst = 1;
  for (unsigned seed = 0; seed != 60; ++seed) {
    std::mt19937 random(seed);
    StageWriter stage = layer(random);
    double rate = 0.2 * (1 + seed % 8);
    HostLink link = {rate, rate, 0};
    SmallVector<StageOption> plain = planStage(stage.graph);
    Chain few = chainOf(stage.graph, plain,
                        planStageWithMoves(stage.graph, {}, link, anyValue), 5);
    Chain every =
        chainOf(stage.graph, plain, allMoves(stage.graph, plain, link), 5);
    int64_t most = keepAll(few).bytes;
    ChainPlanner planner(few, most), exact(every, most);
    ASSERT_TRUE(planner.isOptimal() && exact.isOptimal());
    for (int64_t bytes = most; bytes > 0; bytes -= 2) {
      std::optional<ChainSchedule> best = exact.schedule(bytes);
      if (!best)
        break;
      std::optional<ChainSchedule> found = planner.schedule(bytes);
      if (found)
        worst = std::max(worst, found->seconds / best->seconds);
    }
  }
  EXPECT_LE(worst, 1.05);
  RecordProperty("worst", std::to_string(worst));
}
