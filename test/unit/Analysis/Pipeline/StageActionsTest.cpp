//===- StageActionsTest.cpp - Lists of stages, by the runtime's rules -----===//

#include "Cases.h"

#include "hone/Analysis/Pipeline/Check.h"
#include "hone/Analysis/Pipeline/StageActions.h"
#include "hone/Sharding/IR/Dist.h"

#include "honert/honert.h"
#include "program/CheckStages.h"
#include "program/Program.h"
#include "program/Stages.h"
#include "gtest/gtest.h"

#include <map>
#include <memory>

using namespace hone;
using namespace hone::pipeline;
using namespace hone::pipeline::test;
using llvm::StringRef;

namespace {

//===----------------------------------------------------------------------===//
// As the runtime sees them
//===----------------------------------------------------------------------===//

using ProgramPtr = std::unique_ptr<honert_program, void (*)(honert_program *)>;

/// Describes a stage whose functions touch the boundaries that they read and
/// write, and a window of what they save. A boundary between two chunks of the
/// stage is one argument.
class StageDescriber {
public:
  StageDescriber(honert_program *program, const Shape &shape, int stage,
                 llvm::ArrayRef<ChunkWindows> windows, const StageFacts &facts)
      : program(program), shape(shape), stage(stage), windows(windows),
        facts(facts) {}

  void run(const Schedule &schedule) {
    honert_stage(program, stage);
    weights();
    for (int index = 0; index != shape.chunksPerRank; ++index)
      chunk(shape.chunkOf(stage, index));
    overlaps(schedule.ranks[stage]);
    function("update", {value, sums.empty() ? -1 : sums.front()});
    list("step", listStep(schedule, stage, facts));
    list("evaluate", listEvaluation(shape, stage, facts));
  }

private:
  int64_t argument(honert::Kind kind, const std::string &name, int count) {
    int64_t offset = next, dims[] = {16};
    next += 64 * count;
    honert_argument(program, int64_t(kind), name.c_str(), /*f32=*/0, 1, dims,
                    offset);
    honert_argument_window(program, count);
    counts[offset] = count;
    return offset;
  }
  int64_t boundary(const std::string &name, int count) {
    auto [known, isNew] = boundaries.try_emplace(name, 0);
    if (isNew)
      known->second = argument(honert::Kind::boundary, name, count);
    return known->second;
  }

  void weights() {
    for (const SharedWeight &weight : facts.lent) {
      value = argument(honert::Kind::param, weight.name, 1);
      for (const std::string &sum : weight.sums)
        sums.push_back(argument(honert::Kind::grad, sum, 1));
    }
    for (const SharedWeight &weight : facts.borrowed) {
      value = argument(honert::Kind::workingCopy, weight.name, 1);
      for (const std::string &sum : weight.sums)
        sums.push_back(argument(honert::Kind::grad, sum, 1));
    }
    honert_argument(program, int64_t(honert::Kind::scalar), "loss", 0, 0,
                    nullptr, next);
    loss = next;
    next += 64;
  }

  void function(const std::string &name, llvm::ArrayRef<int64_t> touched) {
    honert_function(program, name.c_str());
    for (int64_t offset : touched)
      if (offset >= 0)
        honert_zero(program, offset, 64);
    all[name] = touched.vec();
  }
  /// Those of both parts: the backward one's in instance 1, where there are
  /// several.
  void overlap(const Action &forward, const Action &backward) {
    dist::Chunk own = nameChunk(shape, forward.chunk);
    dist::Chunk other = nameChunk(shape, backward.chunk);
    std::string name = overlapFunction(own, other);
    if (all.count(name))
      return;
    std::vector<int64_t> touched = all.at(own.function("forward"));
    for (int64_t offset :
         all.at(other.function(functionOf(backward.kind, false))))
      touched.push_back(counts[offset] > 1 ? offset + 64 : offset);
    function(name, touched);
  }
  void overlaps(llvm::ArrayRef<Action> actions) {
    for (size_t i = 0; i != actions.size(); ++i)
      if (actions[i].overlapsNext)
        overlap(actions[i], actions[i + 1]);
  }
  void chunk(int number) {
    dist::Chunk name = nameChunk(shape, number);
    const ChunkWindows &own = windows[number];
    int64_t read = -1, back = -1, handed = -1, gradient = -1;
    int64_t saved = argument(honert::Kind::saved, name.function("x"),
                             own[WindowClass::Saved]);
    // What a chunk of this stage hands on is counted where it is written.
    if (number != 0) {
      int made = shape.shareRank(number - 1, number)
                     ? windows[number - 1][WindowClass::ActivationOut]
                     : own[WindowClass::ActivationIn];
      read = boundary(name.input(), made);
      back = boundary(name.inputGradient(), own[WindowClass::GradientOut]);
    }
    if (number + 1 != shape.chunks()) {
      int made = shape.shareRank(number, number + 1)
                     ? windows[number + 1][WindowClass::GradientOut]
                     : own[WindowClass::GradientIn];
      handed = boundary(name.output(), own[WindowClass::ActivationOut]);
      gradient = boundary(name.outputGradient(), made);
    }
    // What the borrower runs adds to its sums, what the owner runs does not.
    bool adds = number + 1 == shape.chunks() && !facts.borrowed.empty();
    int64_t sum = adds ? sums.front() : -1;
    function(name.function("forward"), {read, value, saved, handed});
    function(name.function("backward"), {gradient, saved, value, sum, back});
    function(name.function("backward_input"), {gradient, saved, value, back});
    function(name.function("backward_weight"), {saved, sum});
    function(name.function("accumulate"), {read, value, saved, sum, back});
    function(name.function("evaluate"), {read, value, handed});
    honert_result(program, "loss", 0, 0, nullptr, loss);
  }

  void list(const char *name, const std::vector<StageAction> &actions) {
    for (const StageAction &action : actions) {
      std::string what = action.isRun()
                             ? action.name
                             : action.argumentKind + " " + action.name;
      honert_action(program, name, int64_t(action.kind), what.c_str(),
                    action.micro, action.peer);
      if (action.beside)
        honert_action_beside(program, *action.beside);
    }
  }

  honert_program *program;
  const Shape &shape;
  int stage;
  llvm::ArrayRef<ChunkWindows> windows; // of all chunks
  const StageFacts &facts;
  int64_t next = 0, value = -1, loss = -1;
  std::vector<int64_t> sums;
  std::map<std::string, int64_t> boundaries;
  std::map<int64_t, int> counts;                   // of windows, by offset
  std::map<std::string, std::vector<int64_t>> all; // what functions touch
};

/// What the runtime says of the lists of all stages; "" where they are right.
std::string checkLists(const Schedule &schedule,
                       llvm::ArrayRef<ChunkWindows> windows,
                       llvm::ArrayRef<StageFacts> facts) {
  ProgramPtr program(honert_program_new(), honert_program_free);
  honert_meta_number(program.get(), "micro_batches",
                     schedule.shape.microBatches);
  for (int stage = 0; stage != schedule.shape.ranks; ++stage)
    StageDescriber(program.get(), schedule.shape, stage, windows, facts[stage])
        .run(schedule);
  honert::joinStages(*program);
  honert::Status status = honert::checkActions(*program);
  return status.ok() ? "" : status.message();
}

/// Facts of stages with these windows; the first chunk owns a weight of the
/// last.
std::vector<StageFacts> makeFacts(const Schedule &schedule,
                                  llvm::ArrayRef<ChunkWindows> windows,
                                  bool joinsParts) {
  const Shape &shape = schedule.shape;
  int last = shape.chunks() - 1, lastStage = shape.rankOf(last);
  std::vector<StageFacts> facts(shape.ranks);
  for (int chunk = 0; chunk <= last; ++chunk) {
    StageFacts &stage = facts[shape.rankOf(chunk)];
    stage.evaluates = true;
    stage.chunks.push_back({joinsParts && chunk == last,
                            windows[chunk][WindowClass::ActivationOut],
                            windows[chunk][WindowClass::GradientOut]});
  }
  if (lastStage != 0) {
    std::vector<std::string> sums = {nameChunk(shape, last).gradientSum("w")};
    facts[0].lent.push_back({"w", lastStage, "param", sums});
    facts[lastStage].borrowed.push_back({"w", 0, "working_copy", sums});
  }
  return facts;
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

constexpr llvm::StringLiteral schedules[] = {
    "gpipe",         "1f1b", "zb-h1",        "interleaved=2",
    "interleaved=3", "zb-v", "1f1b+overlap", "interleaved=2+overlap",
    "zb-h1+overlap"};

TEST(StageActions, ListsPassTheRuntime) {
  int cases = 0;
  for (StringRef choice : schedules)
    for (int p = 1; p <= 5; ++p)
      for (int m = 1; m <= 2 * p + 3; ++m)
        for (int ahead : {0, 1, 2}) {
          Schedule schedule = make(choice, p, m, ahead);
          std::vector<ChunkWindows> windows = countWindows(schedule);
          EXPECT_EQ(checkLists(schedule, windows,
                               makeFacts(schedule, windows, false)),
                    "")
              << describe(schedule);
          ++cases;
        }
  EXPECT_GT(cases, 300);
}

/// Writers then wait for sends as often as they may have to.
TEST(StageActions, ListsWithSmallWindowsPassTheRuntime) {
  int narrowed = 0;
  for (StringRef choice : schedules)
    for (int p = 2; p <= 5; ++p)
      for (int m = 1; m <= 2 * p + 3; ++m) {
        Schedule schedule = make(choice, p, m);
        std::vector<ChunkWindows> windows = countWindows(schedule);
        for (ChunkWindows &own : windows)
          for (WindowClass window :
               {WindowClass::ActivationOut, WindowClass::GradientOut}) {
            narrowed += own[window] > 1;
            own[window] = std::min(own[window], 1);
          }
        if (checkSchedule(schedule, windows))
          continue; // one is not enough
        EXPECT_EQ(
            checkLists(schedule, windows, makeFacts(schedule, windows, false)),
            "")
            << describe(schedule);
      }
  EXPECT_GT(narrowed, 10);
}

TEST(StageActions, JoinedPartsPassTheRuntime) {
  for (StringRef choice : {"1f1b", "interleaved=2", "interleaved=3", "zb-v"})
    for (int p = 1; p <= 5; ++p)
      for (int m = 1; m <= 2 * p + 3; ++m)
        for (bool isEarly : {false, true}) {
          Schedule schedule = make(choice, p, m);
          if (llvm::Error error = joinParts(schedule, isEarly)) {
            llvm::consumeError(std::move(error));
            // Other schedules than 1f1b may run other chunks between.
            EXPECT_NE(choice, "1f1b") << "p " << p;
            continue;
          }
          std::vector<ChunkWindows> windows = countWindows(schedule);
          EXPECT_FALSE(checkSchedule(schedule, windows));
          int received = p == 1 ? 0 : isEarly && m > 1 ? 2 : 1;
          if (choice == "1f1b") {
            EXPECT_EQ(windows[p - 1][WindowClass::ActivationIn], received);
          }
          EXPECT_EQ(
              checkLists(schedule, windows, makeFacts(schedule, windows, true)),
              "")
              << describe(schedule) << (isEarly ? ", early" : "");
        }
}

/// The number of buffers is what the list relies on: with more than there are,
/// a run writes what is being sent.
TEST(StageActions, TooManyInstancesAreRefused) {
  Schedule schedule = make("gpipe", 2, 3);
  std::vector<ChunkWindows> windows = countWindows(schedule);
  std::vector<StageFacts> facts = makeFacts(schedule, windows, false);
  windows[0][WindowClass::ActivationOut] = 1;
  facts[0].chunks[0].activationsOut = 2;
  EXPECT_NE(
      checkLists(schedule, windows, facts)
          .find(
              "touches 'stage1' while send 'boundary stage1' of micro-batch 0"),
      std::string::npos)
      << checkLists(schedule, windows, facts);
}

std::string errorOf(StringRef text, int stages, int microBatches,
                    int chunksPerStage = 1) {
  llvm::Expected<Schedule> schedule =
      makeStageSchedule(text, stages, chunksPerStage, microBatches);
  return schedule ? "" : llvm::toString(schedule.takeError());
}

TEST(StageActions, SchedulesFitTheirStages) {
  EXPECT_EQ(errorOf("1f1b", 3, 2), "");
  EXPECT_EQ(errorOf("0F0,0B0\n1F0,1B0\n", 2, 1), "");
  // One that has its transfers keeps them.
  EXPECT_EQ(
      errorOf("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0", 2, 1),
      "");
  EXPECT_EQ(
      errorOf("0F0,0B0\n1F0,1B0", 3, 1),
      "schedule 'csv' has 2 ranks (rows), one for each stage, expected 3");
  EXPECT_EQ(errorOf("0F0,0B0\n1F0,1B0", 2, 4),
            "schedule 'csv' has 1 micro-batches, expected 4");
  EXPECT_EQ(errorOf("zb-v", 2, 4),
            "schedule 'zb-v' has 2 chunks per rank, expected 1");
  EXPECT_EQ(errorOf("zb-v", 2, 4, 2), "");
  EXPECT_EQ(errorOf("interleaved=3", 2, 5, 3), "");
  EXPECT_EQ(errorOf("0F0,2F0,2B0,0B0\n1F0,3F0,3B0,1B0", 2, 1, 2), "");
  EXPECT_EQ(errorOf("1f1b+overlap", 2, 2), "");
  EXPECT_EQ(errorOf("1f1b+overlap", 2, 1),
            "schedule '1f1b+overlap' with 1 micro-batch has no two actions "
            "that run together, expected at least 2 micro-batches");
  EXPECT_EQ(errorOf("1f1b", 2, 4, 2),
            "schedule '1f1b' has 1 chunks per rank, expected 2");
}

} // namespace
