//===- ChainPlannerTest.cpp - Schedules within a budget -------------------===//

#include "ExactChain.h"

#include "llvm/ADT/STLExtras.h"

#include "gtest/gtest.h"

#include <cmath>
#include <ctime>
#include <random>

using namespace hone;

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();

class Random {
public:
  explicit Random(unsigned seed) : engine(seed) {}
  int64_t in(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(engine);
  }
  bool once(int64_t in) { return this->in(1, in) == 1; }

private:
  std::mt19937 engine;
};

ChainStage randomStage(Random &random) {
  ChainStage stage;
  double forward = random.in(1, 9);
  // To run a stage for its output and again for what it saves never beats
  // doing both at once.
  int64_t unread = random.in(0, int64_t(forward) / 2);
  stage.forward = forward - random.in(0, int64_t(forward) / 2);
  stage.forwardPeak = random.in(0, 2);
  stage.outputBytes = stage.gradientBytes = random.in(1, 5);
  stage.bornBytes = random.once(3) ? random.in(1, 2) : 0;
  int64_t inner = random.in(1, 8);
  double backward = 2 * forward;
  for (int option = random.once(2) ? 2 : 1; option != 0 && inner > 0;
       --option) {
    ChainOption way;
    way.forward = forward;
    way.lastForward = forward - unread;
    way.backward = backward;
    way.saved = stage.outputBytes + inner;
    way.lastSaved = random.once(5) ? way.saved : inner;
    way.forwardPeak = random.in(0, 2);
    way.backwardPeak = random.in(0, 3);
    way.needsInput = !random.once(5);
    stage.options.push_back(way);
    backward += random.in(1, 3);
    inner = random.in(0, inner - 1);
  }
  return stage;
}

Chain randomChain(unsigned seed, int least = 3, int most = 5) {
  Random random(seed);
  Chain chain;
  for (int64_t left = random.in(least, most); left != 0; --left)
    chain.stages.push_back(randomStage(random));
  chain.inputBytes = chain.inputGradientBytes = random.in(1, 5);
  return chain;
}

/// Nine budgets from far too little to what keeping everything needs.
llvm::SmallVector<int64_t> budgetsOf(const Chain &chain) {
  int64_t most = keepAll(chain).bytes;
  llvm::SmallVector<int64_t> budgets;
  for (int64_t part = 0; part <= 8; ++part)
    budgets.push_back(most / 3 + (most - most / 3) * part / 8);
  return budgets;
}

double secondsWithin(const ChainPlanner &planner, int64_t bytes) {
  auto schedule = planner.schedule(bytes);
  return schedule ? schedule->seconds : infinity;
}

ChainPlanner planFor(const Chain &chain, ChainLimits limits = {}) {
  return ChainPlanner(chain, std::numeric_limits<int64_t>::max() / 2, limits);
}

ChainLimits persistent() {
  ChainLimits limits;
  limits.lazy = false;
  return limits;
}

/// `count` stages of one kind, saving costs nothing but a step forward.
Chain uniformChain(int count, int64_t output, int64_t saved, double forward,
                   double backward) {
  Chain chain;
  ChainStage stage;
  stage.forward = forward;
  stage.outputBytes = stage.gradientBytes = output;
  ChainOption option;
  option.forward = option.lastForward = forward;
  option.backward = backward;
  option.saved = option.lastSaved = saved;
  stage.options = {option};
  chain.stages.assign(count, stage);
  chain.inputBytes = chain.inputGradientBytes = output;
  return chain;
}

/// Like a transformer: an embedding, equal layers, a head with large logits.
Chain layeredChain(int layers, int options, int64_t grain) {
  Chain chain = uniformChain(layers + 2, 2 * grain, 0, 100, 200);
  chain.inputBytes = chain.inputGradientBytes = 0;
  for (ChainStage &layer : chain.stages) {
    layer.forwardPeak = 8 * grain;
    layer.options.clear();
    for (int index = 0; index != options; ++index) {
      double part = options == 1 ? 0 : double(index) / (options - 1);
      ChainOption option;
      option.forward = 100;
      option.lastForward = 72;
      option.backward = 200 + 70 * part * part;
      option.lastSaved = grain * (32 - int64_t(26 * part));
      option.saved = option.lastSaved + 2 * grain;
      option.forwardPeak = 2 * grain;
      option.backwardPeak = grain * (4 + int64_t(4 * part));
      layer.options.push_back(option);
    }
  }
  ChainStage &embedding = chain.stages.front(), &head = chain.stages.back();
  embedding.forward = 2;
  embedding.options = {{2, 4, 2 * grain, 0, 0, false, 2, 0}};
  head.forward = 60;
  head.outputBytes = head.gradientBytes = 0;
  head.options = {{60, 120, 40 * grain, 0, 40 * grain, true, 60, 40 * grain}};
  return chain;
}

TEST(ChainPlanner, EqualsExhaustiveSearch) {
  int cases = 0, equal = 0, below = 0, over = 0;
  double gap = 0;
  for (unsigned seed = 0; seed != 500; ++seed) {
    Chain chain = randomChain(seed);
    ChainPlanner planner = planFor(chain);
    ASSERT_TRUE(planner.isOptimal());
    for (int64_t budget : budgetsOf(chain)) {
      double exact = searchExactly(chain, budget);
      auto schedule = planner.schedule(budget);
      double seconds = schedule ? schedule->seconds : infinity;
      if (exact == infinity && !schedule)
        continue;
      ++cases;
      equal += seconds == exact;
      below += seconds < exact;
      over += schedule && schedule->bytes > budget;
      if (seconds != infinity)
        gap = std::max(gap, seconds / exact - 1);
    }
  }
  RecordProperty("cases", cases);
  RecordProperty("equal", equal);
  RecordProperty("gap", std::to_string(gap));
  EXPECT_EQ(below, 0);
  EXPECT_EQ(over, 0);
  EXPECT_GE(equal, cases * 99 / 100) << "of " << cases << ", gap " << gap;
}

// The table promises for each of its points what simulate() then finds.
TEST(ChainPlanner, SchedulesKeepTheTablesPromise) {
  for (unsigned seed = 0; seed != 200; ++seed) {
    SCOPED_TRACE(seed);
    Chain chain = randomChain(seed, 1, 12);
    ChainPlanner planner = planFor(chain);
    auto curve = planner.curve();
    ASSERT_FALSE(curve.empty());
    for (ChainPoint point : curve) {
      auto schedule = planner.schedule(point.bytes);
      ASSERT_TRUE(schedule);
      EXPECT_LE(schedule->bytes, point.bytes);
      // Faster only where a schedule that the table puts higher fits too.
      EXPECT_LE(schedule->seconds, point.seconds * (1 + 1e-9));
      EXPECT_TRUE(llvm::any_of(curve, [&](ChainPoint other) {
        return std::abs(other.seconds - schedule->seconds) <
               1e-9 * other.seconds;
      }));
    }
  }
}

TEST(ChainPlanner, MoreMemoryIsNeverSlower) {
  for (unsigned seed = 0; seed != 100; ++seed) {
    SCOPED_TRACE(seed);
    Chain chain = randomChain(seed, 6, 14);
    ChainPlanner planner = planFor(chain);
    double before = infinity;
    for (int64_t budget = 0; budget <= keepAll(chain).bytes; ++budget) {
      double seconds = secondsWithin(planner, budget);
      EXPECT_LE(seconds, before) << budget;
      before = seconds;
    }
    EXPECT_LE(before, keepAll(chain).seconds);
  }
}

TEST(ChainPlanner, SmallestIsWhereSchedulesBegin) {
  for (unsigned seed = 0; seed != 100; ++seed) {
    SCOPED_TRACE(seed);
    Chain chain = randomChain(seed, 1, 10);
    ChainPlanner planner = planFor(chain);
    auto smallest = planner.smallest();
    ASSERT_TRUE(smallest);
    EXPECT_TRUE(planner.schedule(*smallest));
    EXPECT_FALSE(planner.schedule(*smallest - 1));
    // A planner that is given no more finds the same.
    EXPECT_EQ(ChainPlanner(chain, *smallest).smallest(), smallest);
  }
}

TEST(ChainPlanner, TooLittleMemoryHasNoSchedule) {
  Chain chain = uniformChain(6, 2, 8, 10, 20);
  ChainPlanner planner(chain, 9);
  EXPECT_FALSE(planner.smallest());
  EXPECT_FALSE(planner.schedule(9));
  EXPECT_TRUE(planner.curve().empty());
  EXPECT_EQ(planner.lowerBound(9), infinity);
}

TEST(ChainPlanner, EqualSegmentsMayShareATable) {
  ChainLimits apart;
  apart.collapse = false;
  for (unsigned seed = 0; seed != 40; ++seed) {
    SCOPED_TRACE(seed);
    // A prologue, two kinds of layers in turn, an epilogue.
    Chain chain = randomChain(seed, 4, 4);
    ChainStage last = chain.stages.pop_back_val();
    for (int repeat = 0; repeat != 5; ++repeat)
      for (int layer : {1, 2})
        chain.stages.push_back(ChainStage(chain.stages[layer]));
    chain.stages.push_back(last);
    ChainPlanner together = planFor(chain), alone = planFor(chain, apart);
    auto curve = together.curve(), other = alone.curve();
    ASSERT_EQ(curve.size(), other.size());
    for (auto [a, b] : llvm::zip(curve, other)) {
      EXPECT_EQ(a.bytes, b.bytes);
      EXPECT_DOUBLE_EQ(a.seconds, b.seconds);
      EXPECT_DOUBLE_EQ(secondsWithin(together, a.bytes),
                       secondsWithin(alone, a.bytes));
    }
  }
}

// Published solver, run offline: budgets there exclude the first input and the
// last output.
TEST(ChainPlanner, PersistentSchedulesEqualRotor) {
  Chain chain = uniformChain(6, 2, 8, 10, 20);
  ChainPlanner planner = planFor(chain, persistent());
  EXPECT_EQ(secondsWithin(planner, 4 + 10), infinity);
  std::pair<int64_t, double> golden[] = {{14, 260}, {18, 230}, {22, 220},
                                         {30, 210}, {38, 200}, {46, 190},
                                         {50, 180}};
  for (auto [budget, seconds] : golden)
    EXPECT_EQ(secondsWithin(planner, 4 + budget), seconds) << budget;
}

/// Least steps forward to reverse `steps` with `slots` states in memory
/// (Griewank and Walther): r steps - C(slots + r, slots + 1).
double binomialSteps(int64_t steps, int64_t slots) {
  auto choose = [](int64_t n, int64_t k) {
    double result = 1;
    for (int64_t factor = 1; factor <= k; ++factor)
      result = result * (n - k + factor) / factor;
    return std::round(result);
  };
  int64_t repeats = 0;
  while (choose(slots + repeats, slots) < steps)
    ++repeats;
  return repeats * steps -
         (repeats == 0 ? 0 : choose(slots + repeats, slots + 1));
}

TEST(ChainPlanner, UniformChainsEqualTheBinomial) {
  // A saved set fits once, so that only states are kept; saving is free, as the
  // binomial counts only steps that advance.
  constexpr int64_t large = 100;
  for (int steps : {1, 2, 5, 10, 23, 40}) {
    Chain chain = uniformChain(steps, 1, large, 1, 0);
    for (ChainStage &stage : chain.stages) {
      stage.gradientBytes = 0;
      stage.options[0].forward = stage.options[0].lastForward = 0;
    }
    chain.inputGradientBytes = 0;
    for (ChainLimits limits : {persistent(), ChainLimits()}) {
      ChainPlanner planner(chain, large + 50, limits);
      for (int slots : {1, 2, 3, 5, 8})
        // The binomial does not count the state that a step runs from.
        EXPECT_EQ(secondsWithin(planner, large + slots + 1),
                  binomialSteps(steps, slots))
            << steps << " steps, " << slots << " slots";
    }
  }
}

TEST(ChainPlanner, LazyInputsNeverLoseAndSometimesWin) {
  int faster = 0;
  for (unsigned seed = 0; seed != 100; ++seed) {
    SCOPED_TRACE(seed);
    Chain chain = randomChain(seed, 4, 10);
    ChainPlanner lazy = planFor(chain), plain = planFor(chain, persistent());
    for (int64_t budget : budgetsOf(chain)) {
      double with = secondsWithin(lazy, budget);
      double without = secondsWithin(plain, budget);
      EXPECT_LE(with, without);
      faster += with < without;
    }
  }
  EXPECT_GT(faster, 0);
}

TEST(ChainPlanner, LazyInputsEndWhereTheyTakeTooMuchWork) {
  Chain chain = randomChain(3, 10, 10);
  auto lazy = planFor(chain).curve();
  auto plain = planFor(chain, persistent()).curve();
  ChainLimits little;
  little.work = 1000;
  auto limited = planFor(chain, little).curve();
  auto isEqual = [&](const auto &curve) {
    return llvm::equal(curve, plain, [](ChainPoint a, ChainPoint b) {
      return a.bytes == b.bytes && a.seconds == b.seconds;
    });
  };
  EXPECT_TRUE(isEqual(limited));
  EXPECT_FALSE(isEqual(lazy));
}

TEST(ChainPlanner, AnInputThatIsNotNeededIsReleased) {
  Chain chain = uniformChain(3, 50, 60, 10, 20);
  for (ChainStage &stage : chain.stages) {
    stage.gradientBytes = 0;
    stage.options[0].lastSaved = 10;
  }
  chain.inputBytes = chain.inputGradientBytes = 0;
  // b2 holds a_1, a_0 and three saved sets.
  EXPECT_EQ(secondsWithin(planFor(chain), 129), 100);
  EXPECT_EQ(secondsWithin(planFor(chain), 130), 90);
  chain.stages[1].options[0].needsInput = false;
  // Now f1 (a_0, a_1, two saved sets) needs most.
  EXPECT_EQ(secondsWithin(planFor(chain), 119), 100);
  EXPECT_EQ(secondsWithin(planFor(chain), 120), 90);
}

TEST(ChainPlanner, ARedoMakesNoOutputThatNobodyReads) {
  Chain chain = uniformChain(2, 10, 40, 10, 20);
  chain.stages[0].options[0].lastForward = 7;
  ChainPlanner planner = planFor(chain);
  auto schedule = planner.schedule(*planner.smallest());
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->visits.size(), 5u); // f0 f1 b1 f0 b0
  EXPECT_EQ(schedule->seconds, 10 + 10 + 20 + 7 + 20);
}

// 40 layers whose sizes have no common unit.
TEST(ChainPlanner, RoundedSizesStayWithinTheBudget) {
  Chain chain = layeredChain(40, 4, 1000003);
  chain.stages[7].options[0].saved += 1;
  chain.stages[7].options[0].lastSaved += 1;
  ChainLimits coarse;
  coarse.exactSlots = 100;
  coarse.slots = 300;
  ChainPlanner planner = planFor(chain, coarse);
  EXPECT_FALSE(planner.isOptimal());
  int64_t all = keepAll(chain).bytes;
  for (int part = 3; part <= 20; ++part) {
    int64_t budget = all * part / 20;
    auto schedule = planner.schedule(budget);
    ASSERT_TRUE(schedule) << part;
    EXPECT_LE(schedule->bytes, budget);
    EXPECT_LE(planner.lowerBound(budget), schedule->seconds);
    EXPECT_GE(planner.lowerBound(budget), 0.9 * schedule->seconds);
  }
  EXPECT_EQ(secondsWithin(planner, all), keepAll(chain).seconds);
}

TEST(ChainPlanner, ExactSizesCloseTheBound) {
  Chain chain = layeredChain(10, 4, 4096);
  ChainPlanner planner = planFor(chain);
  ASSERT_TRUE(planner.isOptimal());
  for (ChainPoint point : planner.curve()) {
    double seconds = secondsWithin(planner, point.bytes);
    EXPECT_NEAR(planner.lowerBound(point.bytes), seconds, 1e-6 * seconds);
  }
}

TEST(ChainPlanner, TablesKeepToTheirBound) {
  ChainLimits small;
  small.tableBytes = 1 << 20;
  Chain chain = layeredChain(40, 4, 4096);
  ASSERT_TRUE(planFor(chain).isOptimal());
  ChainPlanner planner = planFor(chain, small);
  EXPECT_FALSE(planner.isOptimal());
  int64_t budget = keepAll(chain).bytes / 2;
  auto schedule = planner.schedule(budget);
  ASSERT_TRUE(schedule);
  EXPECT_LE(schedule->bytes, budget);
}

// Of many stages an output is less than a slot. It must not count as one.
TEST(ChainPlanner, SmallOutputsAreNotRoundedUp) {
  Chain chain = layeredChain(300, 2, 4096);
  ChainLimits coarse = persistent();
  coarse.exactSlots = 0;
  coarse.slots = 1024;
  ChainPlanner planner = planFor(chain, coarse);
  ChainSchedule all = keepAll(chain), full = recomputeAll(chain);
  for (int64_t budget : {full.bytes, all.bytes / 3, all.bytes}) {
    auto schedule = planner.schedule(budget);
    ASSERT_TRUE(schedule);
    EXPECT_LE(schedule->bytes, budget);
    EXPECT_LE(schedule->seconds, full.seconds);
  }
}

TEST(ChainPlanner, BeatsTheClassicSchedulesAtTheirMemory) {
  Chain chain = layeredChain(24, 6, 4096);
  ChainPlanner planner = planFor(chain);
  for (const ChainSchedule &classic :
       {keepAll(chain), squareRoot(chain), recomputeAll(chain)})
    EXPECT_LE(secondsWithin(planner, classic.bytes), classic.seconds);
  EXPECT_LT(secondsWithin(planner, recomputeAll(chain).bytes),
            recomputeAll(chain).seconds);
}

// --gtest_also_run_disabled_tests: figures of the rationale page.
TEST(ChainPlanner, DISABLED_Timing) {
  for (auto [layers, options] : {std::pair{24, 8}, {100, 8}, {1000, 8}}) {
    // No common unit: 4096 slots.
    Chain chain = layeredChain(layers, options, 1000003);
    chain.stages[0].forwardPeak = 1;
    auto now = [] { return double(std::clock()) / CLOCKS_PER_SEC; };
    double start = now();
    ChainPlanner planner = planFor(chain);
    double planned = now();
    auto schedule = planner.schedule(keepAll(chain).bytes / 3);
    double read = now();
    std::printf("%d layers, %d options: table %.3f s, schedule %.3f s, "
                "%zu visits, overhead %.2f %%\n",
                layers, options, planned - start, read - planned,
                schedule->visits.size(),
                100 * (schedule->seconds / keepAll(chain).seconds - 1));
  }
}
} // namespace
