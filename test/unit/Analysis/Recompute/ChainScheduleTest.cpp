//===- ChainScheduleTest.cpp - What chain schedules cost ------------------===//

#include "hone/Analysis/Recompute/ChainSchedule.h"

#include "llvm/ADT/StringRef.h"

#include "gtest/gtest.h"

using namespace hone;

namespace {
/// a_s of 10 bytes, gradients of 7. Saved: 30 bytes beside a_s.
ChainStage plainStage() {
  ChainStage stage;
  stage.forward = 3;
  stage.forwardPeak = 1;
  stage.outputBytes = 10;
  stage.gradientBytes = 7;
  ChainOption option;
  option.forward = 4;
  option.backward = 8;
  option.saved = 40;
  option.lastForward = 2;
  option.lastSaved = 30;
  stage.options = {option};
  return stage;
}

Chain plainChain(int stages) {
  Chain chain;
  chain.stages.assign(stages, plainStage());
  chain.stages.back().outputBytes = 0;
  chain.stages.back().gradientBytes = 0;
  chain.inputBytes = 5;
  chain.inputGradientBytes = 6;
  return chain;
}

/// Visits in the text form: "f-1 f0 b0 b-1", numbered from 1.
ChainSchedule visit(const Chain &chain, llvm::StringRef text) {
  ChainSchedule schedule;
  schedule.option.assign(chain.stages.size(), 0);
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ' ');
  for (llvm::StringRef word : words) {
    bool isForward = word.consume_front("f");
    word.consume_front("b");
    schedule.visits.push_back({isForward, std::stoi(word.str())});
  }
  return schedule;
}

ChainRun run(const Chain &chain, const ChainSchedule &schedule) {
  std::string problem;
  std::optional<ChainRun> run = simulate(chain, schedule, problem);
  EXPECT_TRUE(run) << problem;
  return run.value_or(ChainRun{-1, -1});
}

ChainRun run(const Chain &chain, llvm::StringRef text) {
  return run(chain, visit(chain, text));
}

std::string problemOf(const Chain &chain, const ChainSchedule &schedule) {
  std::string problem;
  EXPECT_FALSE(simulate(chain, schedule, problem));
  return problem;
}

std::string problemOf(const Chain &chain, llvm::StringRef text) {
  return problemOf(chain, visit(chain, text));
}

std::string toText(const ChainSchedule &schedule) {
  std::string text;
  for (ChainVisit visit : schedule.visits)
    text += (text.empty() ? "" : " ") +
            std::string(visit.isForward ? "f" : "b") +
            std::to_string(visit.stage);
  return text;
}

TEST(ChainSimulation, KeepingAllHoldsEverySavedSet) {
  Chain chain = plainChain(3);
  // Input 5, saved 40 + 40, the turn's 30 (nobody reads its output), gradient
  // of a_1 7.
  ChainRun result = run(chain, "f0 f1 f2 b2 b1 b0");
  EXPECT_EQ(result.peakBytes, 5 + 40 + 40 + 30 + 7);
  EXPECT_EQ(result.seconds, 4 + 4 + 2 + 3 * 8);
}

TEST(ChainSimulation, OnlyTheLastForwardVisitSaves) {
  Chain chain = plainChain(3);
  // In b2: a_0, a_1 (10 each), the turn's 30, the gradient. In b1: a_0, its 30,
  // two gradients. The last f1 and f0 make no output.
  ChainRun result = run(chain, "f0 f1 f2 b2 f1 b1 f0 b0");
  EXPECT_EQ(result.peakBytes, 5 + 10 + 10 + 30 + 7);
  EXPECT_EQ(result.seconds, 3 + 3 + 2 + 2 + 2 + 3 * 8);
}

TEST(ChainSimulation, InputIsDroppedUntilARedoBringsItBack) {
  Chain chain = plainChain(3);
  chain.stages[1].options[0].saved = 35;
  chain.stages[1].options[0].lastSaved = 35;
  chain.stages[0].outputBytes = 100;
  chain.stages[0].options[0].saved = 130;
  // Stage 1 stays saved (35) while a_0 (100) is dropped behind f1 and made
  // again, with all of stage 0, for b1. The peak is in b1.
  ChainRun result = run(chain, "f0 f1 f2 b2 f0 b1 b0");
  EXPECT_EQ(result.peakBytes, 5 + 130 + 35 + 7 + 7);
  EXPECT_EQ(result.seconds, 3 + 4 + 2 + 4 + 3 * 8);
}

TEST(ChainSimulation, InputNobodyNeedsIsDropped) {
  Chain chain = plainChain(2);
  chain.stages[0].outputBytes = 100;
  chain.stages[0].options[0].saved = 130;
  EXPECT_EQ(run(chain, "f0 f1 b1 b0").peakBytes, 5 + 130 + 30 + 7);
  chain.stages[1].options[0].needsInput = false;
  // a_0 is gone in b1; the peak is f1, which still reads it.
  EXPECT_EQ(run(chain, "f0 f1 b1 b0").peakBytes, 5 + 130 + 30);
}

TEST(ChainSimulation, TransientsCountInTheirVisit) {
  Chain chain = plainChain(2);
  chain.stages[0].forwardPeak = 1000;
  EXPECT_EQ(run(chain, "f0 f1 b1 f0 b0").peakBytes, 5 + 10 + 1000);
  chain.stages[0].options[0].forwardPeak = 2000;
  EXPECT_EQ(run(chain, "f0 f1 b1 f0 b0").peakBytes, 5 + 7 + 30 + 2000);
  chain.stages[0].options[0].backwardPeak = 3000;
  EXPECT_EQ(run(chain, "f0 f1 b1 f0 b0").peakBytes, 5 + 7 + 30 + 6 + 3000);
}

TEST(ChainSimulation, BornBytesStay) {
  Chain chain = plainChain(2);
  chain.stages[1].bornBytes = 500;
  EXPECT_EQ(run(chain, "f0 f1 b1 b0").peakBytes, 5 + 40 + 30 + 7 + 500);
  chain.stages[0].bornBytes = 200;
  EXPECT_EQ(run(chain, "f0 f1 b1 b0").peakBytes, 5 + 30 + 7 + 6 + 700);
}

TEST(ChainSimulation, OrderOfBackwardIsFixed) {
  EXPECT_EQ(problemOf(plainChain(2), "f0 f1 b0 b1"),
            "visit 3 (b0) is not the backward visit that is due, b1");
}

TEST(ChainSimulation, EveryBackwardIsThereOnce) {
  EXPECT_EQ(problemOf(plainChain(1), "f0 b0 b0"),
            "visit 3 (b0) follows the last backward visit");
  EXPECT_EQ(problemOf(plainChain(3), "f0 f1 f2 b2"), "b1 is missing");
}

TEST(ChainSimulation, BackwardNeedsAForward) {
  EXPECT_EQ(problemOf(plainChain(1), "b0"),
            "visit 1 (b0) has no forward visit before it");
}

TEST(ChainSimulation, ForwardNeedsItsInput) {
  EXPECT_EQ(problemOf(plainChain(3), "f0 f2 f1 b2 b1 b0"),
            "visit 2 (f2) has no f1 before it");
}

TEST(ChainSimulation, VisitsForNothingAreRefused) {
  EXPECT_EQ(problemOf(plainChain(2), "f0 f1 f1 b1 b0"),
            "visit 2 (f1) makes nothing that is read");
  EXPECT_EQ(problemOf(plainChain(2), "f0 f1 b1 b0 f0"),
            "visit 5 (f0) makes nothing that is read");
}

TEST(ChainSimulation, StagesAndOptionsMustExist) {
  Chain chain = plainChain(2);
  EXPECT_EQ(problemOf(chain, "f0 f1 f2 b1 b0"), "visit 3 (f2) is of no stage");
  ChainSchedule schedule = visit(chain, "f0 f1 b1 b0");
  schedule.option[1] = 1;
  EXPECT_EQ(problemOf(chain, schedule), "stage 1 has no option 1");
  schedule.option.pop_back();
  EXPECT_EQ(problemOf(chain, schedule), "there are 1 options for 2 stages");
}

TEST(ChainPolicies, KeepAllVisitsOnce) {
  Chain chain = plainChain(4);
  ChainSchedule schedule = keepAll(chain);
  EXPECT_EQ(toText(schedule), "f0 f1 f2 f3 b3 b2 b1 b0");
  EXPECT_EQ(schedule.seconds, run(chain, schedule).seconds);
  EXPECT_EQ(schedule.bytes, run(chain, schedule).peakBytes);
}

TEST(ChainPolicies, RecomputeAllRedoesEachStageBeforeItsBackward) {
  EXPECT_EQ(toText(recomputeAll(plainChain(4))),
            "f0 f1 f2 f3 b3 f2 b2 f1 b1 f0 b0");
}

TEST(ChainPolicies, SquareRootRedoesSegments) {
  EXPECT_EQ(toText(squareRoot(plainChain(7))),
            "f0 f1 f2 f3 f4 f5 f6 b6 f3 f4 f5 b5 b4 b3 f0 f1 f2 b2 b1 b0");
  // ceil(sqrt(2)) is 2: one segment.
  EXPECT_EQ(toText(squareRoot(plainChain(2))), "f0 f1 b1 b0");
}
} // namespace
