//===- StagesTest.cpp - Pipelines on several GPUs that are none -----------===//

#include "program/Stages.h"
#include "support/NcclFixture.h"
#include "support/StagedModel.h"
#include "train/MakeExecutor.h"
#include "train/Trainer.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

using namespace honert;
using namespace test;

namespace {

class NcclStages : public test::Nccl {
protected:
  NcclStages() { writeTokens(folder / "tokens", 500); }
  ~NcclStages() override { unsetenv("HONE_GRAPHS"); }

  /// Weights and figures of six steps, with validations and a checkpoint.
  std::string train(const StagedModel &model, bool onDevice) {
    ProgramPtr program = makeProgram();
    describe(model, program.get());
    if (onDevice)
      settings.kernels = moveToDevice(program.get(), code);
    joinStages(*program);
    EXPECT_EQ(program->check().message(), "");
    std::string name = folder / (onDevice ? "device" : "host");
    Options options;
    options.data = options.validation = {folder / "tokens"};
    options.sources = options.validationSources = oneSource(folder / "tokens");
    options.steps = 6, options.validateEvery = 4;
    options.validationBatches = 1;
    options.save = name + ".w", options.log = name + ".log";
    options.learningRate = 0.0625, options.quiet = true;
    options.checkReplicasEvery = 1;
    options.profile = profile;
    results = onRanks(program->mesh.ranks(), [&](ProcessGroup &world) {
      ThreadPool pool(1);
      return Trainer(program->ofRank(world.rank()), options, pool, world).run();
    });
    for (const Status &status : results)
      if (!status.ok())
        return "failed: " + status.message();
    std::string text = readFile(options.save), log = readFile(options.log);
    std::filesystem::remove(options.log);
    for (const char *key : {"loss\":", "grad_norm\":"})
      for (size_t at = log.find(key); at != log.npos;
           at = log.find(key, at + 1))
        text += log.substr(at, log.find_first_of(",}", at) - at) + "\n";
    return text;
  }

  std::string code, profile;
  std::vector<Status> results;
};

/// What is added, is added in one order: no tolerance.
TEST_F(NcclStages, train_like_those_on_cpus) {
  for (int64_t stages : {2, 3})
    for (bool isGpipe : {false, true})
      for (int64_t boundaries : {1, 2, 4}) {
        StagedModel model;
        model.stages = stages;
        model.isGpipe = isGpipe;
        model.boundaries = boundaries;
        model.isTied = stages == 3;
        std::string expected = train(model, false);
        EXPECT_GT(expected.size(), 400u) << expected;
        for (bool early : {false, true}) {
          settings.copiesRunAhead = early;
          EXPECT_EQ(train(model, true), expected)
              << stages << (isGpipe ? " gpipe " : " 1f1b ") << boundaries
              << ", early " << early;
        }
      }
}

TEST_F(NcclStages, with_another_axis) {
  StagedModel model;
  model.stages = model.dp = 2;
  model.isTied = true;
  std::string expected = train(model, false);
  EXPECT_EQ(train(model, true), expected);
}

/// Each end has a communicator of two ranks beside those of the axes, all of
/// which are made before the first message. All ranks take part in all rounds.
TEST_F(NcclStages, channels_are_made_at_the_start_in_one_order) {
  StagedModel model;
  model.stages = 3;
  settings.keepsOrder = true;
  train(model, true);
  for (int64_t number : {0, 1, 2}) {
    std::vector<std::string> calls;
    for (const std::string &call : rank(number).order)
      if (call == "ncclCommSplit" || call == "ncclSend" || call == "ncclRecv")
        calls.push_back(call);
    auto split = [](const std::string &call) {
      return call == "ncclCommSplit";
    };
    // Both directions between 0 and 1, then between 1 and 2.
    EXPECT_EQ(std::count_if(calls.begin(), calls.end(), split), 4);
    EXPECT_TRUE(std::all_of(calls.begin(), calls.begin() + 4, split));
    // 4 micro-batches of 6 steps, and two validations, at each end.
    EXPECT_EQ(std::count(calls.begin(), calls.end(), "ncclSend"),
              number == 1   ? 2 * 24 + 2
              : number == 0 ? 24 + 2
                            : 24);
    // Messages, axes and what tells of them; ends of lines come first.
    EXPECT_EQ(std::count(rank(number).streamPriorities.begin(),
                         rank(number).streamPriorities.end(), -5),
              1 + (number == 1 ? 4 : 2));
  }
}

/// A function has a graph for each combination of instances that lists run.
TEST_F(NcclStages, graphs_are_of_functions_and_instances) {
  StagedModel model;
  model.stages = 2;
  std::string expected = train(model, false);
  EXPECT_EQ(train(model, true), expected);
  // Stage 0 keeps two micro-batches, stage 1 one; update and validation of
  // both.
  EXPECT_EQ(rank(0).calls["cuGraphInstantiateWithFlags"], 2 + 2 + 2);
  EXPECT_EQ(rank(1).calls["cuGraphInstantiateWithFlags"], 1 + 1 + 2);
}

TEST_F(NcclStages, functions_beyond_the_most_graphs_are_launched) {
  StagedModel model;
  model.stages = 2;
  model.isGpipe = true;
  std::string expected = train(model, false);
  setenv("HONE_GRAPHS", "3", 1);
  EXPECT_EQ(train(model, true), expected);
  for (int64_t number : {0, 1})
    EXPECT_EQ(rank(number).calls["cuGraphInstantiateWithFlags"], 3);
  setenv("HONE_GRAPHS", "many", 1);
  EXPECT_EQ(train(model, true),
            "failed: HONE_GRAPHS: 'many', expected a number from 1");
}

TEST_F(NcclStages, a_profile_has_each_function) {
  StagedModel model;
  model.stages = 2;
  std::string expected = train(model, false);
  profile = folder / "profile";
  EXPECT_EQ(train(model, true), expected);
  std::string trace = readFile(profile);
  EXPECT_NE(trace.find("\"layer_bwd\""), std::string::npos) << trace;
}

/// The error names the message; the other rank does not wait for ever.
TEST_F(NcclStages, a_message_that_fails) {
  StagedModel model;
  model.stages = 2;
  expectsMistakes = leavesThings = true;
  settings.ncclPatience = 2;
  ProgramPtr program = makeProgram();
  describe(model, program.get());
  settings.kernels = moveToDevice(program.get(), code);
  joinStages(*program);
  timeout = 2;
  std::vector<Status> seen = onRanks(2, [&](ProcessGroup &world) {
    const Program &stage = program->ofRank(world.rank());
    ThreadPool pool(1);
    auto executor = makeExecutor(stage, pool, false, &world);
    HONERT_TRY(executor->start());
    StageTransfers transfers(stage, *executor, world);
    HONERT_TRY(transfers.open());
    if (world.rank() == 0)
      fake::state().failCall("ncclSend", 1, ncclSystemError);
    for (const Action &action : stage.stepActions)
      if (!action.isRun())
        HONERT_TRY(transfers.make(action));
    return executor->wait();
  });
  EXPECT_EQ(
      seen[0].message().find("send 'boundary h1' of micro-batch 0 to rank "
                             "1: NCCL: unhandled system error"),
      0u)
      << seen[0].message();
  EXPECT_FALSE(seen[1].ok());
}

/// Products that ran at the start to be loaded leave no zeros, which a read of
/// what nobody wrote would take for a value.
TEST_F(NcclStages, memory_nobody_wrote_is_not_zero) {
  StagedModel model;
  model.stages = 2;
  ProgramPtr program = makeProgram();
  describe(model, program.get());
  settings.kernels = moveToDevice(program.get(), code);
  joinStages(*program);
  for (const Status &status : onRanks(2, [&](ProcessGroup &world) {
         const Program &stage = program->ofRank(world.rank());
         ThreadPool pool(1);
         auto executor = makeExecutor(stage, pool, false, &world);
         HONERT_TRY(executor->start());
         HONERT_TRY(executor->fetch(0, stage.arenaBytes));
         const char *arena = executor->arena().at(0);
         EXPECT_EQ(std::count(arena, arena + stage.arenaBytes, '\xff'),
                   stage.arenaBytes);
         return Status();
       }))
    EXPECT_EQ(status.message(), "");
}

class NcclStagesDeathTest : public NcclStages {
protected:
  NcclStagesDeathTest() {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
  }
};

/// GPUs wait for messages of each other, and the watchdog of one names its own.
TEST_F(NcclStagesDeathTest, a_stage_that_stops) {
  StagedModel model;
  model.stages = 2;
  model.sleepingRank = 1;
  timeout = 2;
  EXPECT_EXIT((void)train(model, true), testing::ExitedWithCode(1),
              "rank [01]: error: (send|receive) 'boundary (h1|g1)' of "
              "micro-batch [01] (to|from) rank [01] \\(number [0-9]+\\) has "
              "waited [0-9.]+ s, "
              "expected at most 2 s");
}

} // namespace
