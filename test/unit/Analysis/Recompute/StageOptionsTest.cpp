//===- StageOptionsTest.cpp - Options of a stage against all subsets ------===//

#include "hone/Analysis/Recompute/StageOptions.h"

#include "StageOracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

using namespace hone;
using namespace hone::test;

namespace {
StageOption priced(const StageGraph &graph,
                   const StageRecomputation &recompute) {
  std::string problem;
  std::optional<StageOption> option = priceStage(graph, recompute, problem);
  EXPECT_TRUE(option) << problem;
  return option.value_or(StageOption());
}

/// x -> h -> g -> y, where the backward reads h and g.
///   bytes: x 2, h 8, g 5, y 2
StageWriter smallLayer() {
  StageWriter stage;
  stage.value("x", 2, Kind::Input);
  stage.value("w", 100, Kind::Fixed);
  stage.value("dy", 2, Kind::GradientIn);
  stage.forward("h", 8, 30.0, {"x", "w"});
  stage.forward("g", 5, 4.0, {"h"});
  stage.forward("y", 2, 20.0, {"g", "w"}, Kind::Output);
  stage.backward("dg", 5, 20.0, {"dy", "w"});
  stage.backward("dw", 100, 20.0, {"dy", "g"}, Kind::Born);
  stage.backward("dh", 8, 4.0, {"dg", "h"});
  stage.backward("dx", 2, 30.0, {"dh", "w"}, Kind::GradientOut);
  return stage;
}

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

TEST(StageOptions, CountsSavedValuesAndTheOutput) {
  const StageOption option = priced(smallLayer().graph, {});
  EXPECT_EQ(option.cost.saved, 8 + 5 + 2);
  EXPECT_EQ(option.cost.lastSaved, 8 + 5);
  EXPECT_EQ(option.cost.forward, 54.0);
  EXPECT_EQ(option.cost.backward, 74.0);
  EXPECT_FALSE(option.cost.needsInput);
}

TEST(StageOptions, SkipsTheOutputInTheLastForwardVisit) {
  EXPECT_EQ(priced(smallLayer().graph, {}).cost.lastForward, 34.0);
  EXPECT_EQ(priced(smallLayer().graph, {{1}, {}, {}}).cost.lastForward, 30.0);
}

TEST(StageOptions, MakesAnOutputThatItsOwnBackwardReads) {
  StageWriter stage = smallLayer();
  stage.graph.backward.front().reads.push_back(stage["y"]);
  const StageOption option = priced(stage.graph, {});
  EXPECT_EQ(option.cost.lastForward, 54.0);
  EXPECT_EQ(option.cost.lastSaved, option.cost.saved);
}

TEST(StageOptions, NeedsTheInputWhereARedoneUnitReadsIt) {
  EXPECT_FALSE(priced(smallLayer().graph, {{1}, {}, {}}).cost.needsInput);
  EXPECT_TRUE(priced(smallLayer().graph, {{0}, {}, {}}).cost.needsInput);
}

TEST(StageOptions, FollowsTheBytesThroughBothVisits) {
  const StageGraph &graph = smallLayer().graph;
  // Forward: h 8, +g 5, -h, +y 2: 13 at most. g 5 stays, and y 2 unless this
  // is the last forward visit.
  EXPECT_EQ(priced(graph, {{0}, {}, {}}).cost.saved, 7);
  EXPECT_EQ(priced(graph, {{0}, {}, {}}).cost.forwardPeak, 8);
  // Backward of all saved: h 8 + g 5 + dy 2 + dg 5 = 20 until dw is made; then
  // h 8 + dg 5 + dh 8 = 21. The chain counts 13 + dy 2 + dx 2.
  EXPECT_EQ(priced(graph, {}).cost.backwardPeak, 21 - 17);
  // Without h: g 5 + dy 2 + dg 5, then dg 5 + h 8 + dh 8 = 21; 5 + 4 counted.
  EXPECT_EQ(priced(graph, {{0}, {}, {}}).cost.backwardPeak, 21 - 9);
}

TEST(StageOptions, WritesOverAValueThatDies) {
  StageWriter stage = smallLayer();
  stage.graph.backward[2].inPlace.push_back({stage["h"], stage["dh"]});
  // Now 20 where dw is made is the most.
  EXPECT_EQ(priced(stage.graph, {}).cost.backwardPeak, 20 - 17);
}

TEST(StageOptions, KeepsWhatIsReadAgainFromBeingOverwritten) {
  StageWriter stage = smallLayer();
  stage.graph.backward[2].inPlace.push_back({stage["h"], stage["dh"]});
  stage.graph.backward[3].reads.push_back(stage["h"]);
  EXPECT_EQ(priced(stage.graph, {}).cost.backwardPeak, 21 - 17);
}

TEST(StageOptions, CountsScratchWhileItsUnitRuns) {
  StageWriter stage = smallLayer();
  stage.graph.forward[0].scratch = 50;
  stage.graph.backward[1].scratch = 60;
  const ChainOption cost = priced(stage.graph, {}).cost;
  EXPECT_EQ(cost.saved + cost.forwardPeak, 8 + 50 + 2); // as if y were there
  EXPECT_EQ(cost.lastSaved + cost.backwardPeak + 4, 20 + 60);
}

TEST(StageOptions, LeavesOutUnitsThatNobodyNeeds) {
  const StageOption option = priced(smallLayer().graph, {{1, 2}, {}, {}});
  EXPECT_EQ(option.recomputed, (llvm::SmallVector<int, 4>{1}));
}

TEST(StageOptions, PutsARedoneUnitBeforeItsFirstReader) {
  std::string order;
  for (StageStep step : backwardSteps(smallLayer().graph, {{0, 1}, {}, {}}))
    order += (step.isRecomputed ? "f" : "b") + std::to_string(step.unit) + " ";
  EXPECT_EQ(order, "b0 f0 f1 b1 b2 b3 ");
}

TEST(StageOptions, RunsAUnitAgainForEachReaderWhereAsked) {
  const StageGraph &graph = smallLayer().graph;
  std::string order;
  for (StageStep step : backwardSteps(graph, {{0, 1}, {0}, {}}))
    order += (step.isRecomputed ? "f" : "b") + std::to_string(step.unit) + " ";
  EXPECT_EQ(order, "b0 f0 f1 b1 f0 b2 b3 ");
  EXPECT_EQ(priced(graph, {{0, 1}, {0}, {}}).cost.backward, 74.0 + 30 + 4 + 30);
}

TEST(StageOptions, DropsWhatRunsAgainForEachReader) {
  StageWriter stage = smallLayer();
  stage.graph.backward[1].scratch = 50;
  // While dw is made: dy 2, g 5, dg 5, and h 8 where that is kept.
  EXPECT_EQ(priced(stage.graph, {{0, 1}, {}, {}}).cost.backwardPeak,
            20 + 50 - 4);
  EXPECT_EQ(priced(stage.graph, {{0, 1}, {0}, {}}).cost.backwardPeak,
            12 + 50 - 4);
}

TEST(StageOptions, SavesForTheFirstReaderAlone) {
  StageWriter stage = smallLayer();
  stage.graph.backward[3].reads.push_back(stage["g"]);
  const StageRecomputation recompute = {{1}, {}, {1}};
  std::string order;
  for (StageStep step : backwardSteps(stage.graph, recompute))
    order += (step.isRecomputed ? "f" : "b") + std::to_string(step.unit) + " ";
  EXPECT_EQ(order, "b0 b1 b2 f1 b3 ");
  const StageOption option = priced(stage.graph, recompute);
  EXPECT_EQ(option.saved, (llvm::SmallVector<int, 4>{stage["h"], stage["g"]}));
  EXPECT_EQ(option.cost.saved, 8 + 5 + 2);
  // While g is away, dg 5, h 8 and dh 8: it would be 26 with g.
  EXPECT_EQ(option.cost.backwardPeak, 21 - 17);
  EXPECT_EQ(priced(stage.graph, {}).cost.backwardPeak, 26 - 17);
}

TEST(StageOptions, RunsTheUnitsOfALaunchAsOne) {
  StageWriter stage = smallLayer();
  stage.graph.forward[1].launch = stage.graph.forward[2].launch = 3;
  stage.graph.forward[1].recomputeSeconds = 9.0;
  const ChainOption none = priced(stage.graph, {}).cost;
  EXPECT_EQ(none.forward, 54.0);
  const ChainOption both = priced(stage.graph, {{0, 1}, {}, {}}).cost;
  EXPECT_EQ(both.forward, 54.0);
  EXPECT_EQ(both.backward, 74.0 + 30.0 + 9.0);
  // h 8, g 5 and y 2 are there at once.
  EXPECT_EQ(both.saved + both.forwardPeak, 15);
}

TEST(StageOptions, SkipsAPartOfALaunch) {
  StageWriter stage;
  stage.value("x", 2, Kind::Input);
  stage.value("dy", 2, Kind::GradientIn);
  for (const char *name : {"a", "y"}) {
    StageUnit &unit = stage.forward(
        name, 4, 5.0, {"x"}, name[0] == 'y' ? Kind::Output : Kind::Inner);
    unit.launch = 0;
    unit.recomputeSeconds = 7.0;
  }
  stage.backward("dx", 2, 1.0, {"a", "dy"}, Kind::GradientOut);
  EXPECT_EQ(priced(stage.graph, {}).cost.forward, 10.0);
  EXPECT_EQ(priced(stage.graph, {}).cost.lastForward, 7.0);
}

TEST(StageOptions, RefusesToRedoWhatMayNotRunTwice) {
  StageWriter stage = smallLayer();
  stage.graph.forward[1].canRedo = false;
  std::string problem;
  EXPECT_FALSE(priceStage(stage.graph, {{1}, {}, {}}, problem));
  EXPECT_EQ(problem, "unit 1 may not run twice");
  EXPECT_FALSE(priceStage(stage.graph, {{7}, {}, {}}, problem));
  EXPECT_EQ(problem, "unit 7 is none of the stage's 3");
  EXPECT_FALSE(priceStage(stage.graph, {{0}, {1}, {}}, problem));
  EXPECT_EQ(problem, "unit 1 is not among those recomputed");
}

TEST(StageOptions, DescribesTheStageToTheChain) {
  const StageGraph &graph = smallLayer().graph;
  const ChainStage stage = chainStage(graph, planStage(graph));
  EXPECT_EQ(stage.outputBytes, 2);
  EXPECT_EQ(stage.gradientBytes, 2);
  EXPECT_EQ(stage.bornBytes, 100);
  EXPECT_EQ(stage.forward, 54.0);
  EXPECT_EQ(stage.forwardPeak, 13 - 2);
  EXPECT_EQ(stage.options.size(), planStage(graph).size());
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

TEST(StageOptions, SavesWhatMayNotRunTwice) {
  StageWriter stage = smallLayer();
  stage.graph.forward[1].canRedo = false;
  for (const StageOption &option : planStage(stage.graph))
    EXPECT_TRUE(llvm::is_contained(option.saved, stage["g"]));
}

TEST(StageOptions, MakesAgainWhatCostsNothing) {
  StageWriter stage = smallLayer();
  stage.graph.forward[1].seconds = stage.graph.forward[1].recomputeSeconds =
      0.0;
  for (const StageOption &option : planStageHull(stage.graph))
    EXPECT_TRUE(llvm::is_contained(option.recomputed, 1));
}

TEST(StageOptions, PaysAUnitWithTwoResultsOnce) {
  StageWriter stage;
  stage.value("x", 2, Kind::Input);
  stage.value("dy", 2, Kind::GradientIn);
  StageUnit &norm = stage.forward("n", 4, 10.0, {"x"});
  norm.makes.push_back(stage.value("rstd", 4));
  stage.forward("y", 2, 20.0, {"n"}, Kind::Output);
  stage.backward("dn", 4, 20.0, {"dy", "n"});
  stage.backward("dx", 2, 10.0, {"dn", "rstd"}, Kind::GradientOut);
  const auto hull = planStageHull(stage.graph);
  ASSERT_EQ(hull.size(), 2u);
  EXPECT_EQ(hull.front().cost.saved, 8 + 2);
  EXPECT_EQ(hull.back().cost.saved, 2);
  EXPECT_EQ(hull.back().cost.backward, 30.0 + 10.0);
}

//===----------------------------------------------------------------------===//
// All subsets of random stages
//===----------------------------------------------------------------------===//

class RandomStage {
public:
  explicit RandomStage(unsigned seed) : random(seed) {
    add(6, Kind::Input);
    add(5, Kind::Fixed);
    const int units = 2 + below(7), backUnits = 1 + below(4);
    for (int unit = 0; unit != units; ++unit)
      addForward(unit == units - 1);
    const int gradient = add(1 + below(9), Kind::GradientIn);
    std::vector<int> gradients = {gradient};
    for (int unit = 0; unit != backUnits; ++unit)
      addBackward(gradients, unit == backUnits - 1);
  }

  StageGraph graph;

private:
  int below(int bound) {
    return std::uniform_int_distribution<int>(0, bound - 1)(random);
  }
  bool oneIn(int count) { return below(count) == 0; }
  int add(int64_t bytes, Kind kind) {
    graph.values.push_back({bytes, kind});
    return graph.values.size() - 1;
  }

  void addForward(bool isLast) {
    StageUnit unit;
    unit.reads = someOf(forwardValues());
    unit.seconds = oneIn(6) ? 0 : below(40);
    unit.recomputeSeconds = unit.seconds + (oneIn(3) ? below(5) : 0);
    unit.scratch = oneIn(4) ? below(8) : 0;
    unit.canRedo = !oneIn(12);
    for (int made = 1 + oneIn(4); made > 0; --made)
      unit.makes.push_back(add(oneIn(8) ? 0 : 1 + below(12), Kind::Inner));
    if (isLast || oneIn(7))
      graph.values[unit.makes.front()].kind = Kind::Output;
    if (oneIn(3) && !graph.forward.empty()) {
      StageUnit &before = graph.forward.back();
      if (before.launch < 0)
        before.launch = graph.forward.size();
      unit.launch = before.launch;
    }
    addInPlace(unit);
    graph.forward.push_back(unit);
  }

  void addBackward(std::vector<int> &gradients, bool isLast) {
    StageUnit unit;
    unit.reads = someOf(forwardValues());
    unit.reads.push_back(gradients[below(gradients.size())]);
    unit.seconds = unit.recomputeSeconds = 1 + below(40);
    unit.scratch = oneIn(4) ? below(8) : 0;
    unit.makes.push_back(
        add(1 + below(12), isLast ? Kind::GradientOut : Kind::Inner));
    gradients.push_back(unit.makes.front());
    if (oneIn(3))
      unit.makes.push_back(add(9, Kind::Born));
    addInPlace(unit);
    graph.backward.push_back(unit);
  }

  std::vector<int> forwardValues() const {
    std::vector<int> result = {0, 1};
    for (const StageUnit &unit : graph.forward)
      result.insert(result.end(), unit.makes.begin(), unit.makes.end());
    return result;
  }
  llvm::SmallVector<int> someOf(std::vector<int> values) {
    std::shuffle(values.begin(), values.end(), random);
    values.resize(std::min<size_t>(values.size(), 1 + below(3)));
    return {values.begin(), values.end()};
  }
  void addInPlace(StageUnit &unit) {
    if (oneIn(2))
      unit.inPlace.push_back(
          {unit.reads[below(unit.reads.size())], unit.makes.back()});
  }

  std::mt19937 random;
};

using Numbers = std::array<double, 7>;

/// What no other option may beat in everything.
Numbers numbersOf(const ChainOption &cost) {
  return {double(cost.saved),
          cost.forward + cost.backward,
          double(cost.saved + cost.forwardPeak),
          double(cost.lastSaved + cost.backwardPeak),
          double(cost.needsInput),
          double(cost.lastSaved),
          cost.lastForward + cost.backward};
}

bool isAtMost(const Numbers &left, const Numbers &right) {
  return std::equal(left.begin(), left.end(), right.begin(),
                    std::less_equal<>());
}

std::vector<std::set<int>> recomputableSubsets(const StageGraph &graph) {
  std::vector<std::set<int>> subsets = {{}};
  for (int unit = 0; unit != static_cast<int>(graph.forward.size()); ++unit)
    if (graph.forward[unit].canRedo)
      for (size_t number = 0, end = subsets.size(); number != end; ++number) {
        subsets.push_back(subsets[number]);
        subsets.back().insert(unit);
      }
  return subsets;
}

std::set<Numbers> frontOf(const std::set<Numbers> &all) {
  std::set<Numbers> front;
  for (const Numbers &numbers : all)
    if (llvm::none_of(all, [&](const Numbers &other) {
          return other != numbers && isAtMost(other, numbers);
        }))
      front.insert(numbers);
  return front;
}

class RandomStages : public testing::TestWithParam<unsigned> {};

TEST_P(RandomStages, ArePricedAsDefined) {
  const StageGraph graph = RandomStage(GetParam()).graph;
  for (const std::set<int> &subset : recomputableSubsets(graph)) {
    const StageOracle oracle(graph, subset);
    const StageOption option =
        priced(graph, {{subset.begin(), subset.end()}, {}, {}});
    ASSERT_EQ(std::set<int>(option.recomputed.begin(), option.recomputed.end()),
              oracle.recomputed);
    ASSERT_EQ(std::set<int>(option.saved.begin(), option.saved.end()),
              oracle.saved);
    ASSERT_EQ(numbersOf(option.cost), numbersOf(oracle.cost));
  }
}

TEST_P(RandomStages, HaveTheFrontOfAllSubsets) {
  const StageGraph graph = RandomStage(GetParam()).graph;
  std::set<Numbers> all, found;
  for (const std::set<int> &subset : recomputableSubsets(graph))
    all.insert(numbersOf(StageOracle(graph, subset).cost));
  StageLimits limits;
  limits.kept = 1 << 20;
  for (const StageOption &option : planStage(graph, limits))
    found.insert(numbersOf(option.cost));
  EXPECT_EQ(found, frontOf(all));
}

TEST_P(RandomStages, KeepTheLeastOfBytesSecondsAndPeak) {
  const StageGraph graph = RandomStage(GetParam()).graph;
  StageLimits limits;
  limits.kept = 1 << 20;
  const auto all = planStage(graph, limits);
  limits.kept = 4;
  const auto kept = planStage(graph, limits);
  EXPECT_EQ(kept.size(), std::min<size_t>(all.size(), 4));
  auto least = [](llvm::ArrayRef<StageOption> options, auto numberOf) {
    double result = numberOf(numbersOf(options.front().cost));
    for (const StageOption &option : options)
      result = std::min(result, numberOf(numbersOf(option.cost)));
    return result;
  };
  auto saved = [](const Numbers &numbers) { return numbers[0]; };
  auto seconds = [](const Numbers &numbers) { return numbers[1]; };
  auto peak = [](const Numbers &numbers) {
    return std::max(numbers[2], numbers[3]);
  };
  EXPECT_EQ(least(kept, saved), least(all, saved));
  EXPECT_EQ(least(kept, seconds), least(all, seconds));
  EXPECT_EQ(least(kept, peak), least(all, peak));
  for (const StageOption &option : kept)
    EXPECT_TRUE(llvm::any_of(all, [&](const StageOption &other) {
      return other.recomputed == option.recomputed;
    }));
  for (size_t number = 1; number < kept.size(); ++number)
    EXPECT_GE(kept[number - 1].cost.saved, kept[number].cost.saved);
}

/// What it adds to the step to run these units again, by the definition that
/// the cut uses: what the output does not need runs in one visit or the other.
double recomputeSeconds(const StageGraph &graph,
                        const std::set<int> &recomputed) {
  std::set<int> forOutput, values;
  for (int value = 0; value != static_cast<int>(graph.values.size()); ++value)
    if (graph.values[value].kind == Kind::Output)
      values.insert(value);
  for (int unit = graph.forward.size() - 1; unit >= 0; --unit)
    for (int made : graph.forward[unit].makes)
      if (values.count(made)) {
        forOutput.insert(unit);
        values.insert(graph.forward[unit].reads.begin(),
                      graph.forward[unit].reads.end());
      }
  double sum = 0.0;
  for (int unit : recomputed)
    sum += graph.forward[unit].recomputeSeconds -
           (forOutput.count(unit) ? 0.0 : graph.forward[unit].seconds);
  return sum;
}

TEST_P(RandomStages, HaveTheHullOfAllSubsets) {
  const StageGraph graph = RandomStage(GetParam()).graph;
  std::map<double, int64_t> leastBytes; // by seconds of recompute
  for (const std::set<int> &subset : recomputableSubsets(graph)) {
    const StageOracle oracle(graph, subset);
    auto [entry, isNew] = leastBytes.try_emplace(
        recomputeSeconds(graph, oracle.recomputed), oracle.cost.saved);
    entry->second = std::min(entry->second, oracle.cost.saved);
  }
  std::vector<std::pair<double, int64_t>> expected;
  for (auto [seconds, bytes] : leastBytes) {
    if (!expected.empty() && bytes >= expected.back().second)
      continue;
    while (expected.size() >= 2) {
      auto [t0, b0] = expected[expected.size() - 2];
      auto [t1, b1] = expected.back();
      if ((b0 - b1) * (seconds - t0) > (b0 - bytes) * (t1 - t0))
        break; // a corner: the slope before it is steeper
      expected.pop_back();
    }
    expected.push_back({seconds, bytes});
  }
  std::vector<std::pair<double, int64_t>> found;
  for (const StageOption &option : planStageHull(graph))
    found.push_back(
        {recomputeSeconds(graph, std::set<int>(option.recomputed.begin(),
                                               option.recomputed.end())),
         option.cost.saved});
  EXPECT_EQ(found, expected);
}

TEST_P(RandomStages, GainWhereUnitsRunAgainForEachReader) {
  const StageGraph graph = RandomStage(GetParam()).graph;
  StageLimits once, each;
  once.kept = each.kept = 1 << 20;
  each.perReader = true;
  const auto options = planStage(graph, each);
  for (const StageOption &option : planStage(graph, once))
    EXPECT_TRUE(llvm::any_of(options, [&](const StageOption &other) {
      return isAtMost(numbersOf(other.cost), numbersOf(option.cost));
    }));
  for (const StageOption &option : options)
    EXPECT_EQ(numbersOf(priced(graph, option).cost), numbersOf(option.cost));
}

INSTANTIATE_TEST_SUITE_P(StageOptions, RandomStages, testing::Range(0u, 300u));
} // namespace
