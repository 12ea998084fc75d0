//===- TrainTest.cpp - Whole runs on several GPUs that are none -----------===//

#include "support/DividedModel.h"
#include "support/NcclFixture.h"
#include "train/Bench.h"
#include "train/Trainer.h"

using namespace honert;
using namespace test;

namespace {

class NcclTrain : public test::Nccl {
protected:
  NcclTrain() { writeTokens(folder / "tokens", 3000); }

  /// The weights, optimizer state and losses of six steps on `mesh`.
  std::string train(const MeshSizes &mesh, int64_t microBatches,
                    bool onDevice) {
    DividedModel model;
    model.mesh = mesh;
    model.microBatches = microBatches;
    ProgramPtr program = describe(model);
    std::string code, name = folder / textOf(mesh);
    if (onDevice)
      settings.kernels = moveToDevice(program.get(), code);
    Options options;
    options.data = options.validation = {folder / "tokens"};
    options.sources = options.validationSources = oneSource(folder / "tokens");
    options.steps = 6, options.validateEvery = 4;
    options.save = name + ".w", options.log = name + ".log";
    options.learningRate = 0.125, options.quiet = true;
    options.profile = profile;
    onAll(program->mesh.ranks(), [&](ProcessGroup &world) {
      ThreadPool pool(1);
      return Trainer(*program, options, pool, world).run();
    });
    return readFile(options.save) + lossesOf(readFile(options.log));
  }
  std::string profile;
  static std::string lossesOf(const std::string &log) {
    std::string losses;
    for (size_t at = log.find("loss\":"); at != log.npos;
         at = log.find("loss\":", at + 1))
      losses += log.substr(at, log.find_first_of(",}", at) - at) + "\n";
    return losses;
  }
};

/// The model's weights have the same bits on every mesh; what it computes on
/// one CPU is computed on every set of GPUs.
TEST_F(NcclTrain, is_that_of_one_rank_on_a_cpu) {
  for (int64_t microBatches : {1, 3}) {
    std::string expected = train({}, microBatches, false);
    EXPECT_GT(expected.size(), 400u);
    for (const MeshSizes &mesh :
         {MeshSizes{}, MeshSizes{{"dp", 2}}, MeshSizes{{"dp", 4}},
          MeshSizes{{"dp", 2}, {"tp", 2}}})
      for (bool early : {false, true}) {
        settings.copiesRunAhead = early;
        EXPECT_EQ(train(mesh, microBatches, true), expected)
            << textOf(mesh) << ", " << microBatches << " micro-batches";
      }
  }
}

/// From the third step on the host launches graphs only.
TEST_F(NcclTrain, collectives_are_part_of_graphs) {
  train({{"dp", 2}}, 1, true);
  // The step and the validation: once launch by launch, once recorded.
  EXPECT_EQ(calls("ncclAllReduce"), 2 * 2 * 2);
  EXPECT_EQ(calls("cuGraphInstantiateWithFlags"), 2 * 2);
}

/// Ranks that launch and ranks that replay would be a mistake.
TEST_F(NcclTrain, a_profile_is_made_by_all_ranks) {
  std::string expected = train({}, 1, false);
  profile = folder / "profile";
  EXPECT_EQ(train({{"dp", 2}}, 1, true), expected);
  // Of each rank: the step as it is and with times, and the validation.
  EXPECT_EQ(calls("cuGraphInstantiateWithFlags"), 2 * 3);
  std::string trace = readFile(profile);
  size_t sum = trace.find("\"name\":\"sum\"");
  ASSERT_NE(sum, std::string::npos);
  EXPECT_NE(trace.find("\"tid\":2", sum), std::string::npos) << trace;
}

/// Every list of axes of the program, and every kind along it.
TEST_F(NcclTrain, links_between_gpus_are_measured) {
  DividedModel model;
  model.mesh = {{"dp", 2}};
  ProgramPtr program = describe(model);
  std::string code;
  settings.kernels = moveToDevice(program.get(), code);
  Options options;
  options.log = folder / "links";
  std::string seen; // by the watchdog of the world
  testing::internal::CaptureStdout();
  onAll(2, [&](ProcessGroup &world) {
    Status status = benchCollectives(*program, options, world);
    if (world.isFirst())
      seen = world.log().text();
    return status;
  });
  EXPECT_NE(testing::internal::GetCapturedStdout().find("all_reduce"),
            std::string::npos);
  EXPECT_NE(readFile(options.log).find("\"collective\": \"all_reduce\""),
            std::string::npos);
  EXPECT_NE(seen.find("all_reduce dp of 64.00 MiB"), std::string::npos) << seen;
}

} // namespace
