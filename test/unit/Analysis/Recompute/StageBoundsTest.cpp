//===- StageBoundsTest.cpp - What the planner of stages stopped at --------===//

#include "hone/Analysis/Recompute/StageMerge.h"

#include "StageOracle.h"

#include <gtest/gtest.h>

using namespace hone;
using namespace hone::test;

namespace {
/// A chain of units of which the backward visit reads all, in reverse.
StageGraph longStage(int units) {
  StageWriter stage;
  stage.value("x", 4, Kind::Input);
  stage.value("dy", 4, Kind::GradientIn);
  std::string last = "x", gradient = "dy";
  for (int unit = 0; unit != units; ++unit) {
    std::string made = "h" + std::to_string(unit);
    stage.forward(made, 8 + unit * 7 % 11, 1.0 + unit * 5 % 13, {last});
    last = made;
  }
  stage.forward("y", 4, 2.0, {last}, Kind::Output);
  for (int unit = units - 1; unit >= 0; --unit) {
    std::string made = "d" + std::to_string(unit);
    stage.backward(made, 4, 1.0, {"h" + std::to_string(unit), gradient},
                   unit == 0 ? Kind::GradientOut : Kind::Inner);
    gradient = made;
  }
  return stage.graph;
}

/// Options that are what they say, whatever stopped the search for more.
void expectSound(const StageGraph &graph, llvm::ArrayRef<StageOption> options) {
  ASSERT_FALSE(options.empty());
  for (const StageOption &option : options) {
    std::string problem;
    auto priced = priceStage(graph, option, problem);
    ASSERT_TRUE(priced) << problem;
    EXPECT_EQ(priced->saved, option.saved);
    EXPECT_EQ(priced->cost.saved, option.cost.saved);
    EXPECT_EQ(priced->cost.backward, option.cost.backward);
    EXPECT_EQ(priced->cost.backwardPeak, option.cost.backwardPeak);
  }
}

TEST(StageBounds, AreNotMetByALayer) {
  StageStops stops;
  const StageGraph graph = longStage(8);
  expectSound(graph, planStage(graph, {}, &stops));
  EXPECT_FALSE(stops.metSearched || stops.metSteps || stops.metCutSteps);
}

TEST(StageBounds, OfUnitsAreSaid) {
  StageStops stops;
  StageLimits limits;
  limits.searched = 7;
  const StageGraph graph = longStage(8);
  expectSound(graph, planStage(graph, limits, &stops));
  EXPECT_TRUE(stops.metSearched);
  limits.searched = 8;
  planStage(graph, limits, &stops);
  EXPECT_FALSE(stops.metSearched);
}

TEST(StageBounds, OfStepsAreSaid) {
  StageStops stops;
  StageLimits limits;
  limits.steps = 5;
  const StageGraph graph = longStage(8);
  expectSound(graph, planStage(graph, limits, &stops));
  EXPECT_TRUE(stops.metSteps);
  EXPECT_FALSE(stops.metCutSteps);
}

/// Steps suffice where what they did not reach cannot be better.
TEST(StageBounds, OfStepsThatMissNothingAreNotSaid) {
  StageStops stops;
  StageLimits limits;
  limits.steps = 0;
  StageGraph graph = longStage(1);
  for (StageUnit &unit : graph.forward)
    unit.canRedo = false;
  planStage(graph, limits, &stops);
  EXPECT_FALSE(stops.metSteps);
}

/// A node of a stage longer than a layer of any model is one step still.
TEST(StageBounds, OfStepsAreThoseOfShortStages) {
  StageStops stops;
  StageLimits limits;
  limits.searched = 6;
  limits.steps = 1400; // of nodes that count twice it takes some 2000
  planStage(longStage(300), limits, &stops);
  EXPECT_FALSE(stops.metSteps);
}

TEST(StageBounds, OfCutsAreSaid) {
  const StageGraph graph = longStage(8);
  for (int64_t steps : {0, 40, 300}) {
    SCOPED_TRACE(steps);
    StageStops stops;
    StageLimits limits;
    limits.cutSteps = steps;
    expectSound(graph, planStage(graph, limits, &stops));
    EXPECT_TRUE(stops.metCutSteps);
    EXPECT_FALSE(stops.metSteps);
  }
}

/// Stages of the kinds that the numbers say.
llvm::SmallVector<StageGraph, 0> stagesOf(int count, int period) {
  llvm::SmallVector<StageGraph, 0> graphs;
  for (int stage = 0; stage != count; ++stage)
    graphs.push_back(longStage(1 + stage % period));
  return graphs;
}

TEST(StageBounds, OfPatternsAreSaid) {
  MergeStops stops;
  EXPECT_EQ(chooseCuts(stagesOf(24, 8), &stops).size(), 3u);
  EXPECT_EQ(stops.longerPeriod, 0);
  EXPECT_EQ(stops.periodsPerStage, 1);
  EXPECT_EQ(chooseCuts(stagesOf(27, 9), &stops).size(), 27u);
  EXPECT_EQ(stops.longerPeriod, 9);
}

TEST(StageBounds, OfStagesAreSaid) {
  MergeStops stops;
  EXPECT_EQ(chooseCuts(stagesOf(maxStages, 1), &stops).size(),
            size_t(maxStages));
  EXPECT_EQ(stops.periodsPerStage, 1);
  EXPECT_EQ(chooseCuts(stagesOf(2 * maxStages + 1, 1), &stops).size(), 171u);
  EXPECT_EQ(stops.periodsPerStage, 3);
  EXPECT_EQ(stops.joined, 1);
}

TEST(StageBounds, OfStagesThatDifferAreSaid) {
  llvm::SmallVector<StageGraph, 0> graphs;
  for (int stage = 0; stage != 2 * maxStages + 1; ++stage) {
    graphs.push_back(longStage(1));
    graphs.back().values.front().bytes = 1 + stage;
  }
  MergeStops stops;
  llvm::SmallVector<int> cuts = chooseCuts(graphs, &stops);
  EXPECT_EQ(stops.joined, 3);
  EXPECT_EQ(stops.periodsPerStage, 1);
  ASSERT_EQ(cuts.size(), 171u);
  EXPECT_EQ(cuts.back(), 2 * maxStages); // the chain ends with a stage
  graphs.truncate(maxStages);
  EXPECT_EQ(chooseCuts(graphs, &stops).size(), size_t(maxStages));
  EXPECT_EQ(stops.joined, 1);
}
} // namespace
