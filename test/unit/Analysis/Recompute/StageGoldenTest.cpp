//===- StageGoldenTest.cpp - Stages with known optima ---------------------===//

#include "StageOracle.h"

#include <gtest/gtest.h>
#include <limits>

using namespace hone;
using namespace hone::test;

namespace {
//===----------------------------------------------------------------------===//
// A block of GPT-2 XL by a roofline
//===----------------------------------------------------------------------===//

/// Bytes are values of one of 1600 features per token, seconds nanoseconds per
/// token at 0.7 of an H200's peak and 0.85 of its bandwidth, s = 1024.
class XlBlock {
public:
  XlBlock() {
    stage.value("x", 2, Kind::Input);
    stage.value("w", 0, Kind::Fixed);
    stage.value("dy", 2, Kind::GradientIn);
    stage.forward("ln1", 2, moved(4), {"x"});
    stage.forward("qkv", 6, matmul(6 * h), {"ln1", "w"});
    stage.forward("attn", 2, matmul(2 * 1024 / 0.7), {"qkv"});
    stage.forward("proj", 2, matmul(2 * h), {"attn", "w"});
    stage.forward("mask1", 1, 0.0, {"w"});
    stage.forward("res1", 2, moved(6), {"x", "proj", "mask1"});
    stage.forward("ln2", 2, moved(4), {"res1"});
    stage.forward("fc1", 8, matmul(8 * h), {"ln2", "w"});
    stage.forward("gelu", 8, moved(16), {"fc1"});
    stage.forward("mask2", 1, 0.0, {"w"});
    stage.forward("y", 2, matmul(8 * h), {"gelu", "mask2", "res1", "w"},
                  Kind::Output);
    stage.backward("dx", 2, 1.0,
                   {"dy", "ln1", "qkv", "attn", "mask1", "res1", "ln2", "fc1",
                    "gelu", "mask2", "x"},
                   Kind::GradientOut);
  }

  StageWriter stage;

private:
  static constexpr double h = 1600.0;
  /// Of products per feature.
  static double matmul(double products) {
    return products * h / (0.7 * 989e12) * 1e9;
  }
  static double moved(double bytes) {
    return bytes * h / (0.85 * 4.8e12) * 1e9;
  }
};

TEST(StageGolden, XlBlockRedoesAsLittleAsPublished) {
  const XlBlock block;
  StageLimits limits;
  limits.kept = 100;
  const auto options = planStage(block.stage.graph, limits);
  double forward = 0.0;
  for (const StageUnit &unit : block.stage.graph.forward)
    forward += unit.seconds;

  // Saved without the output; % of the block's forward time.
  const std::pair<int64_t, double> table[] = {
      {30, 0.0},  {28, 1.5},  {26, 2.9}, {22, 5.8}, {20, 7.3}, {18, 8.8},
      {16, 15.1}, {10, 35.8}, {8, 42.7}, {2, 63.3}, {0, 72.4}};
  for (auto [saved, percent] : table) {
    double least = std::numeric_limits<double>::infinity();
    bool isOffered = false;
    for (const StageOption &option : options) {
      isOffered |= option.cost.saved == saved + 2;
      if (option.cost.saved <= saved + 2)
        least = std::min(least, option.cost.forward + option.cost.backward -
                                    forward - 1.0);
    }
    EXPECT_TRUE(isOffered) << saved;
    EXPECT_NEAR(100.0 * least / forward, percent, 0.05) << saved;
  }
  // Its own output is not among what a block redoes for itself.
  EXPECT_LT(options.back().cost.lastForward, 0.01 * forward);
}

//===----------------------------------------------------------------------===//
// A toy layer, against a mixed-integer program
//===----------------------------------------------------------------------===//

/// One layer of ops in (bytes, cost), as in Checkmate's model (Jain et al.
/// 2020): everything between the loss and the layer's input can be dropped.
/// The first layer makes its own input, the last one the loss's gradient.
StageGraph toyLayer(bool isFirst, bool isLast) {
  StageWriter stage;
  if (isFirst)
    stage.forward("x", 2, 1, {});
  else
    stage.value("x", 2, Kind::Input);
  stage.forward("ln1", 2, 2, {"x"});
  stage.forward("qkv", 6, 22, {"ln1"});
  stage.forward("at", 2, 7, {"qkv"});
  stage.forward("r1", 2, 10, {"x", "at"});
  stage.forward("ln2", 2, 2, {"r1"});
  stage.forward("f1", 8, 30, {"ln2"});
  stage.forward("g", 8, 6, {"f1"});
  stage.forward("o", 2, 32, {"r1", "g"}, isLast ? Kind::Inner : Kind::Output);
  if (isLast)
    stage.forward("d", 2, 1, {"o"});
  else
    stage.value("d", 2, Kind::GradientIn);
  stage.backward("dg", 8, 60, {"d", "g"});
  stage.backward("df", 8, 10, {"dg", "f1"});
  stage.backward("dl", 2, 60, {"df", "ln2"});
  stage.backward("dr", 2, 5, {"dl", "r1", "d"});
  stage.backward("da", 2, 15, {"dr", "at"});
  stage.backward("dq", 6, 20, {"da", "qkv", "at"});
  stage.backward("dn", 2, 45, {"dq", "ln1"});
  stage.backward("dx", 2, 5, {"dn", "x", "dr"}, Kind::GradientOut);
  return stage.graph;
}

/// The least cost of one layer alone within so many bytes.
double leastCost(int64_t bytes, const StageLimits &limits) {
  double least = std::numeric_limits<double>::infinity();
  for (const StageOption &option :
       planStage(toyLayer(/*isFirst=*/true, /*isLast=*/true), limits)) {
    const ChainOption &cost = option.cost;
    const int64_t peak =
        cost.lastSaved + std::max(cost.forwardPeak, cost.backwardPeak + 2);
    if (peak <= bytes)
      least = std::min(least, cost.lastForward + cost.backward);
  }
  return least;
}

TEST(StageGolden, ToyLayerMeetsTheOptimum) {
  EXPECT_EQ(leastCost(1000, {}), 333.0);
  EXPECT_LE(leastCost(28, {}), 1.01 * 367.0);
  EXPECT_EQ(leastCost(22, {}), std::numeric_limits<double>::infinity());
}
TEST(StageGolden, ToyLayerNeedsSomeUnitsTwice) {
  StageLimits limits;
  EXPECT_EQ(leastCost(24, limits), std::numeric_limits<double>::infinity());
  limits.perReader = true;
  // 499 with each unit at most once per stage of the program's, 471 is the
  // least of all.
  EXPECT_LE(leastCost(24, limits), 1.01 * 499.0);
  EXPECT_GE(leastCost(24, limits), 471.0);
}
/// Both levels: the least cost of a chain of toy layers.
double leastCost(int layers, int64_t bytes) {
  Chain chain;
  for (int layer = 0; layer != layers; ++layer) {
    const StageGraph graph = toyLayer(layer == 0, layer == layers - 1);
    chain.stages.push_back(chainStage(graph, planStage(graph)));
  }
  chain.inputGradientBytes = 2;
  const auto schedule = ChainPlanner(chain, bytes).schedule(bytes);
  if (!schedule)
    return std::numeric_limits<double>::infinity();
  EXPECT_LE(schedule->bytes, bytes);
  return schedule->seconds;
}

TEST(StageGolden, ToyChainsComeWithinAPercentOfTheOptimum) {
  struct {
    int layers;
    int64_t bytes;
    double optimum; // of the program: no op twice in one of its stages
  } const table[] = {{1, 28, 367},  {2, 50, 701},  {2, 40, 737},
                     {2, 32, 767},  {3, 70, 1041}, {3, 45, 1137},
                     {4, 90, 1382}, {4, 60, 1493}};
  for (auto [layers, bytes, optimum] : table)
    EXPECT_LE(leastCost(layers, bytes), 1.01 * optimum)
        << layers << " layers, " << bytes << " bytes";
}

TEST(StageGolden, ToyChainsRedoNothingWhereMemoryIsAmple) {
  EXPECT_EQ(leastCost(1, 1000), 333);
  EXPECT_EQ(leastCost(2, 1000), 664);
  EXPECT_EQ(leastCost(3, 1000), 995);
  EXPECT_EQ(leastCost(4, 1000), 1326);
}
} // namespace
